"""`benchmarks/model_steps.py`: a page names its disturbed measurements, and has the tables of profiles."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import kernel_tables
import model_steps

BENCHMARKS = Path(kernel_tables.__file__).parent


def row(mode: str, theirs: float | None, spread: float | None = 0.01, dtype: str = "fp32") -> dict:
    cell = {"size": "small", "batch_size": 4, "context_length": 128, "dtype": dtype, "fusion": "none", "added": None}
    times = {"median_ms": 2.0, "std_over_mean": spread, "torch_eager_median_ms": theirs}
    return cell | times | {"mode": mode, "warmup": 1, "status": "ok"}


def test_calm_measurements_have_no_warning() -> None:
    rows = [row("forward", 5), row("forward_backward", 8), row("train", 9)]
    assert model_steps.disturbances(rows) == []
    assert model_steps.warning_lines(rows) == []


def test_a_part_that_takes_longer_than_the_whole() -> None:
    rows = [row("forward_backward", 9.5), row("train", 9), row("forward_backward", 8, dtype="tf32")]
    rows.append(row("train", 9, dtype="tf32"))
    (line,) = model_steps.disturbances(rows)
    times = "took 9.500 ms, longer than the whole training step's 9.000."
    assert line == f"small 128 fp32 none: PyTorch's forward_backward (eager) {times}"


def test_steps_that_spread() -> None:
    (line,) = model_steps.disturbances([row("forward", 5, spread=0.1), row("train", 9, spread=0.16)])
    assert line == "small 128 fp32 none train: the steps' standard deviation is 16% of the mean."


def test_memory_that_another_program_gave_back() -> None:
    counts = {"memory_mib": 885.0, "device_memory_mib": 0.0}
    (line,) = model_steps.disturbances([row("forward", 5) | counts, row("train", 9) | counts | {"memory_mib": None}])
    assert line == "small 128 fp32 none forward: 0 MiB by the GPU's own count, less than is allocated."
    assert model_steps.disturbances([row("forward", 5) | counts | {"device_memory_mib": 885.0}]) == []


def test_cells_that_were_not_measured_are_not_compared() -> None:
    rows = [row("forward_backward", None, spread=None), row("train", 9, spread=None), row("forward_backward", 10)]
    assert len(model_steps.disturbances(rows)) == 1
    assert model_steps.disturbances([row("forward_backward", 10), row("train", None)]) == []


def test_the_page_warns_above_its_table() -> None:
    record = {"date": "2026-01-01", "commit": "0", "machine": "m", "command": "c"}
    page = model_steps.markdown(record | {"results": [row("forward_backward", 9.5), row("train", 9)]})
    assert page.index("Warning: ") < page.index("- small 128 fp32 none: PyTorch's") < page.index("| size |")


def test_a_ratio_that_noise_hides_is_not_an_empty_cell() -> None:
    key = "torch_eager_ratio"
    assert model_steps.format_ratio({key: 2.0, f"{key}_interval": [1.9, 2.1]}, "eager") == "2.00"
    assert model_steps.format_ratio({key: None, f"{key}_interval": [1.0, 4.0]}, "eager") == "noisy"
    # A mismatch, and a record from before there were intervals.
    assert model_steps.format_ratio({key: None, f"{key}_interval": None}, "eager") == ""
    assert model_steps.format_ratio({key: 2.0}, "eager") == "2.00"


def kernel(name: str, total: int, percent: float) -> dict:
    times = {"total_ns": total, "instances": 4, "avg_ns": total / 4, "min_ns": 1, "max_ns": total, "stddev_ns": 0.25}
    return times | {"name": name, "phase": "forward", "time_percent": percent, "med_ns": 2.5}


def test_kernels_with_the_most_time_come_first() -> None:
    entries = [kernel(f"k{i}", 100 * i, 10 * i) for i in (1, 3, 2, 4)]
    assert kernel_tables.table_lines(entries, most=2) == [
        "| Time (%) | Total Time (ns) | Instances | Avg (ns) | Med (ns) | Min (ns) | Max (ns) | StdDev (ns) "
        "| Phase | Name |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---|---|",
        "| 40.0 | 400 | 4 | 100.0 | 2.5 | 1 | 400 | 0.2 | forward | k4 |",
        "| 30.0 | 300 | 4 | 75.0 | 2.5 | 1 | 300 | 0.2 | forward | k3 |",
        "| 30.0 | 300 | 8 |  |  |  |  |  |  | 2 others |",
    ]
    assert len(kernel_tables.table_lines(entries, most=None)) == 6


def test_steps_without_profiles_have_no_tables() -> None:
    assert kernel_tables.profile_lines([row("forward", 5), row("train", 9) | {"profile": None}]) == []


def test_the_page_of_a_record_is_written_again(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    shutil.copy(BENCHMARKS / "results" / "h100-profiled-steps.json", record)
    command = [sys.executable, str(BENCHMARKS / "model_steps.py"), "--page-of", str(record)]
    subprocess.run(command, check=True)
    page = record.with_suffix(".md").read_text()
    assert page == (BENCHMARKS / "results" / "h100-profiled-steps.md").read_text()
    # Three tables of each step. Each table contains all of the time.
    steps = json.loads(record.read_text())["results"]
    assert len(re.findall(r"^## ", page, re.MULTILINE)) == len(steps)
    tables = page.split("| Time (%)")[1:]
    assert len(tables) == 3 * len(steps)
    for table in tables:
        shares = [float(share) for share in re.findall(r"^\| ([\d.]+) \|", table, re.MULTILINE)]
        assert abs(sum(shares) - 100) < 0.1 * len(shares)
    process = subprocess.run([*command, "--", "--size", "small"], capture_output=True, text=True)
    assert process.returncode == 2 and "--page-of conflicts with" in process.stderr
    record.write_text("{}")
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 1 and "is not a record of model_steps.py" in process.stderr

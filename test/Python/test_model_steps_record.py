"""`benchmarks/model_steps.py`: a page names its disturbed measurements."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import model_steps


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

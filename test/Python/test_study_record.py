"""`benchmarks/study.py`: a study's numbers as JSON, and as tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "study.py"


def run(folder: Path, *study: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--output", str(folder / "out" / "study-1.5"), "--", *study]
    return subprocess.run(command, capture_output=True, text=True)


def test_numbers_and_tables(tmp_path: Path) -> None:
    process = run(tmp_path, "mixed_precision_accumulation", "--device", "cpu")
    assert process.returncode == 0, process.stderr
    record = json.loads((tmp_path / "out" / "study-1.5.json").read_text())
    assert record["study"] == "mixed_precision_accumulation"
    assert not record["incomplete"]
    (document,) = record["documents"]
    assert document["benchmark"] == "accumulate"
    page = (tmp_path / "out" / "study-1.5.md").read_text()
    assert page.startswith("# Study mixed_precision_accumulation\n")
    flags = f"--fusion none,all --published {record['study']} --device cpu --format json"
    assert f"## Accumulate\n\n    cs336-bench accumulate {flags}\n" in page
    assert "9.953125 |" in page
    assert "10.00213623 |" in page
    # Each row of the JSON is a row of the page.
    assert page.count("| none |") + page.count("| all |") == len(document["results"]) == 8


def test_several_commands(tmp_path: Path) -> None:
    flags = ["--size", "small", "--context-length", "8", "--length", "8", "--head-dim", "4", "--steps", "1"]
    flags += [
        "--device",
        "cpu",
        "--warmup",
        "0",
        "--dtype",
        "fp32",
        "--d-model",
        "16",
        "--d-ff",
        "24",
        "--num-layers",
        "1",
        "--num-heads",
        "2",
        "--vocab-size",
        "31",
    ]
    process = run(tmp_path, "benchmarking_mixed_precision", *flags)
    assert process.returncode == 0, process.stderr
    page = (tmp_path / "out" / "study-1.5.md").read_text()
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Dtypes",
        "## Norm-error",
        "## Model",
        "## Attention",
        "## Model",
    ]


def test_the_tool_says_what_is_wrong(tmp_path: Path) -> None:
    process = run(tmp_path, "no_such_study")
    assert process.returncode != 0
    assert "unknown study 'no_such_study'" in process.stderr
    assert not (tmp_path / "out").exists()

"""Comparisons of real results agree with NumPy's quartiles, and fit a page."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MODEL = ["--size", "tiny", "--num-layers", "1", "--context-length", "8,16", "--vocab-size", "50", "--batch-size", "2"]
COMMANDS = {
    "model": ["model", *MODEL, "--mode", "forward,train", "--steps", "6", "--warmup", "1", "--no-mfu"],
    "attention": ["attention", "--batch-size", "1", "--length", "64", "--head-dim", "8,16", "--steps", "7"],
}
TOLERANCE = 0.03


def bench(*arguments: str) -> str:
    """Return the output of cs336-bench."""
    process = subprocess.run(["cs336-bench", *arguments], capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr
    return process.stdout


def interval(row: dict[str, Any], column: dict[str, Any]) -> tuple[float, float]:
    """Return the lower and the upper end of a time: the quartiles of its steps, widened to contain the time."""
    ends = [np.percentile(row[key], (25, 75)) for key in column["samples"]]
    low, high = ends[0] if len(ends) == 1 else (ends[0][0] - ends[1][1], ends[0][1] - ends[1][0])
    return min(low, row[column["key"]]), max(high, row[column["key"]])


@pytest.fixture(scope="module", params=COMMANDS)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Give the results of two runs of one command."""
    folder = tmp_path_factory.mktemp("results")
    paths = folder / "before.json", folder / "after.json"
    for path in paths:
        bench(*COMMANDS[request.param], "--format", "json", "--output", str(path))
    return paths


def test_ratios_and_verdicts_follow_from_the_steps(files: tuple[Path, Path]) -> None:
    before, after = (json.loads(path.read_text()) for path in files)
    columns = {column["key"]: column for column in before["columns"] if "samples" in column}
    settings = [column["key"] for column in before["columns"] if column["role"] == "setting"]
    compared = json.loads(bench("compare", *map(str, files), "--tolerance", str(100 * TOLERANCE), "--format", "json"))
    assert len(compared["results"]) == sum(row[key] is not None for row in before["results"] for key in columns) > 0
    for row in compared["results"]:
        old, new = (
            next(each for each in document["results"] if all(each[key] == row[key] for key in settings))
            for document in (before, after)
        )
        key = row["time"]
        assert (row["before"], row["after"], row["unit"]) == (old[key], new[key], "ms")
        (old_low, old_high), (new_low, new_high) = interval(old, columns[key]), interval(new, columns[key])
        if min(old_low, new_low) <= 0:
            assert (row["ratio"], row["ratio_interval"], row["verdict"]) == (None, None, "unknown")
            continue
        low, high = old_low / new_high, old_high / new_low
        assert row["ratio_interval"] == pytest.approx([low, high], rel=1e-9)
        assert row["ratio"] == (None if high > 1.5 * low else pytest.approx(old[key] / new[key], rel=1e-9))
        unclear = "unknown" if high > 1.5 * low else "no difference"
        expected = "faster" if low > 1 + TOLERANCE else "slower" if high < 1 / (1 + TOLERANCE) else unclear
        assert row["verdict"] == expected


def test_exchanged_files_give_opposite_verdicts(files: tuple[Path, Path]) -> None:
    def verdicts(first: Path, second: Path) -> list[str]:
        document = json.loads(bench("compare", str(first), str(second), "--format", "json"))
        return [row["verdict"] for row in document["results"]]

    opposite = {"faster": "slower", "slower": "faster"}
    assert [opposite.get(verdict, verdict) for verdict in verdicts(*files)] == verdicts(*reversed(files))


def test_a_halved_time_is_faster(files: tuple[Path, Path], tmp_path: Path) -> None:
    document = json.loads(files[0].read_text())
    for row in document["results"]:
        for column in document["columns"]:
            key = column["key"]
            if column["unit"] == "ms" and row[key] is not None:
                row[key] = [10.0 if "loss" in key else 40.0] * 5 if isinstance(row[key], list) else 30.0
    slow, fast = tmp_path / "slow.json", tmp_path / "fast.json"
    slow.write_text(json.dumps(document))
    text = slow.read_text().replace("40.0", "20.0").replace("30.0", "15.0").replace("10.0", "5.0")
    fast.write_text(text)
    verdicts = {
        row["verdict"] for row in json.loads(bench("compare", str(slow), str(fast), "--format", "json"))["results"]
    }
    assert verdicts == {"faster"}


def test_tables_fit_a_page(files: tuple[Path, Path]) -> None:
    lines = bench("compare", *map(str, files)).splitlines()
    assert len(lines) > 3 and [line for line in lines if len(line) > 120] == []

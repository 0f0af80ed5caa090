"""Training while calls on its files fail, one at a time, and while the process is killed before one of them.

Each open, write, fsync, rename, unlink, flock and pread of a short run in the output folder fails once. The run ends
with success or an error; the checkpoint is a whole one of the run; a resumed run finishes the training with the same
bits, and leaves no other files than an uninterrupted run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import cs336
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(cs336.__file__).parents[2]
LIBRARY = BUILD / "lib" / "libcs336_fault_injection.so"


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built")
    folder = tmp_path_factory.mktemp("faults")
    data = folder / "data.txt"
    data.write_bytes(bytes(range(256)) * 2)
    command = [sys.executable, str(Path(__file__).parent / "fault_injection_runs.py")]
    command += [str(path) for path in (ROOT / "examples" / "train_text.py", data, LIBRARY, folder)]
    environment = os.environ | {"LD_PRELOAD": str(LIBRARY), "PYTHONPATH": str(BUILD / "python"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "results.json").read_text())


def without_speed(curve: str) -> list[list[str]]:
    return [line.split(",")[:3] for line in curve.splitlines()]


def test_the_run_without_faults(record: dict[str, Any]) -> None:
    assert record["reference"]["status"] == 0, record["reference"]["output"]
    assert sorted(record["whole"]) == ["checkpoint.safetensors", "config.json", "curve.csv", "sample.txt"]
    assert os.waitstatus_to_exitcode(record["stopped"]["status"]) == 130
    calls = Counter((result["function"], result["kind"]) for result in record["results"] if result["injected"])
    assert min(calls[key] for key in (("open", "fail"), ("write", "kill"), ("rename", "kill"), ("fsync", "fail"))) > 5


def test_every_fault_is_an_error_or_changes_nothing(record: dict[str, Any]) -> None:
    for result in record["results"]:
        ended, where = result["ended"], {key: result[key] for key in ("start", "function", "kind", "number")}
        code = os.waitstatus_to_exitcode(ended["status"])
        allowed = [-9] if result["kind"] == "kill" and result["injected"] else [0, 1]
        assert code in allowed, (where, ended["output"])
        if code == 1:
            assert "train_text: error: " in ended["output"], where
        if code == 0:
            assert result["after"]["checkpoint.safetensors"] == record["whole"]["checkpoint.safetensors"], where


def test_checkpoints_are_whole_and_training_goes_on(record: dict[str, Any]) -> None:
    size = record["whole"]["checkpoint.safetensors"].split()[0]
    for result in record["results"]:
        where = {key: result[key] for key in ("start", "function", "kind", "number")}
        if "checkpoint.safetensors" in result["after"]:
            assert result["after"]["checkpoint.safetensors"].split()[0] == size, where
        else:
            assert result["start"] == "new", where
        assert result["again"]["status"] == 0, (where, result["again"]["output"])
        final = result["final"]
        assert sorted(final) == sorted(record["whole"]), where
        for name in ("checkpoint.safetensors", "config.json", "sample.txt"):
            assert final[name] == record["whole"][name], (where, name)
        assert without_speed(final["curve.csv"]) == without_speed(record["whole"]["curve.csv"]), where

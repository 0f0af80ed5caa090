"""`--peer` with a Python that lacks packages, hangs or crashes: our own cells are measured, and the exit code is 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_python import make_python
from numpy_peer import numpy_peer
from test_rank_processes import is_running

MODEL = ["model", "--d-model", "16", "--d-ff", "24", "--num-layers", "1", "--num-heads", "2", "--vocab-size", "31"]
MODEL += ["--context-length", "7", "--steps", "3", "--warmup", "0", "--no-mfu"]
ATTENTION = ["attention", "--length", "8", "--head-dim", "4", "--steps", "3", "--warmup", "0"]
COMMANDS = pytest.mark.parametrize("command", [MODEL, ATTENTION], ids=lambda command: command[0])
# The median of PyTorch's variant in each command.
TIME = {"model": "torch_eager_median_ms", "attention": "torch_naive_forward_median_ms"}


def bench(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run cs336-bench from the build that the tests run in."""
    command = ["cs336-bench", *arguments, "--peer", "torch"]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, timeout=60)


def check_own_cells(process: subprocess.CompletedProcess[str], command: str, cells: int) -> list[dict]:
    """Assert that all of our cells are there, and none of the peer's. Returns the rows."""
    assert process.returncode == 2, process.stderr
    rows = json.loads(process.stdout)["results"]
    assert len(rows) == cells and all(row["status"] == "ok" for row in rows)
    assert all(row[TIME[command]] is None for row in rows)
    assert "error: cells of --peer are missing: " in process.stderr
    return rows


@COMMANDS
def test_a_python_without_pytorch_keeps_our_cells(tmp_path: Path, command: list[str]) -> None:
    """A real interpreter, whose torch is broken."""
    (tmp_path / "torch.py").write_text('raise ImportError("libtorch.so: no such file")')
    process = bench(*command, "--batch-size", "1,2", "--peer-python", sys.executable, "--format", "json",
                    PYTHONPATH=str(tmp_path))  # fmt: skip
    check_own_cells(process, command[0], cells=2)
    warning, first = (process.stderr.index(text) for text in ("warning: ", "[1/2]"))
    assert warning < first, "the warning comes before anything is compiled"
    line = process.stderr[warning:].splitlines()[0]
    assert f"{sys.executable} cannot import " in line and "torch (libtorch.so: no such file)" in line
    assert f"install with '{sys.executable} -m pip install " in line and "--peer-python" in line


@COMMANDS
def test_the_table_marks_what_is_missing(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "torch.py").write_text('raise ImportError("no torch")')
    process = bench(*command, "--peer-python", sys.executable, PYTHONPATH=str(tmp_path))
    assert process.returncode == 2
    table, footnotes = process.stdout.split("\n\nmissing: ")
    assert "missing" in table
    assert "torch (no torch)" in " ".join(footnotes.split())


def test_a_python_that_hangs_counts_as_one_without_pytorch(tmp_path: Path) -> None:
    python = make_python(tmp_path, "", check="import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(600)")
    start = time.monotonic()
    process = bench(*MODEL, "--peer-python", python, "--peer-timeout", "0.5", "--format", "json")
    check_own_cells(process, "model", cells=1)
    assert f"{python} has not imported torch, numpy, safetensors within 0.5 s: raise --peer-timeout" in process.stderr
    assert time.monotonic() - start < 30


def test_a_python_that_crashes_at_its_imports(tmp_path: Path) -> None:
    python = make_python(tmp_path, "", check="import os\nos.abort()")
    process = bench(*ATTENTION, "--peer-python", python, "--format", "json")
    check_own_cells(process, "attention", cells=1)
    assert f"{python} failed while it imported torch, safetensors" in process.stderr


def test_a_program_that_is_not_python(tmp_path: Path) -> None:
    process = bench(*MODEL, "--peer-python", make_python(tmp_path, "", check="print('{}')"), "--format", "json")
    check_own_cells(process, "model", cells=1)
    assert "does not answer as a Python: check --peer-python" in process.stderr


def test_a_crash_between_cells_keeps_what_was_measured(tmp_path: Path) -> None:
    answer = """\
    print(json.dumps({{"loss": 1.0, "grad_norm": None, "step_ms": [1.0] * 3, "first_call_s": 1.5}}), flush=True)
    sys.stdin.readline()
    import os
    os.abort()
"""
    python = make_python(tmp_path, numpy_peer(answer))
    process = bench(*MODEL, "--mode", "forward,loss,train", "--peer-python", python, "--format", "json")
    assert process.returncode == 2
    rows = json.loads(process.stdout)["results"]
    assert [row["mode"] for row in rows] == ["forward", "loss", "train"]
    assert [row["torch_eager_median_ms"] for row in rows] == [1.0, None, None]
    assert process.stderr.count("warning: the PyTorch peer: ") == 1
    assert process.stderr.index("[2/3]") < process.stderr.index("warning: ") < process.stderr.index("[3/3]")


def test_a_cell_that_takes_too_long_ends_the_peer_and_its_ranks(tmp_path: Path) -> None:
    """A process that the peer has started, and which ignores signals, ends too."""
    answer = f"""\
    import pathlib, subprocess, time
    child = subprocess.Popen(["sh", "-c", "trap '' INT TERM; sleep 600; true"])
    pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(child.pid))
    time.sleep(600)
"""
    python = make_python(tmp_path, numpy_peer(answer.replace("{", "{{").replace("}", "}}")))
    start = time.monotonic()
    flags = ["--mode", "forward,train", "--peer-python", python, "--peer-cell-timeout", "2", "--format", "json"]
    check_own_cells(bench(*MODEL, *flags), "model", cells=2)
    assert time.monotonic() - start < 30
    pid = int((tmp_path / "pid").read_text())
    assert not is_running(pid)


def test_a_study_goes_on_to_its_next_command(tmp_path: Path) -> None:
    python = make_python(tmp_path, "", check="import os\nos.abort()")
    flags = ["--batch-size", "1", "--head-dim", "4", "--context_length", "8", "--dtype", "fp32", "--steps", "3"]
    flags += ["--warmup", "0", "--mode", "forward", "--size", "tiny", "--num-layers", "1", "--no-mfu"]
    process = bench("study", "torch_compile", *flags, "--peer-python", python, "--format", "json")
    assert process.returncode == 2, process.stderr
    assert [document["benchmark"] for document in json.loads(process.stdout)] == ["attention", "model"]


def test_flags_of_the_peer_require_it() -> None:
    for flag, value in (("--peer-python", "python3"), ("--peer-timeout", "5"), ("--peer-cell-timeout", "5")):
        process = subprocess.run(["cs336-bench", *ATTENTION, flag, value], capture_output=True, text=True)
        assert process.returncode == 1 and f"{flag} requires --peer" in process.stderr
    for flag in ("--peer-timeout", "--peer-cell-timeout"):
        assert f"{flag} is 0, must be positive" in bench(*ATTENTION, flag, "0").stderr
    assert "for the --peer-timeout option: 'nan' is not a finite" in bench(*ATTENTION, "--peer-timeout", "nan").stderr


def test_the_fake_answers_as_the_real_script(tmp_path: Path) -> None:
    """The fakes of other tests follow the protocol of the embedded script."""
    script = Path(__file__).parents[2] / "benchmarks/peers/import_packages.py"
    question = json.dumps({"packages": ["json", "numpy", "a_package_that_nobody_has"]})
    run = {"input": question, "capture_output": True, "text": True, "check": True}
    real = json.loads(subprocess.run([sys.executable, "-c", script.read_text()], **run).stdout)
    assert set(real["versions"]) == {"json", "numpy"}
    assert real["missing"] == {"a_package_that_nobody_has": "No module named 'a_package_that_nobody_has'"}
    fake = json.loads(subprocess.run([make_python(tmp_path, ""), "-c"], **run).stdout)
    assert set(fake) == set(real) and set(fake["versions"]) == {"json", "numpy", "a_package_that_nobody_has"}

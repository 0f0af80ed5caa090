"""One trace of all processes of `cs336-run --nproc`: after success, failures and signals, without a folder left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from device import DEVICE
from test_rank_processes import ENDLESS, LIMIT, Run, is_running, wait_until
from test_trace_timeline import Timeline, check_rules, read

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="ranks run on the CPU")

#: The logarithms of a rank's input, and their mean over two ranks.
PROGRAM = """
func.func @f(%x: tensor<4xf32> {cs336.name = "x", cs336.kind = "input"})
    -> (tensor<4xf32> {cs336.name = "y", cs336.kind = "output"}) {
  %0 = cs336.exp %x : tensor<4xf32>
  %1 = cs336.log %0 : tensor<4xf32>
  %2 = cs336.log %x : tensor<4xf32>
  %3 = cs336.add %1, %2 : tensor<4xf32>
  %4 = cs336.collective all_reduce mean(%3) group = 2 : (tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return str(path)


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder in which ranks hand over their traces."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def read_ranks(path: Path) -> tuple[Timeline, list[int]]:
    """Read a trace by Perfetto's rules, and return the ranks that have an arrow to a command."""
    timeline = read(path)
    check_rules(timeline)
    return timeline, sorted({arrow["f"]["pid"] for arrow in timeline.arrows.values()})


def names_of(timeline: Timeline, rank: int) -> set[str]:
    return {
        event["name"].split("_")[0] for (pid, _), events in timeline.slices.items() for event in events if pid == rank
    }


def test_a_rank_that_fails_in_a_step_keeps_its_trace(program: str, tmp_path: Path, temporary_folder: Path) -> None:
    """Rank 1 computes the logarithm of −1."""
    for rank in range(2):
        np.savez(tmp_path / f"in-{rank}.npz", x=np.full(4, 1 - 2 * rank, np.float32))
    trace = tmp_path / "trace.json"
    flags = ["--inputs", f"{tmp_path}/in-{{rank}}.npz", "--check-nan", "--fusion", "none", "--trace", str(trace)]
    done = subprocess.run(["cs336-run", program, "--nproc", "2", *flags], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1
    assert "is the first to write NaN" in done.stderr and "warning" not in done.stderr
    timeline, ranks = read_ranks(trace)
    assert ranks == [0, 1]
    assert "add" in names_of(timeline, 0) and "add" not in names_of(timeline, 1)
    assert not list(temporary_folder.iterdir())


@pytest.fixture
def traced(program: str, tmp_path: Path) -> Run:
    """Start two ranks that step until they are ended."""
    run = Run(tmp_path, ["cs336-run", program, "--nproc", "2", "--trace", str(tmp_path / "trace.json"), *ENDLESS])
    run.wait_for("rank 0: step 3")
    run.wait_for("rank 1: step 3")
    return run


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_missing(traced: Run, rank: int, tmp_path: Path, temporary_folder: Path) -> None:
    os.kill(traced.ranks()[rank], signal.SIGKILL)
    *_, warning, error = traced.end().splitlines()
    path = tmp_path / "trace.json"
    assert traced.process.returncode == 1
    assert warning == f"cs336-run: warning: --trace: '{path}' lacks rank {rank}, which ended without a trace"
    assert f"rank {rank} ended with signal 9 (Killed)" in error
    assert read_ranks(path)[1] == [1 - rank]
    assert not list(temporary_folder.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_trace(traced: Run, number: signal.Signals, tmp_path: Path, temporary_folder: Path) -> None:
    ranks = traced.ranks()
    traced.process.send_signal(number)
    text = traced.end()
    assert traced.process.returncode == 128 + number
    assert f"cs336-run: error: ended by signal {number.value}" in text.splitlines()[-1]
    assert not any(is_running(pid) for pid in ranks)
    assert not list(temporary_folder.iterdir())
    timeline, traced_ranks = read_ranks(tmp_path / "trace.json")
    assert traced_ranks == [0, 1] and "step 3: f" in names_of(timeline, 1)


def test_a_second_signal_while_the_file_is_written(program: str, tmp_path: Path, temporary_folder: Path) -> None:
    """A pipe that is not read blocks the write. A first signal does not end it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    flags = ["--nproc", "2", "--random-inputs", "--num-threads", "1", "--trace", str(pipe)]
    run = Run(tmp_path, ["cs336-run", program, *flags])
    run.wait_for("rank 0: next: ")
    wait_until(lambda: not run.ranks() and not list(temporary_folder.iterdir()))
    run.process.send_signal(signal.SIGINT)
    run.wait_for("cs336-run: stops at the next safe place; another interruption ends it at once")
    time.sleep(1.1)
    assert run.process.poll() is None
    run.process.send_signal(signal.SIGINT)
    run.end()
    assert run.process.returncode == -signal.SIGINT
    assert not list(temporary_folder.iterdir())


def test_a_failure_outlasts_an_unwritable_trace(program: str) -> None:
    """The status is that of the failed rank, and a warning reports the trace."""
    run = ["cs336-run", program, "--nproc", "2", *ENDLESS, "--trace", "/dev/full"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "rank 0: step 3\n":
            pass
        process.send_signal(signal.SIGTERM)
        error = process.communicate(timeout=LIMIT)[1]
    assert process.returncode == 128 + signal.SIGTERM
    assert "cs336-run: warning: cannot write the trace '/dev/full': No space left on device\n" in error
    assert "cs336-run: error: ended by signal 15" in error.splitlines()[-1]

"""An interrupted `cs336-bench` prints its measurements, and its exit status names the signal.

So does a profiled run of `cs336-run`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
from fake_python import make_python

MODEL = ["--d-model", "16", "--d-ff", "24", "--num-layers", "1", "--num-heads", "2", "--vocab-size", "31"]
MODEL += ["--context-length", "7"]
QUICK = ["--warmup", "0", "--no-mfu"]
BATCHES = ["--batch-size", ",".join(str(size) for size in range(1, 41))]
FOREVER = ["--steps", "1000000000"]
ATTENTION = ["--length", "8", "--head-dim", "4", "--warmup", "0"]


RECORDER = Path(__file__).parents[2] / "benchmarks/model_steps.py"


@contextmanager
def started(*command: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command in a process group of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=os.environ, start_new_session=True) as process:
        try:
            yield process
        finally:
            # A peer may still run.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def bench(*arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """Run cs336-bench from the build that the tests run in."""
    return started("cs336-bench", *arguments)


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    """Read standard error up to the line that starts with the text."""
    for line in process.stderr:
        if line.startswith(text):
            return
    pytest.fail(f"no line starts with {text!r}")


@pytest.fixture
def sleeping_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make an interpreter that writes its process id to a file of the same folder, and never answers.

    The folder also contains the tool's temporary files.
    """
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def make(first: str = "") -> tuple[str, Path]:
        log = tmp_path / "pid"
        program = f"""
import os, signal, sys, time
{first}
sys.stdin.readline()
print(os.getpid(), file=open({str(log)!r}, "w"), flush=True)
time.sleep(600)
"""
        return make_python(tmp_path, program), log

    return make


def wait_for_file(path: Path) -> str:
    """Return the contents of the file as soon as it is not empty."""
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return path.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["model", *MODEL, *QUICK, *BATCHES],
        ["attention", *ATTENTION, *BATCHES],
        ["plan", *MODEL, *BATCHES],
        ["ddp", *MODEL, "--warmup", "0", "--distribute", "none", *BATCHES],
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_complete_cells_are_printed(arguments: list[str], number: signal.Signals) -> None:
    with bench(*arguments, "--format", "json") as process:
        wait_for(process, "[3/40]")
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    document = json.loads(output)
    assert document["incomplete"] is True
    rows = document["results"]
    assert 2 <= len(rows) < 40
    assert [row["batch_size"] for row in rows] == list(range(1, len(rows) + 1))
    # A rank that just started does not handle signals yet: its launcher then reports what ended both.
    reason = f"(interrupted|ended by signal {number:d} .*)"
    assert re.search(f"error: {reason}; {40 - len(rows)} of 40 cells are left out\n", errors)
    assert "next:" not in errors


@pytest.mark.parametrize("distribute", ["none", "flat"])
@pytest.mark.parametrize("seconds", [0, 2], ids=["before its ranks start", "while its ranks run"])
def test_ranks_end(distribute: str, seconds: float) -> None:
    with bench("ddp", *MODEL, "--distribute", distribute, *FOREVER) as process:
        wait_for(process, "[1/1]")
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGINT
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)


def test_collectives_that_were_measured_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sizes = ["--size", "1KB,2KB,256MB", "--steps", "1000"]
    with bench("allreduce", *sizes, "--backend", "tcp", "--format", "json") as process:
        deadline = time.monotonic() + 60
        # Rank 0 writes the file again after each size.
        while not any('"size_bytes": 2000' in path.read_text() for path in tmp_path.glob("cs336-allreduce-*.json")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    document = json.loads(output)
    assert document["incomplete"] is True
    rows = document["results"]
    assert [row["size_bytes"] for row in rows] == [1000, 2000]
    assert all(len(row["times_ms"]) == 1000 and row["wrong"] == 0 for row in rows)


def test_a_table_of_complete_cells() -> None:
    with bench("model", *MODEL, *QUICK, *BATCHES, "--format", "markdown", "--columns", "all") as process:
        wait_for(process, "[2/40]")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert output.startswith("| size ") and 3 <= len(output.splitlines()) < 42


def test_a_record_has_the_complete_cells(tmp_path: Path) -> None:
    output = tmp_path / "steps"
    with started(sys.executable, str(RECORDER), "--output", str(output), "--", *MODEL, *QUICK, *BATCHES) as process:
        wait_for(process, "[3/40]")
        process.send_signal(signal.SIGTERM)
        page, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    record = json.loads(output.with_suffix(".json").read_text())
    assert record["incomplete"]
    assert 2 <= len(record["results"]) < 40
    assert "It ended early" in page and page.strip() == output.with_suffix(".md").read_text().strip()


@pytest.mark.parametrize("arguments", [["model", *MODEL, *QUICK], ["attention", *ATTENTION]], ids=lambda each: each[0])
def test_it_stops_between_steps(arguments: list[str]) -> None:
    with bench(*arguments, *FOREVER, "--format", "json") as process:
        wait_for(process, "[1/1]")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert json.loads(output)["results"] == []
    assert "1 of 1 cells are left out" in errors


def read_terminal(terminal: int, text: bytes = b"") -> bool:
    """Read until the text, or until all writers have closed the terminal."""
    last = b""
    while True:
        try:
            read = os.read(terminal, 4096)
        except OSError:  # The end of a terminal.
            return False
        last = last[-len(text) :] + read
        if not read or (text and text in last):
            return bool(read)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_profiled_steps_are_reported(number: signal.Signals, tmp_path: Path) -> None:
    """The stage of the progress, which only a terminal shows, tells when the profiled steps run."""
    trace, output, steps = tmp_path / "trace.json", tmp_path / "steps.json", 20_000
    terminal, writer = os.openpty()
    flags = ["--profile", "--trace", str(trace), "--steps", str(steps), "--format", "json", "--output", str(output)]
    command = ["cs336-bench", "model", *MODEL, *QUICK, *flags]
    with subprocess.Popen(command, stderr=writer, env=os.environ, start_new_session=True) as process:
        os.close(writer)
        assert read_terminal(terminal, b": profiling")
        process.send_signal(number)
        assert not read_terminal(terminal)
    os.close(terminal)
    assert process.returncode == 128 + number
    document = json.loads(output.read_text())
    assert document["incomplete"] is True
    (row,) = document["results"]
    assert row["steps"] == steps and 0 < row["profiled_steps"] < steps
    assert {times["instances"] for times in row["profile_commands"]} <= {
        row["profiled_steps"] * runs for runs in range(1, 20)
    }
    names = [event["name"] for event in json.loads(trace.read_text())["traceEvents"]]
    assert sum(name.startswith("step ") for name in names) == row["profiled_steps"]


def test_a_signal_before_the_profile_leaves_no_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    with bench("model", *MODEL, *QUICK, *FOREVER, "--profile", "--trace", str(trace)) as process:
        wait_for(process, "[1/1]")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT and not trace.exists()
    assert f"warning: --trace: '{trace}' is not written, because no steps were profiled\n" in errors


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a program that trains, with steps of some milliseconds, so that a trace of seconds stays small."""
    path = tmp_path_factory.mktemp("program") / "model.mlir"
    sizes = ["--d-model", "64", "--d-ff", "128", "--num-layers", "1", "--num-heads", "2", "--vocab-size", "256"]
    sizes += ["--context-length", "64", "--batch-size", "4"]
    command = ["cs336-translate", "--import-transformer", *sizes, "--mode", "train", "-o", str(path)]
    subprocess.run(command, check=True, env=os.environ)
    return path


@pytest.mark.parametrize("ranks", [[], ["--ranks", "2", "--distribute", "flat"]], ids=["one rank", "two ranks"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_reports_the_steps_until_the_signal(
    program: Path, ranks: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    trace, saved = tmp_path / "trace.json", tmp_path / "saved.npz"
    flags = ["--random-inputs", "--profile", "--trace", str(trace), "--save-params", str(saved), *ranks, *FOREVER]
    with started("cs336-run", str(program), *flags) as process:
        if ranks:
            time.sleep(4)  # Ranks of one process print at their end.
        else:
            while process.stdout.readline() != "step 5\n":
                pass
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number and not saved.exists()
    assert "cs336-run: stops at the next safe place; another interruption ends it at once" in errors
    assert "interrupted after " in errors.splitlines()[-1] and " of 1000000000 steps" in errors.splitlines()[-1]
    assert output.count("until the interruption: ") == max(1, 2 * len(ranks) // 4) and "adamw_" in output
    events = json.loads(trace.read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert [name[: len("rank 0: cpu")] for name in names] == ["rank 0: cpu", "rank 1: cpu"][: len(names)]
    assert any(event["name"].startswith("step 2: train") for event in events)


def test_a_run_without_a_profile_ends_at_once(program: Path) -> None:
    with started("cs336-run", str(program), "--random-inputs", *FOREVER) as process:
        while process.stdout.readline() != "step 5\n":
            pass
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT


def test_of_warm_ups_the_complete_ones_are_printed() -> None:
    with bench(
        "model", *MODEL, "--no-mfu", "--steps", "3", "--warmup", "1,1000000000,2", "--format", "json"
    ) as process:
        wait_for(process, "[1/1]")
        time.sleep(5)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert [row["warmup"] for row in json.loads(output)["results"]] == [1, 2]
    assert "1 of 3 cells are left out" in errors


@pytest.mark.parametrize("arguments", [["model", *MODEL, *QUICK], ["attention", *ATTENTION]], ids=lambda each: each[0])
def test_without_a_complete_cell_the_file_of_an_earlier_run_stays(arguments: list[str], tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    results.write_text("earlier")
    with bench(*arguments, *FOREVER, "--format", "json", "--output", str(results)) as process:
        wait_for(process, "[1/1]")
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + signal.SIGINT
    assert "1 of 1 cells are left out" in errors
    assert results.read_text() == "earlier"


@pytest.mark.parametrize("arguments", [["model", *MODEL, *QUICK], ["attention", *ATTENTION]], ids=lambda each: each[0])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_it_does_not_wait_for_the_peer(sleeping_peer, arguments: list[str], send) -> None:
    peer, log = sleeping_peer()
    with bench(*arguments, "--peer", "torch", "--peer-python", peer, "--steps", "2", "--format", "json") as process:
        pid = int(wait_for_file(log))
        send(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert json.loads(output)["results"] == []
    assert "1 of 1 cells are left out" in errors
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not list(log.parent.glob("cs336-job*"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["ddp", *MODEL, "--steps", "2", "--warmup", "0", "--no-profile", "--distribute", "flat", "--ranks", "2"],
        ["allreduce", "--backend", "tcp", "--ranks", "2", "--size", "1kB", "--steps", "2"],
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_rows_of_ranks_are_printed_without_those_of_the_peer(
    sleeping_peer, arguments: list[str], number: signal.Signals
) -> None:
    """The launcher of the ranks catches signals, too, and restores the handlers of this program."""
    peer, log = sleeping_peer()
    with bench(*arguments, "--peer", "torch", "--peer-python", peer, "--format", "json") as process:
        pid = int(wait_for_file(log))
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert [row["ranks"] for row in json.loads(output)["results"]] == [2]
    assert "error: interrupted" in errors and "left out" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("disposition", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_second_signal_ends_it_at_once(sleeping_peer, disposition: signal.Handlers) -> None:
    """The same holds for runs that a shell started in the background, where jobs ignore SIGINT."""
    # The peer keeps running after the signal to end.
    peer, log = sleeping_peer("signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    before = signal.signal(signal.SIGINT, disposition)
    with bench("model", *MODEL, *QUICK, "--peer", "torch", "--peer-python", peer, "--steps", "2") as process:
        signal.signal(signal.SIGINT, before)
        wait_for_file(log)
        process.send_signal(signal.SIGINT)
        wait_for(process, "cs336-bench: stops at the next safe place")
        # `timeout` sends two signals, at nearly the same time.
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT


@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_a_study_prints_what_its_commands_print(send) -> None:
    arguments = [*MODEL, *QUICK, *FOREVER, "--mode", "forward", "--dtype", "bf16", "--rows", "4", "--mean", "0"]
    with bench("study", "benchmarking_mixed_precision", "--size", "tiny", *arguments, "--format", "json") as process:
        wait_for(process, "$ cs336-bench model")
        wait_for(process, "[1/1]")
        send(process.pid, signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    documents = json.loads(output)
    assert [document["benchmark"] for document in documents][-1] == "model" and len(documents) == 3
    assert documents[-1]["results"] == []
    assert "1 of 1 cells are left out" in errors and "3 of 5 commands are not complete" in errors

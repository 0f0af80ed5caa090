"""`cs336-bench study all` that was killed goes on where it was, and its results can be plotted."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from results_schema import validate

# The smallest grid of every study.
GRID = [
    *["--edition", "2026", "--size", "tiny", "--num-layers", "1", "--vocab-size", "50", "--batch-size", "1"],
    *["--context_length", "8", "--head-dim", "4", "--attention.num-heads", "1", "--attention.dtype", "fp32"],
    *["--mode", "train", "--model.dtype", "fp32", "--steps", "1", "--warmup", "0", "--no-mfu", "--peer="],
    *["--allreduce.size", "1KiB", "--allreduce.ranks", "2", "--count", "2", "--rows", "4", "--mean", "0"],
]
REPORTS = {
    "report.md": "# Studies, edition 2026",
    "report.html": "<table>",
    "report.tex": "tabular",
    "report.typ": "#figure",
}

# The text by which each report shows a picture.
PICTURES = {
    "report.md": "]({})",
    "report.html": '<img src="{}"',
    "report.tex": "\\includegraphics[width=\\linewidth]{{{}}}",
    "report.typ": 'image("{}"',
}


def start(folder: Path, prepare: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    """Start the series in a process group of its own, after `prepare` has run in the new process."""
    command = ["cs336-bench", "study", "all", "--out", str(folder), *GRID]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, text=True, env=os.environ, start_new_session=True, preexec_fn=prepare)


def read_states(folder: Path) -> dict[str, str]:
    """Return the state of each document."""
    path = folder / "studies.json"
    commands = json.loads(path.read_text())["commands"] if path.exists() else []
    return {command["document"]: command["state"] for command in commands}


def wait_for_documents(folder: Path, number: int) -> None:
    """Wait until some documents are complete."""
    deadline = time.monotonic() + 120
    while not read_states(folder) or list(read_states(folder).values()).count("complete") < number:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def end_and_go_on(folder: Path, number: signal.Signals) -> str:
    """End a series by a signal, start it again, and return what it then prints."""
    with start(folder) as process:
        wait_for_documents(folder, 3)
        os.killpg(process.pid, number)
        process.communicate(timeout=60)
    assert process.returncode not in (0, 1)
    validate(json.loads((folder / "studies.json").read_text()))
    states = read_states(folder)
    finished = [name for name, state in states.items() if state == "complete"]
    assert 3 <= len(finished) < len(states)
    written = {name: (folder / name).stat().st_mtime_ns for name in finished}
    with start(folder) as process:
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert {name: (folder / name).stat().st_mtime_ns for name in finished} == written
    assert errors.count("finished before: ") == len(finished)
    assert set(read_states(folder).values()) == {"complete"} and len(read_states(folder)) == len(states)
    for name, text in REPORTS.items():
        assert text in (folder / name).read_text()
    files = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    for file in files.values():
        validate(file)
    assert {name for name in files if not name.endswith("-timeline.json")} == {"studies.json", *states}
    assert any(name.endswith("-timeline.json") for name in files)
    return errors


def test_a_killed_series_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    end_and_go_on(folder, signal.SIGKILL)
    check_that_rows_are_kept(folder)


def check_that_rows_are_kept(folder: Path) -> None:
    """Run the command with the most rows again, interrupt it, and expect as many rows as before."""

    def count(name: str) -> int:
        return len(json.loads((folder / name).read_text())["results"])

    record = json.loads((folder / "studies.json").read_text())
    number, command = max(enumerate(record["commands"], 1), key=lambda each: count(each[1]["document"]))
    rows = count(command["document"])
    assert rows > 1
    command["state"] = "interrupted"
    (folder / "studies.json").write_text(json.dumps(record))
    with start(folder) as process:
        for line in process.stderr:
            if line.startswith(f"[{number}/{len(record['commands'])}]"):
                break
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert count(command["document"]) >= rows
    assert not list(folder.glob("*.before"))


def test_a_full_disk_ends_the_series(tmp_path: Path) -> None:
    """A limit on the size of files simulates the full disk: the record does not grow any more."""
    with start(tmp_path / "first") as process:
        wait_for_documents(tmp_path / "first", 0)
        os.killpg(process.pid, signal.SIGKILL)
    limit = (tmp_path / "first/studies.json").stat().st_size + 8

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    folder = tmp_path / "out"
    with start(folder, prepare) as process:
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert f"error: --out: cannot write '{folder}/studies.json': " in errors.splitlines()[-1]
    assert "[1/" in errors and "[2/" not in errors
    assert set(read_states(folder).values()) == {"waiting"}


def test_an_interrupted_series_goes_on_and_is_plotted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    folder = tmp_path / "out"
    errors = end_and_go_on(folder, signal.SIGINT)
    pytest.importorskip("pandas", reason="frames need pandas")
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    assert f"report.typ show all; {folder}/plots has pictures" in errors
    pictures = {path.name for path in (folder / "plots").iterdir()}
    numeric = [name.removesuffix(".json") for name in read_states(folder) if not name.endswith("-dtypes.json")]
    timelines = [f"memory_profiling-{index}-plan-timeline" for index in (2, 3)]
    assert pictures == {f"{name}.{suffix}" for name in [*numeric, *timelines] for suffix in ("png", "svg")}
    # Every report shows every picture once, by its path from the folder.
    for report, text in PICTURES.items():
        page = (folder / report).read_text()
        shown = [name for name in [*numeric, *timelines] if page.count(text.format(f"plots/{name}.png")) == 1]
        assert shown == [*numeric, *timelines], report
    # A Python without packages is named, with the command.
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho 'error: matplotlib is missing' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(python.parent), os.environ["PATH"]]))
    with start(folder) as process:
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "note: pictures are missing: error: matplotlib is missing; 'python3 -m cs336.results plot " in errors
    for report, text in PICTURES.items():
        assert text.format("plots/")[:-1] not in (folder / report).read_text(), report


def test_one_series_at_a_time(tmp_path: Path) -> None:
    """A second series in the folder ends with an error that names the first one, which goes on."""
    folder = tmp_path / "out"
    with start(folder) as first:
        wait_for_documents(folder, 1)
        with start(folder) as second:
            _, errors = second.communicate(timeout=60)
        assert second.returncode == 1
        assert f"error: --out: another series writes to '{folder}': process {first.pid} on " in errors
        assert "; wait until it ends, or give another folder" in errors
        assert "[1/" not in errors
        # The lock of a killed process does not block.
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate(timeout=60)
    assert f"process {first.pid} on " in (folder / ".studies.lock").read_text()
    with start(folder) as third:
        _, errors = third.communicate(timeout=300)
    assert third.returncode == 0, errors
    assert (folder / ".studies.lock").read_text() == ""

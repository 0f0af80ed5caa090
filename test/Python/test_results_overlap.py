"""`cs336.results.plot_overlap`: the steps, lanes and numbers of traces, and errors for other files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from device import DEVICE

pytest.importorskip("pandas", reason="frames need pandas")
pytest.importorskip("matplotlib", reason="plots need matplotlib")

import cs336.results
from cs336.results._overlap import read_steps

Event = dict[str, Any]


def make_slice(pid: int, name: str, start: float, end: float, phase: str = "") -> Event:
    event = {"ph": "X", "name": name, "pid": pid, "tid": 1, "ts": start, "dur": end - start}
    return event | ({"args": {"phase": phase}} if phase else {})


def make_trace(folder: Path) -> Path:
    """Write two steps of two ranks. Those of rank 1 are 5 us later."""
    events = []
    for pid in (0, 1):
        events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"rank {pid}: cuda:{pid}"}})
        for number, begin in ((1, 0 + 5 * pid), (2, 1000 + 5 * pid)):
            parts = [
                make_slice(pid, f"step {number}: train", begin, begin + 90),
                make_slice(pid, f"step {number}: train", begin + 35, begin + 100),
                make_slice(pid, "gemm", begin, begin + 20, "forward"),
                make_slice(pid, "gemm", begin + 20, begin + 60, "backward"),
                make_slice(pid, "all_reduce", begin + 40, begin + 55, "communication"),
                make_slice(pid, "all_reduce", begin + 50, begin + 60 + 10 * number, "communication"),
                make_slice(pid, "adamw", begin + 75, begin + 100, "optimizer"),
            ]
            events += parts
    path = folder / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_a_step_contains_what_began_in_it(tmp_path: Path) -> None:
    for number, step in ((1, 1), (2, None)):
        ranks = read_steps(make_trace(tmp_path), step)
        assert [(rank.name, rank.step) for rank in ranks] == [
            ("rank 0: cuda:0", f"step {number}: train"),
            ("rank 1: cuda:1", f"step {number}: train"),
        ]
        for pid, rank in enumerate(ranks):
            begin = 1000 * (number - 1) + 5 * pid
            assert (rank.begin, rank.end) == (begin, begin + 100)
            assert rank.spans["backward"] == [(begin + 20, begin + 60)]
            # From the end of the backward pass to the end of the exchange, but at most to the optimizer.
            assert rank.exposed() == (10 if number == 1 else 15)


def test_the_picture(tmp_path: Path) -> None:
    path = make_trace(tmp_path)
    figure = cs336.results.plot_overlap([path, path], step=1)
    assert len(figure.axes) == 2
    for axes in figure.axes:
        assert axes.get_title() == "trace, step 1: train: 0.01 ms of exposed communication, 10.0 % of the step"
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert labels == [f"rank {i}: cuda:{i}, {lane}" for i in (0, 1) for lane in ("compute", "communication")]
        (communication,) = axes.collections[-1].get_paths()
        box = communication.get_extents()
        assert (box.x0, box.x1) == pytest.approx((0.045, 0.075)) and (box.y0, box.y1) == pytest.approx((2.6, 3.4))


@pytest.mark.skipif(DEVICE != "cpu", reason="ranks run on the CPU")
def test_a_trace_of_ranks(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    model = ["--size", "tiny", "--context-length", "16", "--batch-size", "2", "--mode", "train"]
    program = tmp_path / "tiny.mlir"
    subprocess.run(["cs336-translate", "--import-transformer", *model, "-o", program], check=True)
    command = ["cs336-run", program, "--ranks", "2", "--distribute", "overlap", "--random-inputs", "--steps", "3"]
    subprocess.run([*command, "--trace", trace], check=True, capture_output=True)
    ranks = read_steps(trace)
    assert [rank.step for rank in ranks] == ["step 3: train"] * 2
    for rank in ranks:
        assert set(rank.spans) >= {"forward", "backward", "communication", "optimizer"}
        # The CPU runs one command at a time.
        total = sum(end - start for start, end in rank.spans["communication"])
        assert 0 < rank.exposed() <= total * 1.001 and rank.exposed() < rank.end - rank.begin


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "'trace.json' is not JSON"),
        ("[]", "'trace.json' is not a trace: write it with --trace"),
        ('{"traceEvents": []}', "'trace.json' has no step: its run has not completed it"),
        ('{"traceEvents": [1]}', "'trace.json' is not a complete trace: 'int' object has no attribute"),
        ('{"traceEvents": [{"name": "process_name", "args": null}]}', "'trace.json' is not a complete trace"),
        ("[" * 100000, "'trace.json' is not JSON"),
    ],
)
def test_other_files(text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace.json").write_text(text)
    with pytest.raises(ValueError, match=reason):
        cs336.results.plot_overlap(["trace.json"])


def test_wrong_arguments(tmp_path: Path) -> None:
    path = make_trace(tmp_path)
    with pytest.raises(ValueError, match="has no step 3"):
        cs336.results.plot_overlap([path], step=3)
    with pytest.raises(ValueError, match="paths is empty"):
        cs336.results.plot_overlap([])
    with pytest.raises(TypeError, match="paths must be a list"):
        cs336.results.plot_overlap(path)

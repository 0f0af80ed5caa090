"""Traces keep the rules by which Perfetto imports JSON: events that break one are dropped or drawn in another place.

The rules are those of https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU and of Perfetto's
importer: slices of a thread nest, an arrow ends in the slice around its end ("bp": "e"), counters are numbers.

Perfetto's own trace processor (`trace_processor.py`) imports some of the traces, too.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from trace_processor import query, requires_trace_processor

MODEL = ["--size", "tiny", "--num-layers", "1", "--context-length", "16", "--vocab-size", "50", "--batch-size", "2"]
MODEL_THREAD = 1
STEPS = 3


def run(*command: object) -> None:
    """Run a tool that must succeed."""
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr


@dataclass
class Timeline:
    """The events of a trace.

    Attributes
    ----------
    names
        The names of processes and threads.
    slices, counters
        The slices of each thread, and the counters of each process, in the order of the file.
    arrows
        Start and end of each arrow.
    """

    names: dict[tuple[int, int | None], str]
    slices: dict[tuple[int, int], list[dict[str, Any]]]
    counters: dict[tuple[int, str], list[dict[str, Any]]]
    arrows: dict[int, dict[str, dict[str, Any]]]


def read(path: Path) -> Timeline:
    """Read a trace, and reject events of unknown types."""
    timeline = Timeline({}, defaultdict(list), defaultdict(list), defaultdict(dict))
    for event in json.loads(path.read_text())["traceEvents"]:
        kind, thread = event["ph"], (event["pid"], event["tid"])
        if kind == "M":
            timeline.names[event["pid"], None if event["name"] == "process_name" else event["tid"]] = event["args"][
                "name"
            ]
        elif kind == "X":
            timeline.slices[thread].append(event)
        elif kind == "C":
            timeline.counters[event["pid"], event["name"]].append(event)
        elif kind in "sf":
            assert kind not in timeline.arrows[event["id"]]
            timeline.arrows[event["id"]][kind] = event
        else:
            raise AssertionError(f"Perfetto does not import {event}")
    return timeline


def nanoseconds(event: dict[str, Any]) -> tuple[int, int]:
    """Return the first and the last time of a slice. Files have microseconds with three digits."""
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000)


def check_rules(timeline: Timeline) -> None:
    for (process, thread), slices in timeline.slices.items():
        assert (process, None) in timeline.names and (process, thread) in timeline.names
        ends: list[int] = []
        for begin, end in sorted((nanoseconds(event) for event in slices), key=lambda times: (times[0], -times[1])):
            while ends and ends[-1] <= begin:
                ends.pop()
            assert not ends or end <= ends[-1], f"slices of thread {thread} overlap at {begin} ns"
            ends.append(end)
    for arrow in timeline.arrows.values():
        start, end = arrow["s"], arrow["f"]
        assert start["cat"] == end["cat"] and start["ts"] <= end["ts"] and end["bp"] == "e"
        for event in (start, end):
            time = round(event["ts"] * 1000)
            around = [nanoseconds(each) for each in timeline.slices[event["pid"], event["tid"]]]
            assert any(begin <= time <= last for begin, last in around), f"an arrow points to nothing at {time} ns"
    for (_, name), events in timeline.counters.items():
        times = [event["ts"] for event in events]
        values = [value for event in events for value in event["args"].values()]
        assert times == sorted(times), name
        assert len(values) == len(events) and all(isinstance(value, (int, float)) and value >= 0 for value in values)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a program that trains."""
    path = tmp_path_factory.mktemp("program") / "model.mlir"
    run("cs336-translate", "--import-transformer", *MODEL, "--mode", "train", "-o", path)
    return path


def test_one_rank_has_steps_ranges_kernels_arrows_and_counters(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    run("cs336-run", program, "--random-inputs", "--steps", STEPS, "--trace", path)
    timeline = read(path)
    check_rules(timeline)
    assert timeline.names[0, None] == "rank 0: cpu" and timeline.names[0, MODEL_THREAD] == "model"
    (stream,) = (thread for process, thread in timeline.slices if thread != MODEL_THREAD)
    assert timeline.names[0, stream].startswith("stream ")
    kernels = timeline.slices[0, stream]
    ranges = [event["name"] for event in timeline.slices[0, MODEL_THREAD]]
    assert [name for name in ranges if name.startswith("step ")] == [f"step {i + 1}: train" for i in range(STEPS)]
    assert all(ranges.count(phase) >= STEPS for phase in ("forward", "backward", "optimizer", "layers.0"))
    # One arrow leads to each kernel, from the operation that it belongs to.
    assert sorted(arrow["f"]["ts"] for arrow in timeline.arrows.values()) == sorted(event["ts"] for event in kernels)
    assert {name for _, name in timeline.counters} == {"live memory", "memory rate", "arithmetic rate"}
    assert max(event["args"]["MiB"] for event in timeline.counters[0, "live memory"]) > 0
    assert max(event["args"]["GB/s"] for event in timeline.counters[0, "memory rate"]) > 0
    fields = {"command", "kind", "phase", "range", "location", "flops", "bytes"}
    assert all(fields <= set(event["args"]) for event in kernels)
    assert {event["args"]["range"] for event in kernels} >= {"norm", "qkv", "ffn", "head", "loss", "optimizer"}


@pytest.mark.parametrize(("flag", "ranks"), [("--ranks", 2), ("--nproc", 2), ("--nproc", 4)])
def test_ranks_are_processes_of_one_file(tmp_path: Path, flag: str, ranks: int) -> None:
    program, path = tmp_path / "model.mlir", tmp_path / "trace.json"
    run("cs336-translate", "--import-transformer", *MODEL, "--mode", "train", "-o", program)
    run("cs336-run", program, flag, ranks, "--distribute", "flat", "--random-inputs", "--steps", 2, "--trace", path)
    timeline = read(path)
    check_rules(timeline)
    processes = {process: name for (process, thread), name in timeline.names.items() if thread is None}
    assert processes == {rank: f"rank {rank}: cpu" for rank in range(ranks)}
    for rank in range(ranks):
        kernels = [
            event
            for (process, thread), events in timeline.slices.items()
            for event in events
            if process == rank and thread != MODEL_THREAD
        ]
        assert "communication" in {event["args"]["range"] for event in kernels}
        # One arrow leads to each command.
        ends = [arrow["f"]["ts"] for arrow in timeline.arrows.values() if arrow["f"]["pid"] == rank]
        assert sorted(ends) == sorted(event["ts"] for event in kernels)
    # Ranks share a clock: all are inside of a collective at the same time.
    collectives = [
        [nanoseconds(event) for event in timeline.slices[rank, 2] if event["args"]["kind"] == "collective"]
        for rank in range(ranks)
    ]
    assert len(collectives[0]) > 0
    for spans in zip(*collectives, strict=True):
        assert max(begin for begin, _ in spans) < min(end for _, end in spans)


def test_a_failed_run_keeps_the_trace_until_the_error(tmp_path: Path) -> None:
    program, path = tmp_path / "nan.mlir", tmp_path / "trace.json"
    program.write_text("""
func.func @f(%x: tensor<4xf32> {cs336.name = "x", cs336.kind = "input"})
    -> (tensor<4xf32> {cs336.name = "y", cs336.kind = "output"}) {
  %0 = cs336.exp %x : tensor<4xf32>
  %1 = cs336.neg %0 : tensor<4xf32>
  %2 = cs336.log %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
""")
    command = ["cs336-run", str(program), "--random-inputs", "--check-nan", "--fusion", "none", "--profile"]
    process = subprocess.run([*command, "--trace", str(path)], capture_output=True, text=True, env=os.environ)
    assert process.returncode == 1 and "is the first to write NaN" in process.stderr
    assert "until the error: " in process.stdout and "exp_" in process.stdout
    timeline = read(path)
    check_rules(timeline)
    assert len(timeline.arrows) == 3


# Queries for problems, for slices with their parents, for arrows, and for the values of counters.
PROBLEMS = "SELECT name, value FROM stats WHERE severity != 'info' AND value > 0"
SLICES = """
    SELECT process.name AS process, tid, slice.name AS name, slice.ts AS ts, slice.dur AS dur, parent.name AS parent
    FROM slice JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid) JOIN process USING (upid)
    LEFT JOIN slice AS parent ON slice.parent_id = parent.id"""
ARROWS = """
    SELECT start.name AS start, last.ts AS ts, last.track_id != start.track_id AS crosses
    FROM flow JOIN slice AS start ON flow.slice_out = start.id JOIN slice AS last ON flow.slice_in = last.id"""
COUNTERS = """
    SELECT track.name AS name, COUNT(*) AS count, MAX(value) AS most
    FROM counter JOIN counter_track AS track ON counter.track_id = track.id GROUP BY track.name"""


@requires_trace_processor
def test_perfetto_imports_all_events(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    run("cs336-run", program, "--random-inputs", "--steps", STEPS, "--trace", path)
    timeline = read(path)
    problems, slices, arrows, counters = query(path.read_bytes(), PROBLEMS, SLICES, ARROWS, COUNTERS)
    assert not problems
    assert sorted((row["tid"], row["name"], row["ts"], row["ts"] + row["dur"]) for row in slices) == sorted(
        (thread, event["name"], *nanoseconds(event))
        for (_, thread), events in timeline.slices.items()
        for event in events
    )
    assert {row["process"] for row in slices} == {"rank 0: cpu"}
    ranges = {(row["parent"], row["name"]) for row in slices if row["tid"] == MODEL_THREAD}
    steps = [f"step {i + 1}: train" for i in range(STEPS)]
    assert {(step, phase) for step in steps for phase in ("forward", "backward", "optimizer")} <= ranges
    assert {(None, step) for step in steps} | {("forward", "layers.0"), ("layers.0", "layers.0.ln1")} <= ranges
    # Arrows lead from an operation of the model to each kernel.
    kernels = sorted(row["ts"] for row in slices if row["tid"] != MODEL_THREAD)
    assert sorted(row["ts"] for row in arrows) == kernels
    assert all(row["crosses"] and row["start"] in {name for _, name in ranges} for row in arrows)
    events = {name: values for (_, name), values in timeline.counters.items()}
    assert {row["name"].rsplit(" ", 1)[0]: row["count"] for row in counters} == {
        name: len(values) for name, values in events.items()
    }
    assert {row["name"]: row["most"] for row in counters}["live memory MiB"] == pytest.approx(
        max(event["args"]["MiB"] for event in events["live memory"])
    )


@requires_trace_processor
def test_perfetto_imports_ranks_as_processes(tmp_path: Path) -> None:
    program, path = tmp_path / "model.mlir", tmp_path / "trace.json"
    run("cs336-translate", "--import-transformer", *MODEL, "--mode", "train", "-o", program)
    run("cs336-run", program, "--ranks", 2, "--distribute", "flat", "--random-inputs", "--steps", 2, "--trace", path)
    timeline = read(path)
    problems, slices, arrows = query(path.read_bytes(), PROBLEMS, SLICES, ARROWS)
    assert not problems
    assert {row["process"] for row in slices} == {"rank 0: cpu", "rank 1: cpu"}
    assert len(slices) == sum(map(len, timeline.slices.values()))
    assert len(arrows) == len(timeline.arrows)


@requires_trace_processor
def test_perfetto_reports_events_that_break_its_rules(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    run("cs336-run", program, "--random-inputs", "--steps", 1, "--trace", path)
    trace = json.loads(path.read_text())
    first = next(event for event in trace["traceEvents"] if event["ph"] == "X")
    trace["traceEvents"].append({**first, "ts": first["ts"] + first["dur"] / 2})
    (problems,) = query(json.dumps(trace).encode(), PROBLEMS)
    assert problems == [{"name": "slice_drop_overlapping_complete_event", "value": 1}]
    with pytest.raises(ValueError, match="incomplete"):
        query(path.read_bytes()[:-40], PROBLEMS)

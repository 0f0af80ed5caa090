"""Pictures of communication beside compute, from files of `--trace` of `cs336-run` and `cs336-bench ddp`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cs336.results._inputs import check_paths, read_json, reading
from cs336.results._packages import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMMUNICATION = "communication"
COLOURS = {"forward": "#4e79a7", "backward": "#f28e2b", "optimizer": "#59a14f", COMMUNICATION: "#b07aa1"}
OTHER_COLOUR = "#9c9c9c"
# Sizes in inches: the width, the height of a lane, and the height of the margins of a panel.
WIDTH, LANE, MARGINS = 11.0, 0.42, 1.1
STEP = re.compile(r"step (\d+): .*")
Interval = tuple[float, float]
Event = dict[str, Any]


@dataclass
class RankStep:
    """A step of a rank.

    Attributes
    ----------
    name
        The rank and its device: "rank 0: cuda:0".
    step
        "step 10: train".
    begin, end
        Microseconds of the trace.
    spans
        Start and end of what ran, by phase, in microseconds of the trace.
    """

    name: str
    step: str
    begin: float
    end: float
    spans: dict[str, list[Interval]] = field(default_factory=dict)

    def lanes(self) -> dict[str, dict[str, list[Interval]]]:
        """Return the spans of each lane by phase."""
        compute = {phase: spans for phase, spans in self.spans.items() if phase != COMMUNICATION}
        return {"compute": compute, COMMUNICATION: {COMMUNICATION: self.spans.get(COMMUNICATION, [])}}

    def exposed(self) -> float:
        """Return the microseconds in which only communication runs."""
        compute = _merge([span for spans in self.lanes()["compute"].values() for span in spans])
        both = _merge([*compute, *self.spans.get(COMMUNICATION, [])])
        return _length(both) - _length(compute)


def plot_overlap(paths: Sequence[str | os.PathLike[str]], *, step: int | None = None) -> Figure:
    """Draw a step of each trace: for each rank, a lane of compute by phase and a lane of communication.

    The titles state the exposed communication: the time of the step in which only communication runs, as a mean over
    the ranks.

    Parameters
    ----------
    paths
        JSON files of `--trace`. Each one has a panel.
    step
        The number of the step, from 1. None stands for the last one of each trace.

    Returns
    -------
    matplotlib.figure.Figure
        Needs no display.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    OSError
        If a file cannot be read.
    TypeError
        If one path was passed instead of a list.
    ValueError
        If `paths` is empty, a file is not a trace, or a trace does not have the step.
    """
    check_paths(paths, "--trace")
    files = [read_steps(path, step) for path in paths]
    heights = [MARGINS + 2 * LANE * len(ranks) for ranks in files]
    figure: Figure = need("matplotlib.figure").Figure(figsize=(WIDTH, sum(heights)))
    places = figure.subplots(len(files), 1, squeeze=False, height_ratios=heights)[:, 0]
    for path, ranks, axes in zip(paths, files, places, strict=True):
        _draw(axes, ranks, Path(path).stem)
    figure.tight_layout()
    return figure


def read_steps(path: str | os.PathLike[str], number: int | None = None) -> list[RankStep]:
    """Return a step of each rank of a trace, in the order of the ranks: the last one if `number` is None."""
    name, trace = os.fspath(path), read_json(path)
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        raise ValueError(f"'{name}' is not a trace: write it with --trace of cs336-run or cs336-bench ddp")
    with reading(name, "a complete trace"):
        return _find_steps(name, trace["traceEvents"], number)


def _find_steps(name: str, events: list[Event], number: int | None) -> list[RankStep]:
    """Return a step of each rank of the events of a trace."""
    names = {event["pid"]: event["args"]["name"] for event in events if event.get("name") == "process_name"}
    slices = [event for event in events if event.get("ph") == "X"]
    ranks = [step for pid in sorted(names) if (step := _find_step(names[pid], slices, pid, number))]
    if not ranks:
        raise ValueError(f"'{name}' has no step{'' if number is None else f' {number}'}: its run has not completed it")
    return ranks


def _find_step(name: str, slices: list[Event], pid: int, number: int | None) -> RankStep | None:
    """Return a step of a process, or None. Each stream of the program has a slice with the step's name."""
    own = [event for event in slices if event["pid"] == pid]
    found = [(event, STEP.fullmatch(event["name"])) for event in own]
    steps = [event for event, match in found if match and number in (None, int(match[1]))]
    if not steps:
        return None
    last = max(steps, key=lambda event: float(event["ts"]))["name"]
    parts = [event for event in steps if event["name"] == last]
    begin = min(event["ts"] for event in parts)
    step = RankStep(name, last, begin, max(event["ts"] + event["dur"] for event in parts))
    for event in own:
        phase = event.get("args", {}).get("phase")
        if phase and step.begin <= event["ts"] < step.end:
            step.spans.setdefault(phase, []).append((event["ts"], event["ts"] + event["dur"]))
    return step


def _merge(spans: list[Interval], gap: float = 0.0) -> list[Interval]:
    """Return the union of the intervals, in order. Those that are at most `gap` apart become one."""
    merged: list[Interval] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + gap:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _length(spans: list[Interval]) -> float:
    return sum(end - start for start, end in spans)


def _draw(axes: Axes, ranks: list[RankStep], title: str) -> None:
    """Draw the lanes of all ranks from top to bottom. The time starts with the first rank's step."""
    begin = min(rank.begin for rank in ranks)
    length = max(rank.end for rank in ranks) - begin
    labels = []
    for rank in ranks:
        for lane, phases in rank.lanes().items():
            for phase, spans in phases.items():
                # A gap below a thousandth of the width is not visible.
                bars = [((a - begin) / 1e3, (b - a) / 1e3) for a, b in _merge(spans, length / 1000)]
                colour = COLOURS.get(phase, OTHER_COLOUR)
                axes.broken_barh(bars, (len(labels) - 0.4, 0.8), facecolors=colour, linewidth=0)
            labels.append(f"{rank.name}, {lane}")
    axes.set(xlim=(0, length / 1e3), ylim=(len(labels) - 0.4, -0.6), xlabel="time (ms)")
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    exposed = sum(rank.exposed() for rank in ranks) / len(ranks)
    share = 100 * exposed / (sum(rank.end - rank.begin for rank in ranks) / len(ranks))
    text = f"{title}, {ranks[0].step}: {exposed / 1e3:.3g} ms of exposed communication, {share:.1f} % of the step"
    axes.set_title(text, fontsize=9)
    shown = {phase for rank in ranks for phase in rank.spans}
    patch = need("matplotlib.patches").Patch
    handles = [patch(color=colour, label=phase) for phase, colour in COLOURS.items() if phase in shown]
    axes.legend(handles=handles, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))

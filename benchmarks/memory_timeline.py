#!/usr/bin/env python3
"""Draws the memory of a step over time, by kind and phase, from timelines of `cs336-bench plan` and `model`.

TIMELINE is a JSON file of `--timeline`. Each one becomes a panel of OUTPUT.png and OUTPUT.svg.

PATH=build/dev/bin:$PATH cs336-bench plan --size small --device cuda --timeline small.json
python3 benchmarks/memory_timeline.py small.json --output DIR/small
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

SCHEMA = "cs336.memory-timeline/1"
KINDS = (
    "parameter",
    "optimizer_state",
    "derived_variable",
    "input",
    "gradient",
    "activation",
    "output",
    "communication",
    "workspace",
    "temporary",
)
# Kinds that live as long as a session; the others are in the arena.
RESIDENT_KINDS = KINDS[:4]
PHASES = {"forward": "0.97", "backward": "0.90", "communication": "0.93", "optimizer": "0.84", "prepare": "0.97"}
MEBI = 2**20
Timeline = dict[str, object]


def read(path: Path) -> Timeline:
    """Return the timeline of a file, which must have the schema and at least one command."""
    try:
        timeline = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"error: cannot read {path}: {error}")
    schema = timeline.get("schema") if isinstance(timeline, dict) else None
    if schema != SCHEMA:
        tools = "cs336-bench plan --timeline or model --timeline"
        sys.exit(f"error: {path} has schema {schema}, not {SCHEMA}: write it with {tools}")
    if not timeline["commands"]:
        sys.exit(f"error: {path} has no commands")
    return timeline


def spans(commands: list[dict[str, object]]) -> list[tuple[str, float, float]]:
    """Return phase, start and end in milliseconds of each run of commands of one phase."""
    found: list[tuple[str, float, float]] = []
    for command in commands:
        start, end = command["start_us"] / 1e3, command["end_us"] / 1e3
        if found and found[-1][0] == command["phase"]:
            found[-1] = (found[-1][0], found[-1][1], end)
        else:
            found.append((command["phase"], start, end))
    return found


def changes(below: list[float], above: list[float]) -> list[int]:
    """Return the positions at which an area begins, ends, or gets other bounds. The other points draw nothing."""
    pairs = list(zip(below, above, strict=True))
    last = len(pairs) - 1
    return [place for place in range(last + 1) if place in (0, last) or pairs[place] != pairs[place - 1]]


def draw(axes: Axes, timeline: Timeline, title: str, kinds: tuple[str, ...]) -> None:
    """Draw the kinds with bytes as stacked areas over milliseconds, phases behind them, and the peak."""
    commands = timeline["commands"]
    edges = [command["start_us"] / 1e3 for command in commands] + [commands[-1]["end_us"] / 1e3]
    below = [0.0] * len(edges)
    for kind in kinds:
        values = [command[kind] / MEBI for command in commands]
        if not any(values):
            continue
        above = [low + value for low, value in zip(below, [*values, values[-1]], strict=True)]
        points = changes(below, above)
        axes.fill_between(
            [edges[place] for place in points],
            [below[place] for place in points],
            [above[place] for place in points],
            step="post",
            color=plt.cm.tab10(KINDS.index(kind)),
            linewidth=0,
            label=kind.replace("_", " "),
        )
        below = above
    shown = spans(commands)
    width = shown[-1][2] - shown[0][1]
    for phase, start, end in shown:
        axes.axvspan(start, end, color=PHASES.get(phase, "1"), zorder=0)
        if end - start > width / 50:
            axes.text((start + end) / 2, 1.01, phase, ha="center", fontsize=8, transform=axes.get_xaxis_transform())
    place = max(range(len(commands)), key=lambda place: below[place])
    top = below[place]
    axes.plot(edges[place], top, "k.", label=f"peak: {top:.1f} MiB")
    axes.set(
        xlabel=f"time {timeline.get('times', 'predicted')} on {timeline['device']} (ms)",
        ylabel="active memory (MiB)" if set(RESIDENT_KINDS) <= set(kinds) else "memory in the arena (MiB)",
        xlim=edges[:: len(edges) - 1],
    )
    axes.set_ylim(0, 1.05 * top)
    axes.set_title(title, fontsize=9, pad=18)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("timelines", type=Path, nargs="+", metavar="TIMELINE", help="JSON of --timeline")
    arguments.add_argument(
        "--arena", action="store_true", help="leave out variables and inputs, which are live all the time"
    )
    arguments.add_argument("--output", type=Path, required=True, help="write OUTPUT.png and OUTPUT.svg")
    args = arguments.parse_args()
    timelines = [read(path) for path in args.timelines]
    kinds = tuple(kind for kind in KINDS if not args.arena or kind not in RESIDENT_KINDS)
    figure, axes = plt.subplots(len(timelines), 1, figsize=(11, 4.5 * len(timelines)), squeeze=False)
    for path, timeline, place in zip(args.timelines, timelines, axes[:, 0], strict=True):
        draw(place, timeline, timeline.get("model", path.stem), kinds)
    figure.tight_layout()
    args.output.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".png", ".svg"):
        # Not with_suffix: a name such as h200-2.7b has a dot of its own.
        figure.savefig(args.output.with_name(args.output.name + suffix), dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()

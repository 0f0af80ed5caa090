"""Pictures of memory over time, from files of `--timeline` of `cs336-bench plan` and `model`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cs336.results._inputs import check_paths, read_json, reading
from cs336.results._packages import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
# Sizes in inches.
PANEL = (11.0, 4.5)
Timeline = dict[str, Any]
Command = dict[str, Any]


def is_timeline(path: str | os.PathLike[str]) -> bool:
    """Return whether the file is a timeline; false for files that cannot be read."""
    try:
        root = read_json(path)
    except (OSError, ValueError):
        return False
    return isinstance(root, dict) and root.get("schema") == SCHEMA


def plot_timelines(paths: Sequence[str | os.PathLike[str]], *, arena: bool = False) -> Figure:
    """Draw the memory of steps over time: the kinds as stacked areas, phases behind them, and the peak.

    A dashed line shows the memory that a GPU reported as used after measured steps. It includes the whole arena, and
    what is not planned, such as the code of kernels.

    Parameters
    ----------
    paths
        JSON files of `--timeline` of `cs336-bench plan` or `model`. Each one has a panel.
    arena
        Leave out variables and inputs, which are live all the time and hide the memory of a forward pass. The dashed
        line, which contains them, is left out too.

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
        If `paths` is empty, a file is not a timeline, or a timeline has no commands.
    """
    check_paths(paths, "--timeline")
    timelines = [_read(path) for path in paths]
    kinds = tuple(kind for kind in KINDS if not arena or kind not in RESIDENT_KINDS)
    width, height = PANEL
    figure: Figure = need("matplotlib.figure").Figure(figsize=(width, height * len(timelines)))
    places = figure.subplots(len(timelines), 1, squeeze=False)[:, 0]
    for path, timeline, axes in zip(paths, timelines, places, strict=True):
        with reading(path, "a complete timeline"):
            _draw(axes, timeline, timeline.get("model", os.fspath(path)), kinds)
    figure.tight_layout()
    return figure


def _read(path: str | os.PathLike[str]) -> Timeline:
    """Return the timeline of a file, which must have the schema and at least one command."""
    name, timeline = os.fspath(path), read_json(path)
    schema = timeline.get("schema") if isinstance(timeline, dict) else None
    if schema != SCHEMA:
        tools = "cs336-bench plan --timeline or model --timeline"
        raise ValueError(f"'{name}' has schema {schema}, not {SCHEMA}: write it with {tools}")
    if not timeline.get("commands"):
        raise ValueError(f"'{name}' has no commands")
    return timeline


def _spans(commands: list[Command]) -> list[tuple[str, float, float]]:
    """Return phase, start and end in milliseconds of each run of commands of one phase."""
    found: list[tuple[str, float, float]] = []
    for command in commands:
        start, end = command["start_us"] / 1e3, command["end_us"] / 1e3
        if found and found[-1][0] == command["phase"]:
            found[-1] = (found[-1][0], found[-1][1], end)
        else:
            found.append((command["phase"], start, end))
    return found


def _changes(below: list[float], above: list[float]) -> list[int]:
    """Return the positions at which an area begins, ends, or gets other bounds. The other points draw nothing."""
    pairs = list(zip(below, above, strict=True))
    last = len(pairs) - 1
    return [place for place in range(last + 1) if place in (0, last) or pairs[place] != pairs[place - 1]]


def _draw(axes: Axes, timeline: Timeline, title: str, kinds: tuple[str, ...]) -> None:
    """Draw one timeline."""
    colours = need("matplotlib").colormaps["tab10"]
    commands: list[Command] = timeline["commands"]
    edges = [command["start_us"] / 1e3 for command in commands] + [commands[-1]["end_us"] / 1e3]
    below = [0.0] * len(edges)
    for kind in kinds:
        values = [command[kind] / MEBI for command in commands]
        if not any(values):
            continue
        above = [low + value for low, value in zip(below, [*values, values[-1]], strict=True)]
        points = _changes(below, above)
        axes.fill_between(
            [edges[place] for place in points],
            [below[place] for place in points],
            [above[place] for place in points],
            step="post",
            color=colours(KINDS.index(kind)),
            linewidth=0,
            label=kind.replace("_", " "),
        )
        below = above
    shown = _spans(commands)
    width = shown[-1][2] - shown[0][1]
    for phase, start, end in shown:
        axes.axvspan(start, end, color=PHASES.get(phase, "1"), zorder=0)
        if end - start > width / 50:
            axes.text((start + end) / 2, 1.01, phase, ha="center", fontsize=8, transform=axes.get_xaxis_transform())
    place = max(range(len(commands)), key=lambda place: below[place])
    top = below[place]
    axes.plot(edges[place], top, "k.", label=f"peak: {top:.1f} MiB")
    has_residents = set(RESIDENT_KINDS) <= set(kinds)
    # Plans have no count of the device. The count contains variables and inputs.
    device_bytes = timeline.get("device_bytes")
    if device_bytes is not None and has_residents:
        used = device_bytes / MEBI
        axes.axhline(used, color="k", linestyle="--", linewidth=1, label=f"in use on the device: {used:.1f} MiB")
        top = max(top, used)
    axes.set(
        xlabel=f"time {timeline.get('times', 'predicted')} on {timeline['device']} (ms)",
        ylabel="active memory (MiB)" if has_residents else "memory in the arena (MiB)",
        xlim=(edges[0], edges[-1]),
        ylim=(0, 1.05 * top or 1),
    )
    axes.set_title(title, fontsize=9, pad=18)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))

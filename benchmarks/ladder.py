#!/usr/bin/env python3
"""Shows the effect of each pass: records of attention and models that add one pass at a time, as a table and a picture.

RECORD is JSON of `cs336-bench attention` or `model` with `--ladder`, or with `--fusion none,elementwise,softmax,flash`,
or the output of `cs336-bench study torch_compile --format json`. If it has `--peer`, the page also shows PyTorch: for a
ladder, in the type of its top rung.

PATH=build/dev/bin:$PATH cs336-bench study torch_compile --device cuda --format json > fusion.json
python3 benchmarks/ladder.py fusion.json --output DIR/ladder
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from document import wrap_documents
from record import origin, write
from requirements import load, read_input, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

plt = load("matplotlib.pyplot")

Row = dict[str, object]


@dataclass
class Step:
    """One measurement at several levels: medians in milliseconds.

    Attributes
    ----------
    kind
        The benchmark, "attention" or "model", and for a ladder the type of its top rung.
    label
        Description of the measurement without the level.
    levels
        Times by level, which has the name of its pass, in order; None if memory did not suffice or noise hid the time.
    peers
        Times by variant of PyTorch, in the type of the top rung, from the first level that has it with agreeing values.
    """

    kind: str
    label: str
    levels: dict[str, float | None] = field(default_factory=dict)
    peers: dict[str, float] = field(default_factory=dict)

    def speed_up(self, level: str) -> float | None:
        """Return the speed-up of the level over the lowest one."""
        lowest, time = next(iter(self.levels.values())), self.levels.get(level)
        return lowest / time if lowest and time else None

    def own_share(self, level: str) -> float | None:
        """Return the speed-up of the level over the previous one."""
        names = list(self.levels)
        if level not in names[1:]:
            return None
        before, time = self.levels[names[names.index(level) - 1]], self.levels[level]
        return before / time if before and time else None

    def best(self) -> float | None:
        """Return the time of the highest level that fits into memory."""
        return next((time for time in reversed(self.levels.values()) if time), None)


def top(row: Row) -> str:
    """Return the type of the top rung of the row's ladder, or the row's own type without a ladder."""
    return row.get("ladder") or row["dtype"]


def attention_steps(row: Row) -> list[tuple[str, float | None, str]]:
    """Return label, median and the prefix of a peer's keys per pass."""
    heads = f"{row['num_heads']} × " if row["num_heads"] != 1 else ""
    shape = f"{row['batch_size']} × {heads}{row['length']} × {row['head_dim']}, {row['mask']}, {top(row)}"
    # The backward time is a difference, which noise can make negative.
    medians = {part: row[f"{part}_median_ms"] for part in ("forward", "backward")}
    return [(f"{shape}, {part}", time if time and time > 0 else None, f"{part}_") for part, time in medians.items()]


def model_steps(row: Row) -> list[tuple[str, float | None, str]]:
    """Return the same three values as `attention_steps`, for a model's step."""
    label = f"{row['size']}, {row['batch_size']} × {row['context_length']}, {top(row)}, {row['mode']}"
    return [(label, row["median_ms"], "")]


def read_steps(documents: list[dict[str, object]]) -> list[Step]:
    """Return every step of the documents, in order."""
    steps: dict[tuple[str, str], Step] = {}
    readers = {"attention": attention_steps, "model": model_steps}
    for document in documents:
        benchmark = document.get("benchmark")
        if benchmark not in readers:
            continue
        for row in document["results"]:
            kind = f"{benchmark}, to {row['ladder']}" if row.get("ladder") else benchmark
            for label, median, prefix in readers[benchmark](row):
                step = steps.setdefault((kind, label), Step(kind, label))
                step.levels[row.get("added") or row["fusion"]] = median
                if row["dtype"] != top(row):
                    continue
                for key, value in row.items():
                    found = re.fullmatch(rf"torch_(\w+?)_{prefix}median_ms", key)
                    if found and value is not None and row[f"torch_{found[1]}_{prefix}ratio"] is not None:
                        step.peers.setdefault(found[1], value)
    return list(steps.values())


def read_documents(path: Path) -> list[dict[str, object]]:
    """Return the documents of a file: one, those of a study, or those of a record of several commands."""
    read = json.loads(read_input(path, "cs336-bench"))
    if isinstance(read, dict):
        read = read.get("documents", [read])
    return read


def common_levels(steps: list[Step]) -> list[str]:
    """Return the levels of the steps, in order."""
    return list(dict.fromkeys(level for step in steps for level in step.levels))


def format_time(step: Step, level: str) -> str:
    if level not in step.levels:
        return ""
    return "no time" if step.levels[level] is None else f"{step.levels[level]:.3f}"


def format_factor(factor: float | None) -> str:
    return "" if factor is None else f"{factor:.2f}"


def table(steps: list[Step]) -> list[str]:
    """Return one row per step: milliseconds by level, then the factor of each pass, then PyTorch."""
    levels = common_levels(steps)
    variants = sorted({variant for step in steps for variant in step.peers})
    titles = ["step", *(f"{level} (ms)" for level in levels), *(f"× {level}" for level in levels[1:]), "× together"]
    titles += [title for variant in variants for title in (f"torch {variant} (ms)", "ratio to the last")]
    lines = ["| " + " | ".join(titles) + " |", "|---" + "|---:" * (len(titles) - 1) + "|"]
    for step in steps:
        best, lowest = step.best(), next(iter(step.levels.values()))
        cells = [step.label, *(format_time(step, level) for level in levels)]
        cells += [format_factor(step.own_share(level)) for level in levels[1:]]
        cells.append(format_factor(lowest / best) if lowest and best else "")
        for variant in variants:
            peer = step.peers.get(variant)
            cells.append("" if peer is None else f"{peer:.3f}")
            cells.append("" if peer is None or best is None else f"{peer / best:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def draw(axes: Axes, steps: list[Step]) -> None:
    """Draw speed-ups over the lowest level: one bar per level, one mark per variant of PyTorch."""
    levels = common_levels(steps)
    height = 0.8 / len(levels)
    for position, level in enumerate(levels):
        places = [index - 0.4 + height * (position + 0.5) for index in range(len(steps))]
        values = [step.speed_up(level) or 0 for step in steps]
        axes.barh(places, values, height, label=level, color=plt.cm.viridis(0.1 + 0.8 * position / len(levels)))
    for marker, variant in zip("oDsv^", sorted({name for step in steps for name in step.peers}), strict=False):
        lowest = [next(iter(step.levels.values())) for step in steps]
        shown = [(lowest[index] / step.peers[variant], index) for index, step in enumerate(steps)
                 if variant in step.peers and lowest[index]]  # fmt: skip
        if shown:
            axes.scatter(*zip(*shown, strict=True), marker=marker, color="black", zorder=3, label=f"torch {variant}")
    axes.axvline(1, color="0.5", linewidth=0.8)
    axes.set_yticks(range(len(steps)), [step.label for step in steps], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="speed-up over the lowest level", title=steps[0].kind)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))


def by_kind(steps: list[Step]) -> list[list[Step]]:
    """Group the steps by kind."""
    kinds = dict.fromkeys(step.kind for step in steps)
    return [[step for step in steps if step.kind == kind] for kind in kinds]


def plot(steps: list[Step], output: Path) -> list[str]:
    """Write OUTPUT.png and OUTPUT.svg, one panel per kind of step. Return the files' names."""
    plt.switch_backend("Agg")
    panels = by_kind(steps)
    sizes = [len(panel) * len(common_levels(panel)) for panel in panels]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(11, 1.5 * len(panels) + 0.15 * sum(sizes)), height_ratios=sizes, squeeze=False
    )
    for panel, place in zip(panels, axes[:, 0], strict=True):
        draw(place, panel)
    figure.tight_layout()
    names = []
    for suffix in (".png", ".svg"):
        names.append(output.name + suffix)
        figure.savefig(output.with_name(names[-1]), dpi=150)
    plt.close(figure)
    return names


def markdown(record: dict[str, object], steps: list[Step], pictures: list[str]) -> str:
    """Return the record as a page."""
    lines = [
        "# Step times, pass by pass",
        "",
        origin(record),
        "Medians. Each level includes the previous ones. A factor × LEVEL is the previous level's time over its own.",
        "",
        *(f"    {document['command']}" for document in record["documents"] if "command" in document),
        f"    {record['command']}",
        "",
        *(f"![Speed-up by level]({name})" for name in pictures if name.endswith(".svg")),
    ]
    for part in by_kind(steps):
        lines += ["", f"## {part[0].kind.capitalize()}", "", *table(part)]
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("records", type=Path, nargs="+", metavar="RECORD", help="JSON of cs336-bench")
    arguments.add_argument("--output", type=Path, required=True, help="write OUTPUT.json, .md, .png and .svg")
    args = arguments.parse_args()
    require(plt)
    documents = [document for path in args.records for document in read_documents(path)]
    steps = read_steps(documents)
    if not any(len(step.levels) > 1 for step in steps):
        sys.exit("the records contain no step at two levels: measure with --ladder, or --fusion none,elementwise,…")
    record = wrap_documents(sys.argv, documents)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    pictures = plot(steps, args.output)
    write(record, markdown(record, steps, pictures), args.output)


if __name__ == "__main__":
    main()

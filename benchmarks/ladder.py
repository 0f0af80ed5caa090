#!/usr/bin/env python3
"""What each pass of fusion brings: recorded attention and models at every level, as a table and a picture.

RECORD is JSON of `cs336-bench attention` or `model` with `--fusion none,elementwise,softmax,flash,all`, or what
`cs336-bench study torch_compile --format json` prints. With `--peer`, PyTorch stands beside it.

PATH=build/release/bin:$PATH cs336-bench study torch_compile --device cuda --format json > fusion.json
python3 benchmarks/ladder.py fusion.json --output DIR/ladder
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from record import describe, write

LEVELS = ["none", "elementwise", "softmax", "flash", "all"]
Row = dict[str, object]


@dataclass
class Step:
    """One thing that was measured at several levels: medians in milliseconds.

    Attributes
    ----------
    kind
        The benchmark: "attention" or "model".
    label
        What was measured, without the level.
    levels
        By level. A level that did not fit into memory is not there.
    peers
        By variant of PyTorch, beside the first level that has it and whose values agree.
    """

    kind: str
    label: str
    levels: dict[str, float] = field(default_factory=dict)
    peers: dict[str, float] = field(default_factory=dict)

    def speed_up(self, level: str) -> float | None:
        """Of the level over no fusion."""
        if level not in self.levels or "none" not in self.levels:
            return None
        return self.levels["none"] / self.levels[level]

    def own_share(self, level: str) -> float | None:
        """Of the level over the one before it."""
        before = LEVELS[LEVELS.index(level) - 1]
        if level == "none" or level not in self.levels or before not in self.levels:
            return None
        return self.levels[before] / self.levels[level]


def attention_steps(row: Row) -> list[tuple[str, float | None, str]]:
    """Label, median and the prefix of a peer's keys, of each pass."""
    heads = f"{row['num_heads']} × " if row["num_heads"] != 1 else ""
    shape = f"{row['batch_size']} × {heads}{row['length']} × {row['head_dim']}, {row['mask']}, {row['dtype']}"
    return [(f"{shape}, {part}", row[f"{part}_median_ms"], f"{part}_") for part in ("forward", "backward")]


def model_steps(row: Row) -> list[tuple[str, float | None, str]]:
    """As `attention_steps`, of a model's step."""
    label = f"{row['size']}, {row['batch_size']} × {row['context_length']}, {row['dtype']}, {row['mode']}"
    return [(label, row["median_ms"], "")]


def read_steps(documents: list[dict[str, object]]) -> list[Step]:
    """Every step of the documents, in order."""
    steps: dict[tuple[str, str], Step] = {}
    readers = {"attention": attention_steps, "model": model_steps}
    for document in documents:
        kind = document.get("benchmark")
        if kind not in readers:
            continue
        for row in document["results"]:
            for label, median, prefix in readers[kind](row):
                step = steps.setdefault((kind, label), Step(kind, label))
                if median is not None:
                    step.levels[row["fusion"]] = median
                for key, value in row.items():
                    found = re.fullmatch(rf"torch_(\w+?)_{prefix}median_ms", key)
                    if found and value is not None and row[f"torch_{found[1]}_{prefix}ratio"] is not None:
                        step.peers.setdefault(found[1], value)
    return list(steps.values())


def format_factor(factor: float | None) -> str:
    return "" if factor is None else f"{factor:.2f}"


def table(steps: list[Step]) -> list[str]:
    """A row for every step: milliseconds by level, then each pass's own factor, then PyTorch."""
    levels = [level for level in LEVELS if any(level in step.levels for step in steps)]
    variants = sorted({variant for step in steps for variant in step.peers})
    titles = ["step", *(f"{level} (ms)" for level in levels), *(f"× {level}" for level in levels[1:]), "× together"]
    titles += [title for variant in variants for title in (f"torch {variant} (ms)", "ratio to the last")]
    lines = ["| " + " | ".join(titles) + " |", "|---" + "|---:" * (len(titles) - 1) + "|"]
    for step in steps:
        last = next((level for level in reversed(levels) if level in step.levels), None)
        cells = [step.label]
        cells += [f"{step.levels[level]:.3f}" if level in step.levels else "OOM" for level in levels]
        cells += [format_factor(step.own_share(level)) for level in levels[1:]]
        cells.append(format_factor(step.speed_up(last)) if last else "")
        for variant in variants:
            peer = step.peers.get(variant)
            cells.append("" if peer is None else f"{peer:.3f}")
            cells.append("" if peer is None or last is None else f"{peer / step.levels[last]:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def draw(axes: Axes, steps: list[Step]) -> None:
    """Speed-ups over no fusion: a bar for every level, a mark for every variant of PyTorch."""
    levels = [level for level in LEVELS if any(level in step.levels for step in steps)]
    height = 0.8 / len(levels)
    for position, level in enumerate(levels):
        places = [index - 0.4 + height * (position + 0.5) for index in range(len(steps))]
        values = [step.speed_up(level) or 0 for step in steps]
        axes.barh(places, values, height, label=level, color=plt.cm.viridis(0.15 + 0.7 * position / len(LEVELS)))
    for marker, variant in zip("oDsv^", sorted({name for step in steps for name in step.peers}), strict=False):
        shown = [(step.levels["none"] / step.peers[variant], index) for index, step in enumerate(steps)
                 if variant in step.peers and "none" in step.levels]  # fmt: skip
        if shown:
            axes.scatter(*zip(*shown, strict=True), marker=marker, color="black", zorder=3, label=f"torch {variant}")
    axes.axvline(1, color="0.5", linewidth=0.8)
    axes.set_yticks(range(len(steps)), [step.label for step in steps], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="speed-up over no fusion", title=steps[0].kind)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))


def plot(steps: list[Step], output: Path) -> list[str]:
    """Writes OUTPUT.png and OUTPUT.svg, a panel for each benchmark; gives the files' names."""
    kinds = [[step for step in steps if step.kind == kind] for kind in ("attention", "model")]
    panels = [panel for panel in kinds if panel]
    sizes = [len(panel) for panel in panels]
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(11, 1.5 * len(panels) + 0.6 * sum(sizes)), height_ratios=sizes, squeeze=False
    )
    for panel, place in zip(panels, axes[:, 0], strict=True):
        draw(place, panel)
    figure.tight_layout()
    names = []
    for suffix in (".png", ".svg"):
        figure.savefig(output.with_suffix(suffix), dpi=150)
        names.append(output.with_suffix(suffix).name)
    plt.close(figure)
    return names


def markdown(record: dict[str, object], steps: list[Step], pictures: list[str]) -> str:
    """The record as a page."""
    lines = [
        "# Fusion, pass by pass",
        "",
        f"{record['date']}, commit {record['commit']}, {record['machine']}.",
        "Medians; each level includes those before it. A factor × LEVEL is the time of the level before over its own.",
        "",
        f"    {record['command']}",
        "",
        *(f"![Speed-up by level]({name})" for name in pictures if name.endswith(".svg")),
    ]
    for kind in ("attention", "model"):
        part = [step for step in steps if step.kind == kind]
        if part:
            lines += ["", f"## {kind.capitalize()}", "", *table(part)]
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("records", type=Path, nargs="+", metavar="RECORD", help="JSON of cs336-bench")
    arguments.add_argument("--output", type=Path, required=True, help="writes OUTPUT.json, .md, .png and .svg")
    args = arguments.parse_args()
    documents = []
    for path in args.records:
        read = json.loads(path.read_text())
        documents += read if isinstance(read, list) else [read]
    steps = read_steps(documents)
    if not any(len(step.levels) > 1 for step in steps):
        sys.exit("the records hold no step at two levels of fusion: measure with --fusion none,elementwise,…")
    record = describe(sys.argv) | {"documents": documents}
    args.output.parent.mkdir(parents=True, exist_ok=True)
    pictures = plot(steps, args.output)
    write(record, markdown(record, steps, pictures), args.output)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Draws the learning curve of a run of `examples/train_text.py`, beside the unigram entropy of its text.

PYTHONPATH=build/dev/python python3 benchmarks/text_curve.py build/demo/text build/demo/run --output DIR/text-curve
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from document import describe_sources, make_document, results, settings
from record import describe, origin, write
from requirements import load, read_input, require

plt = load("matplotlib.pyplot")

Row = dict[str, Any]

COLUMNS = [
    *settings(step="step"),
    *results(loss="training loss", held_out_loss="held-out loss", tokens_per_second="speed"),
]


def read_curve(path: Path) -> list[Row]:
    """Read the rows of the run's `curve.csv`; held-out losses are None between evaluations."""
    text = read_input(path, "examples/train_text.py")
    rows = [
        {name: float(value) if value else None for name, value in row.items()}
        for row in csv.DictReader(text.splitlines())
    ]
    return [row | {"step": int(row["step"])} for row in rows]


def held_out(rows: list[Row]) -> list[Row]:
    """Return the rows with a held-out loss."""
    return [row for row in rows if row["held_out_loss"] is not None]


def plot(rows: list[Row], entropy: float, path: Path) -> None:
    """Draw training and held-out loss by step, as SVG."""
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot([row["step"] for row in rows], [row["loss"] for row in rows], color="0.75", label="training")
    evaluated = held_out(rows)
    axes.plot(
        [row["step"] for row in evaluated], [row["held_out_loss"] for row in evaluated], marker="o", label="held out"
    )
    axes.axhline(entropy, linestyle="--", color="black", label="unigram entropy")
    axes.set(xlabel="step", ylabel="loss (nats per token)")
    axes.legend()
    figure.savefig(path, bbox_inches="tight")


def make_record(rows: list[Row], run: Row, entropy: float, head: Row) -> Row:
    """Return the document, with one row per step."""
    return make_document("text_curve", COLUMNS, rows, head | {"run": run, "unigram_entropy": entropy})


def markdown(record: Row, picture: str) -> str:
    """Return the record as a page."""
    rows = record["results"]
    evaluated = held_out(rows)
    speed = statistics.median(row["tokens_per_second"] for row in rows)
    lines = [
        "# Learning from text",
        "",
        origin(record),
        "",
        f"    {record['command']}",
        "",
        f"Model and training: `{json.dumps(record['run'])}`",
        "",
        f"The held-out loss after {len(rows)} steps is {evaluated[-1]['held_out_loss']:.3f} nats per token, the "
        f"unigram entropy {record['unigram_entropy']:.3f}. Median speed: {speed:.0f} tokens/s.",
        "",
        f"![Loss by step]({picture})",
        "",
        "| step | held-out loss |",
        "|---|---|",
    ]
    lines += [f"| {row['step']} | {row['held_out_loss']:.3f} |" for row in evaluated]
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("text", type=Path, help="folder written by prepare_text.py")
    arguments.add_argument("run", type=Path, help="folder written by train_text.py")
    arguments.add_argument("--output", type=Path, required=True, help="write OUTPUT.json, OUTPUT.md and OUTPUT.svg")
    args = arguments.parse_args()
    require(plt)

    rows = read_curve(args.run / "curve.csv")
    config = json.loads(read_input(args.run / "config.json", "examples/train_text.py"))
    entropy = json.loads(read_input(args.text / "meta.json", "examples/prepare_text.py"))["unigram_entropy"]
    run = {name: config[name] for name in ("model", "optimizer", "seed")}
    record = make_record(rows, run, entropy, describe(sys.argv) | describe_sources())
    args.output.parent.mkdir(parents=True, exist_ok=True)
    plot(rows, entropy, args.output.with_suffix(".svg"))
    write(record, markdown(record, args.output.with_suffix(".svg").name), args.output)


if __name__ == "__main__":
    main()

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

from record import describe, origin, write
from requirements import load, read_input, require

plt = load("matplotlib.pyplot")

Curve = dict[str, list[float | None]]


def read_curve(path: Path) -> Curve:
    """Read the columns of the run's `curve.csv`; held-out losses are None between evaluations."""
    rows = list(csv.DictReader(read_input(path, "examples/train_text.py").splitlines()))
    return {name: [float(row[name]) if row[name] else None for row in rows] for name in rows[0]}


def plot(curve: Curve, entropy: float, path: Path) -> None:
    """Draw training and held-out loss by step, as SVG."""
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(curve["step"], curve["loss"], color="0.75", label="training")
    held_out = [(s, h) for s, h in zip(curve["step"], curve["held_out_loss"], strict=True) if h is not None]
    axes.plot(*zip(*held_out, strict=True), marker="o", label="held out")
    axes.axhline(entropy, linestyle="--", color="black", label="unigram entropy")
    axes.set(xlabel="step", ylabel="loss (nats per token)")
    axes.legend()
    figure.savefig(path, bbox_inches="tight")


def markdown(record: dict[str, object], picture: str) -> str:
    """Return the record as a page."""
    lines = [
        "# Learning from text",
        "",
        origin(record),
        "",
        f"    {record['command']}",
        "",
        f"Model and training: `{json.dumps(record['run'])}`",
        "",
        f"The held-out loss after {record['steps']} steps is {record['held_out_loss']:.3f} nats per token, the unigram "
        f"entropy {record['unigram_entropy']:.3f}. Median speed: {record['tokens_per_second']:.0f} tokens/s.",
        "",
        f"![Loss by step]({picture})",
        "",
        "| step | held-out loss |",
        "|---|---|",
    ]
    curve = record["curve"]
    lines += [
        f"| {step:.0f} | {loss:.3f} |"
        for step, loss in zip(curve["step"], curve["held_out_loss"], strict=True)
        if loss is not None
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("text", type=Path, help="folder written by prepare_text.py")
    arguments.add_argument("run", type=Path, help="folder written by train_text.py")
    arguments.add_argument("--output", type=Path, required=True, help="write OUTPUT.json, OUTPUT.md and OUTPUT.svg")
    args = arguments.parse_args()
    require(plt)

    curve = read_curve(args.run / "curve.csv")
    config = json.loads(read_input(args.run / "config.json", "examples/train_text.py"))
    entropy = json.loads(read_input(args.text / "meta.json", "examples/prepare_text.py"))["unigram_entropy"]
    record = describe(sys.argv) | {
        "run": {name: config[name] for name in ("model", "optimizer", "seed")},
        "steps": len(curve["step"]),
        "held_out_loss": next(loss for loss in reversed(curve["held_out_loss"]) if loss is not None),
        "unigram_entropy": entropy,
        "tokens_per_second": statistics.median(curve["tokens_per_second"]),
        "curve": curve,
    }
    args.output.parent.mkdir(parents=True, exist_ok=True)
    plot(curve, entropy, args.output.with_suffix(".svg"))
    write(record, markdown(record, args.output.with_suffix(".svg").name), args.output)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Records what `cs336-bench model` measures: every number as JSON, and a table of the cells.

All that follows `--` is given to `cs336-bench model`, which PATH must have. What is complete when it ends early is
recorded too, and the record says so.

PATH=build/dev/bin:$PATH python3 benchmarks/model_steps.py --output DIR/small -- --size small --peer torch
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import bench_tool
from record import describe, origin, write

Row = dict[str, object]

# Those that no row has are left out: a GPU's own time, without a GPU; its kernels, without --profile; the backward
# pass, without a forward pass to subtract. Compiling and loading are compile_time.py's, which empties the caches; the
# JSON has what they took here.
COLUMNS = {
    "size": "{}",
    "context_length": "{}",
    "dtype": "{}",
    "fusion": "{}",
    "added": "{}",
    "mode": "{}",
    "warmup": "{}",
    "median_ms": "{:.3f}",
    "mean_ms": "{:.3f}",
    "std_ms": "{:.3f}",
    "min_ms": "{:.3f}",
    "std_over_mean": "{:.4f}",
    "backward_ms": "{:.3f}",
    "backward_over_forward": "{:.2f}",
    "event_ms": "{:.3f}",
    "kernels_ms": "{:.3f}",
    "launches": "{:.0f}",
    "gap_us_per_node": "{:.2f}",
    "idle_us_per_node": "{:.2f}",
    "tokens_per_second": "{:.0f}",
    "mfu": "{:.3f}",
    "memory_mib": "{:.0f}",
    "device_memory_mib": "{:.0f}",
}

EVENTS = (
    "median_ms is the host's time of a step, event_ms the GPU's own, kernels_ms the sum over the kernels, copies and "
    "fills of a step; the gap is what lies between the two, by kernel"
)
IDLE = "; idle is what lay between kernels while they were profiled"


def measure(arguments: list[str]) -> tuple[Row, int]:
    """The tool's JSON, and its exit code."""
    result, incomplete, code = bench_tool.run(["model", *arguments])
    if not result["results"]:
        sys.exit("it ended before a cell was measured")
    return result | {"incomplete": incomplete}, code


def peer_columns(rows: list[Row]) -> list[str]:
    """The variants of PyTorch that the rows have."""
    keys = {key for row in rows for key in row if key.startswith("torch_") and key.endswith("_median_ms")}
    return sorted(key.removeprefix("torch_").removesuffix("_median_ms") for key in keys)


def format_cell(value: object, form: str) -> str:
    """The number as text; nothing for what was not measured."""
    return "" if value is None else form.format(value)


def describe_difference(row: Row, variant: str) -> str:
    """How far loss and gradient norm are apart."""
    difference = row.get(f"torch_{variant}_difference")
    if not isinstance(difference, dict):
        return ""
    return ", ".join(f"{value:.0e}" for value in difference.values() if value is not None)


# What rows have in common that are one cell in several modes.
CELL = ("size", "batch_size", "context_length", "dtype", "fusion", "ladder", "added", "warmup")

LARGEST_SPREAD = 0.1


def cell_name(row: Row) -> str:
    """The row's shape, type and pipeline, as its columns in the table have them."""
    keys = ("size", "context_length", "dtype", "fusion", "added")
    return " ".join(str(row[key]) for key in keys if row.get(key) is not None)


def spread_steps(row: Row) -> list[str]:
    """A sentence if the steps' standard deviation is above LARGEST_SPREAD of their mean."""
    spread = row.get("std_over_mean")
    if spread is None or spread <= LARGEST_SPREAD:
        return []
    return [f"{cell_name(row)} {row['mode']}: the steps' standard deviation is {spread:.0%} of the mean."]


def memory_given_back(row: Row) -> list[str]:
    """A sentence if the GPU's count is below the plan: another program on the GPU freed memory meanwhile."""
    planned, counted = row.get("memory_mib"), row.get("device_memory_mib")
    if planned is None or counted is None or counted >= planned:
        return []
    return [f"{cell_name(row)} {row['mode']}: {counted:.0f} MiB by the GPU's own count, less than what is allocated."]


def long_parts(row: Row, rows: list[Row]) -> list[str]:
    """A sentence for each peer whose forward and backward passes took longer than the step that begins with them."""
    found = []
    for step in rows:
        if (row["mode"], step["mode"]) != ("forward_backward", "train"):
            continue
        if any(row.get(key) != step.get(key) for key in CELL):
            continue
        for variant in peer_columns([row]):
            part, whole = (each.get(f"torch_{variant}_median_ms") for each in (row, step))
            if part is not None and whole is not None and part > whole:
                times = f"{part:.3f} ms, longer than the whole training step's {whole:.3f}"
                found.append(f"{cell_name(row)}: PyTorch's forward_backward ({variant}) took {times}.")
    return found


def disturbances(rows: list[Row]) -> list[str]:
    """A sentence for each measurement that something else on the machine must have disturbed."""
    return [line for row in rows for line in [*spread_steps(row), *memory_given_back(row), *long_parts(row, rows)]]


def warning_lines(rows: list[Row]) -> list[str]:
    """The part of the page that says which cells not to rely on; nothing if there are none."""
    found = disturbances(rows)
    if not found:
        return []
    head = "Warning: by their own numbers these were disturbed while they were measured; do not rely on them:"
    return [head, "", *(f"- {line}" for line in found), ""]


def markdown(record: Row) -> str:
    """The record as a page."""
    rows = record["results"]
    variants = peer_columns(rows)
    columns = {key: form for key, form in COLUMNS.items() if any(row.get(key) is not None for row in rows)}
    if len({row["warmup"] for row in rows}) == 1:  # The command says it.
        del columns["warmup"]
    titles = list(columns)
    for variant in variants:
        titles += [f"torch {variant} ms", "ratio", "loss, gradient differ by", "torch MiB"]
    lines = [
        "# Steps of a Transformer",
        "",
        origin(record),
        *(["It ended early: cells are missing."] if record.get("incomplete") else []),
        *([EVENTS + (IDLE if "idle_us_per_node" in columns else "") + "."] if "event_ms" in columns else []),
        "Ratio: PyTorch's median over ours, on the same parameters and tokens; none where the values disagree.",
        "",
        f"    {record['command']}",
        "",
        *warning_lines(rows),
        "| " + " | ".join(titles) + " |",
        "|---" * len(titles) + "|",
    ]
    for row in rows:
        shown = {key: format_cell(row.get(key), form) for key, form in columns.items()}
        if row["median_ms"] is None:
            shown["median_ms"] = "OOM" if "memory" in str(row["status"]) else "unsupported"
        cells = list(shown.values())
        for variant in variants:
            cells += [
                format_cell(row.get(f"torch_{variant}_median_ms"), "{:.3f}"),
                format_cell(row.get(f"torch_{variant}_ratio"), "{:.2f}"),
                describe_difference(row, variant),
                format_cell(row.get(f"torch_{variant}_device_mib"), "{:.0f}"),
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=Path, help="writes OUTPUT.json and OUTPUT.md")
    arguments.add_argument("arguments", nargs="*", help="after --: arguments of cs336-bench model")
    args = arguments.parse_args()
    result, code = measure(args.arguments)
    head = describe(sys.argv)
    record = head | result | head  # The tool's own command is part of this one's.
    write(record, markdown(record), args.output)
    sys.exit(code)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Records measurements of `cs336-bench model`: every number as JSON, and a table of the cells.

All arguments after `--` are passed to `cs336-bench model`, which must be on PATH. If it ends early, the complete
measurements are recorded, and the record is marked as incomplete. With `--profile`, the page has the tables of nsys of
each cell: by kernel, by kind of kernel, and by range.

PATH=build/dev/bin:$PATH python3 benchmarks/model_steps.py --output DIR/small -- --size small --peer torch

`--page-of` writes the page of a record again, without measuring:

python3 benchmarks/model_steps.py --page-of DIR/small.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import bench_tool
from kernel_tables import profile_lines
from record import describe, origin, replace_file, write

Row = dict[str, object]

# Columns without values are omitted: the GPU's own time without a GPU, its kernels without --profile, and the backward
# pass without a forward pass to subtract. compile_time.py measures compiling and loading with empty caches; the JSON
# has their times here.
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
    "range_ms": "{:.3f}",
    "range_over_event": "{:.4f}",
    "profiled_over_step": "{:.3f}",
    "launches": "{:.0f}",
    "gap_us_per_node": "{:.2f}",
    "idle_us_per_node": "{:.2f}",
    "gemm_percent": "{:.1f}",
    "scores_ms": "{:.3f}",
    "mask_ms": "{:.3f}",
    "softmax_ms": "{:.3f}",
    "values_ms": "{:.3f}",
    "fused_attention_ms": "{:.3f}",
    "softmax_over_matmuls": "{:.3f}",
    "softmax_flops_over_matmuls": "{:.4f}",
    "tokens_per_second": "{:.0f}",
    "mfu": "{:.3f}",
    "memory_mib": "{:.0f}",
    "device_memory_mib": "{:.0f}",
}

EVENTS = (
    "median_ms is the host's time of a step, event_ms the GPU's own, kernels_ms the sum over the kernels, copies and "
    "fills of a step; the gap is the difference of the last two, per kernel"
)
NOISY = "Noisy: the quartiles of both sides' steps allow ratios that differ by more than a factor of 1.5."
IDLE = (
    "; idle is the time between kernels while they were profiled, range_ms the time from the start of the first kernel "
    "of a profiled step to the end of the last, range_over_event its part of these steps by the GPU's clock, and "
    "profiled_over_step how much longer these steps take than those of event_ms, whose session has no profiler"
)


def measure(arguments: list[str]) -> tuple[Row, int]:
    """Return the tool's JSON, and its exit code."""
    result, incomplete, code = bench_tool.run(["model", *arguments])
    if not result["results"]:
        sys.exit("cs336-bench ended before it had measured a cell")
    return result | {"incomplete": incomplete}, code


def peer_columns(rows: list[Row]) -> list[str]:
    """Return the variants of PyTorch in the rows."""
    keys = {key for row in rows for key in row if key.startswith("torch_") and key.endswith("_median_ms")}
    return sorted(key.removeprefix("torch_").removesuffix("_median_ms") for key in keys)


def format_cell(value: object, form: str) -> str:
    """Return the number as text; empty if it was not measured."""
    return "" if value is None else form.format(value)


def describe_difference(row: Row, variant: str) -> str:
    """Return the differences of loss and gradient norm as text."""
    difference = row.get(f"torch_{variant}_difference")
    if not isinstance(difference, dict):
        return ""
    return ", ".join(f"{value:.0e}" for value in difference.values() if value is not None)


# Keys that rows of one cell in several modes have in common.
CELL = ("size", "batch_size", "context_length", "dtype", "fusion", "ladder", "added", "warmup")

LARGEST_SPREAD = 0.1


def cell_name(row: Row) -> str:
    """Return the row's shape, type and pipeline, as in the table's columns."""
    keys = ("size", "context_length", "dtype", "fusion", "added")
    return " ".join(str(row[key]) for key in keys if row.get(key) is not None)


def spread_steps(row: Row) -> list[str]:
    """Return a sentence if the steps' standard deviation is above LARGEST_SPREAD of their mean."""
    spread = row.get("std_over_mean")
    if spread is None or spread <= LARGEST_SPREAD:
        return []
    return [f"{cell_name(row)} {row['mode']}: the steps' standard deviation is {spread:.0%} of the mean."]


def memory_given_back(row: Row) -> list[str]:
    """Return a sentence if the GPU's count is below the plan: another program has freed memory meanwhile."""
    planned, counted = row.get("memory_mib"), row.get("device_memory_mib")
    if planned is None or counted is None or counted >= planned:
        return []
    return [f"{cell_name(row)} {row['mode']}: {counted:.0f} MiB by the GPU's own count, less than is allocated."]


def long_parts(row: Row, rows: list[Row]) -> list[str]:
    """Return a sentence per peer whose forward and backward passes took longer than the whole training step."""
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
    """Return a sentence per measurement that other work on the machine must have disturbed."""
    return [line for row in rows for line in [*spread_steps(row), *memory_given_back(row), *long_parts(row, rows)]]


def format_ratio(row: Row, variant: str) -> str:
    """Return the ratio to PyTorch's median, or "noisy" where it was measured and the spread of the steps hides it."""
    key = f"torch_{variant}_ratio"
    return "noisy" if row.get(key) is None and row.get(f"{key}_interval") else format_cell(row.get(key), "{:.2f}")


def warning_lines(rows: list[Row]) -> list[str]:
    """Return the part of the page that names unreliable cells; empty if there are none."""
    found = disturbances(rows)
    if not found:
        return []
    head = "Warning: the numbers of these cells show that they were disturbed; do not rely on them:"
    return [head, "", *(f"- {line}" for line in found), ""]


def markdown(record: Row) -> str:
    """Return the record as a page."""
    rows = record["results"]
    variants = peer_columns(rows)
    columns = {key: form for key, form in COLUMNS.items() if any(row.get(key) is not None for row in rows)}
    if len({row["warmup"] for row in rows}) == 1:  # The command line on the page contains this number.
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
        *([NOISY] if any(format_ratio(row, variant) == "noisy" for row in rows for variant in variants) else []),
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
                format_ratio(row, variant),
                describe_difference(row, variant),
                format_cell(row.get(f"torch_{variant}_device_mib"), "{:.0f}"),
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, *profile_lines(rows)]) + "\n"


def rewrite_page(path: Path) -> None:
    """Write the page of a record, beside it."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"error: --page-of: cannot read '{path}': {error}")
    if not isinstance(record, dict) or record.get("benchmark") != "model" or "date" not in record:
        sys.exit(f"error: --page-of: '{path}' is not a record of model_steps.py")
    replace_file(path.with_suffix(".md"), markdown(record))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    arguments.add_argument("--page-of", type=Path, metavar="RECORD.json", help="write the page of this record again")
    arguments.add_argument("arguments", nargs="*", help="arguments of cs336-bench model, after --")
    args = arguments.parse_args()
    if args.page_of:
        if args.output or args.arguments:
            arguments.error("--page-of conflicts with --output and with arguments of cs336-bench: nothing is measured")
        rewrite_page(args.page_of)
        return
    result, code = measure(args.arguments)
    head = describe(sys.argv)
    record = head | result | head  # This command contains the tool's command.
    write(record, markdown(record), args.output)
    sys.exit(code)


if __name__ == "__main__":
    main()

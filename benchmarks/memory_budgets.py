#!/usr/bin/env python3
"""Measures training steps under memory budgets, from no recomputation to the least memory.

All arguments after `--` are passed to `cs336-bench model`, which must be on PATH. They describe one cell.

PATH=build/dev/bin:$PATH python3 benchmarks/memory_budgets.py --output DIR/budgets -- --size tiny --mode train
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import quantiles
from typing import Any

import bench_tool
from document import Column, add_columns
from record import describe, origin, write

Row = dict[str, Any]

MEBI = 1 << 20
COLUMNS = [Column("budget_mib", "budget", "setting")]
EXPLANATION = (
    "One process measures the rows with a budget, another the row without. Recomputed: part of the steps of "
    "--cs336-selective-checkpoint. Memory: as planned, and by the GPU's own count. Times and memory are compared with "
    "the first row, which keeps all activations; predicted times are those of `cs336-bench plan`."
)


def run_cells(command: str, arguments: list[str], cells: int) -> Row:
    """Return the document of a command of cs336-bench, which has this many rows."""
    document, incomplete, _ = bench_tool.run([command, *arguments])
    if incomplete or len(document["results"]) != cells:
        sys.exit(f"cs336-bench {command} {' '.join(arguments)} did not measure {cells} cells")
    return document


def run_cell(command: str, arguments: list[str]) -> Row:
    """Return the document of a command of cs336-bench that measures one cell, for which memory suffices."""
    document = run_cells(command, arguments, 1)
    if (status := document["results"][0]["status"]) != "ok":
        sys.exit(f"cs336-bench {command} {' '.join(arguments)} did not measure its cell: {status}")
    return document


def plan_arguments(arguments: list[str]) -> list[str]:
    """Return the arguments without those that only a measurement has."""
    kept, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("--steps", "--warmup", "--seed"):
            skip = True
        elif argument != "--no-mfu":
            kept.append(argument)
    return kept


def choose_budgets(arguments: list[str], high: float, shares: list[float]) -> list[int]:
    """Return budgets in bytes: shares of the memory `high` in MiB, or ten from there down to the least possible."""
    budgets = [int(share * high * MEBI) for share in shares]
    if not budgets:
        least = run_cell("plan", [*plan_arguments(arguments), "--pipeline-options", "selective-checkpoint=1"])
        low = least["results"][0]["total_mib"]
        # The bounds are rounded: the least budget has to be met.
        budgets = [int((high + (low - high) * step / 10) * MEBI) + 1024 for step in range(1, 11)]
    # A program without anything to recompute has one budget.
    return list(dict.fromkeys(budgets))


def measure_budgets(arguments: list[str], shares: list[float]) -> Row:
    """Return the document of cs336-bench model, with a row without a budget followed by one row per budget."""
    document = run_cell("model", arguments)
    (first,) = document["results"]
    budgets = choose_budgets(arguments, first["planned_mib"], shares)
    option = ["--memory-budget", ",".join(map(str, budgets))]
    rows = [first, *run_cells("model", [*arguments, *option], len(budgets))["results"]]
    added = [{"budget_mib": budget and budget / MEBI} for budget in [None, *budgets]]
    return add_columns(document | {"results": rows}, COLUMNS, added)


def markdown(record: Row) -> str:
    """Return the record as a page."""
    rows = record["results"]
    first = rows[0]
    lines = [
        "# Training steps under memory budgets",
        "",
        origin(record),
        EXPLANATION,
        "",
        f"    {record['command']}",
        "",
        "| budget MiB | recomputed % | memory MiB | of the first | by the GPU MiB | ms | quartiles | times the first | "
        "predicted |",
        "|---" * 9 + "|",
    ]
    for row in rows:
        budget = row["budget_mib"]
        if row["median_ms"] is None:
            lines.append(f"| {budget:.0f} | {row['status'].partition(':')[0]}" + " |" * 8)
            continue
        device = row.get("device_memory_mib")
        cells = [
            "" if budget is None else f"{budget:.0f}",
            f"{row.get('recomputed_percent') or 0:.1f}",
            f"{row['memory_mib']:.0f}",
            f"{row['memory_mib'] / first['memory_mib']:.3f}",
            "" if device is None else f"{device:.0f}",
            f"{row['median_ms']:.3f}",
            " to ".join(f"{quartile:.3f}" for quartile in quantiles(row["step_ms"], n=4)[::2]),
            f"{row['median_ms'] / first['median_ms']:.3f}",
            f"{row['predicted_ms'] / first['predicted_ms']:.3f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    arguments.add_argument(
        "--shares",
        type=lambda text: [float(share) for share in text.split(",")],
        default=[],
        help="budgets as shares of the memory without recomputation (default: ten, evenly down to the least)",
    )
    arguments.add_argument("arguments", nargs="*", help="arguments of cs336-bench model, after --")
    args = arguments.parse_args()
    head = describe(sys.argv)
    # The command of the record contains the tool's arguments.
    record = measure_budgets(args.arguments, args.shares) | head
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

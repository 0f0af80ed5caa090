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

import bench_tool
from record import describe, origin, write

Row = dict[str, object]

MEBI = 1 << 20
EXPLANATION = (
    "Each row is a process of its own. Recomputed: part of the steps of --cs336-selective-checkpoint. Memory: as "
    "planned, and by the GPU's own count. Times and memory are compared with the first row, which keeps all "
    "activations; predicted times are those of `cs336-bench plan`."
)


def run_cell(command: str, arguments: list[str]) -> Row:
    """Return the only row of a command of cs336-bench."""
    result, incomplete, code = bench_tool.run([command, *arguments])
    if code != 0 or incomplete or len(result["results"]) != 1:
        sys.exit(f"cs336-bench {command} {' '.join(arguments)} did not measure one cell")
    return result["results"][0]


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


def measure_budgets(arguments: list[str], shares: list[float]) -> list[Row]:
    """Return a row without a budget, and one for each share of its memory, from the largest to the least possible."""
    planned = plan_arguments(arguments)
    whole = run_cell("plan", planned)
    least = run_cell("plan", [*planned, "--pipeline-options", "selective-checkpoint=1"])
    budgets = [int(share * whole["total_mib"] * MEBI) for share in shares]
    if not budgets:
        low, high = least["total_mib"], whole["total_mib"]
        # The bounds are rounded: the least budget has to be met.
        budgets = [int((high + (low - high) * step / 10) * MEBI) + 1024 for step in range(1, 11)]
    rows = []
    for budget in [None, *budgets]:
        options = [] if budget is None else ["--memory-budget", str(budget)]
        row = run_cell("model", [*arguments, *options])
        predicted = run_cell("plan", [*planned, *options])
        rows.append(row | {"budget_mib": budget and budget / MEBI, "predicted_ms": predicted["predicted_ms"]})
    return rows


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
    record = head | {"results": measure_budgets(args.arguments, args.shares)}
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures the peak of memory of a forward pass and of a training step, by context and type, beside PyTorch.

All arguments after `--` are passed to `cs336-bench model`, which must be on PATH; this script sets the modes and the
number of steps. `--peer-python` names a Python that has PyTorch; without it, only our own columns are measured.

PATH=build/dev/bin:$PATH python3 benchmarks/memory_peaks.py --output DIR/peaks -- --size tiny --context-length 16,32
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import bench_tool
from document import Column, add_columns
from record import describe, origin, write
from requirements import require_python

Row = dict[str, Any]

MODES = ("forward", "train")
PEER = Path(__file__).parent / "peers" / "torch_memory.py"
FIELDS = ("d_model", "d_ff", "num_layers", "num_heads", "vocab_size", "context_length", "batch_size")
# The defaults of cs336-bench.
OPTIMIZER = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01, "max_norm": 0.0}
OPTIMIZER |= {"warmup_steps": 0, "cosine_steps": 0, "min_lr": 0.0}
COLUMNS = [
    Column("unfused_mib", "unfused, planned"),
    Column("torch_eager_allocated_mib", "torch eager: allocated"),
    Column("torch_eager_reserved_mib", "torch eager: reserved"),
    Column("torch_eager_device_mib", "torch eager: by the GPU's count"),
    Column("torch_eager_error", "torch eager: error"),
]
EXPLANATION = (
    "In MiB. Planned: the whole session, by the memory plan, before anything runs. By the GPU: what is in use after "
    "the steps and was not before, by its own count. PyTorch runs in eager mode; allocated is the peak of its own "
    "allocations, as its memory viewer shows it, and the GPU's count includes what its allocator holds."
)


def measure_peer(python: str, rows: list[Row], device: str, steps: int) -> list[Row]:
    """Return PyTorch's answer for each row, from one process. Rows after a failure get an error."""
    jobs = [
        {
            "config": {field: row[field] for field in FIELDS},
            "optimizer": OPTIMIZER,
            "mode": row["mode"],
            "dtype": row["dtype"],
            "device": device,
            "variant": "eager",
            "steps": steps,
        }
        for row in rows
    ]
    process = subprocess.run(
        [python, str(PEER)], input="".join(json.dumps(job) + "\n" for job in jobs), stdout=subprocess.PIPE, text=True
    )
    answers = [json.loads(line) for line in process.stdout.splitlines()]
    return answers + [{"error": "no answer"}] * (len(jobs) - len(answers))


def plan_arguments(arguments: list[str], fusion: str) -> list[str]:
    """Return the arguments of a plan of the same cells, with another level of fusion."""
    kept = [argument for argument in arguments if argument != "--no-mfu"]
    if "--fusion" in kept:
        del kept[kept.index("--fusion") : kept.index("--fusion") + 2]
    return ["plan", *kept, "--mode", ",".join(MODES), "--fusion", fusion]


def measure(arguments: list[str], peer_python: str | None, steps: int) -> Row:
    """Return the document of cs336-bench model, with a row per context, type and mode, and columns of the peer."""
    runs = ["--mode", ",".join(MODES), "--steps", str(steps), "--warmup", "1"]
    result, incomplete, _ = bench_tool.run(["model", *arguments, *runs])
    if incomplete:
        print("cs336-bench model ended early: cells are missing", file=sys.stderr)
    rows = result["results"]
    unfused = bench_tool.run(plan_arguments(arguments, "none"))[0]["results"]
    key = ("size", "context_length", "dtype", "mode", "batch_size")
    planned = {tuple(row[name] for name in key): row["total_mib"] for row in unfused}
    device = "cuda" if result["device"]["kind"] == "cuda" else "cpu"
    answers = measure_peer(peer_python, rows, device, steps) if peer_python else [{} for _ in rows]
    added = []
    for row, answer in zip(rows, answers, strict=True):
        theirs = {f"torch_eager_{name}": value for name, value in answer.items()}
        added.append({"unfused_mib": planned.get(tuple(row[name] for name in key))} | theirs)
    return add_columns(result, COLUMNS, added) | {"incomplete": incomplete}


def cell(value: float | None, missing: str = "") -> str:
    return missing if value is None else f"{value:.0f}"


def torch_cells(row: Row) -> list[str]:
    """Return PyTorch's peak and its memory by the GPU's count, or the reason why neither was measured."""
    if error := row["torch_eager_error"]:
        return ["OOM" if error == "out of memory" else error, ""]
    return [cell(row["torch_eager_allocated_mib"]), cell(row["torch_eager_device_mib"])]


def markdown(record: Row) -> str:
    """Return the record as a page."""
    lines = ["# Peaks of memory, forward and training", "", origin(record), EXPLANATION, "", f"    {record['command']}"]
    heads = ["size", "context", "type", "step", "unfused, planned", "planned", "by the GPU", "apart %"]
    heads += ["PyTorch allocated", "PyTorch by the GPU", "of PyTorch's"]
    lines += ["", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in record["results"]:
        used, plan = row.get("device_memory_mib"), row.get("memory_mib")
        theirs = row["torch_eager_device_mib"]
        cells = [row["size"], str(row["context_length"]), row["dtype"], row["mode"], cell(row["unfused_mib"])]
        cells += [cell(plan, "OOM"), cell(used)]
        cells.append(f"{100 * (used / plan - 1):.2f}" if used and plan else "")
        cells += torch_cells(row)
        cells.append(f"{used / theirs:.2f}" if used and theirs else "")
        lines.append("| " + " | ".join(cells) + " |")
    parts = ("modules_mib", "libraries_mib", "graphs_mib", "rounding_mib", "later_mib", "before_mib")
    counted = [row for row in record["results"] if row.get("device_memory_mib") is not None]
    if counted:
        lines += ["", "What is in use beyond the plan, in MiB, and what was in use before (context and others):", ""]
        lines += [
            "| context | type | step | modules | libraries | graphs | rounding | later | before |",
            "|---" * 9 + "|",
        ]
        for row in counted:
            cells = [str(row["context_length"]), row["dtype"], row["mode"], *(f"{row[part]:.1f}" for part in parts)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    arguments.add_argument("--peer-python", help="the Python that has PyTorch")
    arguments.add_argument("--steps", type=int, default=2, help="measured steps (%(default)s)")
    arguments.add_argument("arguments", nargs="*", help="arguments of cs336-bench model, after --")
    args = arguments.parse_args()
    if args.peer_python:
        require_python(args.peer_python, "torch")
    head = describe(sys.argv)
    # The command of the record contains the tool's arguments.
    record = measure(args.arguments, args.peer_python, args.steps) | head
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Measures how long a step takes to compile, by size: a training step or, with `--mode`, a forward pass or gradients.

For the CPU: through planned exec IR, and the kernels separately. For GPUs (`--arch`): everything in one process, with
an empty and a filled cache. On a GPU (`--device cuda`): until the step can run, including loading kernels, tuning GEMMs
and capturing the step; `--dtype` and `--fusion` are those of cs336-bench model. A filled cache contains executables,
cubins and the GEMM tuning. Attention kernels depend on `--context-length`.

PATH=build/dev/bin:$PATH python3 benchmarks/compile_time.py --sizes 2.7B --arch sm_90a --output DIR/compile-time
PATH=build/dev/bin:$PATH python3 benchmarks/compile_time.py --device cuda --dtype bf16 --fusion none,all
PATH=build/dev/bin:$PATH python3 benchmarks/compile_time.py --device cuda --dtype bf16 --context-length 4096
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from document import Column, describe_device, make_document, median, results, settings
from record import describe, origin, write
from requirements import require_tools

Row = dict[str, Any]

# The steps of compiling for the CPU, and the states of the cache.
STEPS = {"import": "config to IR", "plan": "IR to planned IR", "kernels": "kernels compiled"}
STATES = {"cold": "empty cache", "warm": "filled cache"}


def step_columns(name: str, title: str) -> list[Column]:
    """Return the columns of a step of compiling for the CPU."""
    return [*median(f"{name}_seconds", title, f"{name}_run_seconds"), Column(f"{name}_mib", f"{title}, peak")]


CPU_COLUMNS = [
    *settings(size="size", context_length="context", mode="mode", architecture="architecture"),
    *(column for name, title in STEPS.items() for column in step_columns(name, title)),
    *results(distinct_kernels="distinct kernels", executable_bytes="executable"),
    *(
        column
        for state, title in STATES.items()
        for column in median(f"gpu_{state}_seconds", f"for the GPU, {title}", f"gpu_{state}_run_seconds")
    ),
    *results(gpu_cubins="cubins", gpu_executable_bytes="executable for the GPU"),
]
GPU_COLUMNS = [
    *settings(size="size", num_layers="layers", context_length="context", dtype="dtype", fusion="fusion", mode="mode"),
    *results(distinct_kernels="distinct kernels", status="status"),
    *(
        column
        for state, title in STATES.items()
        for part in ("compile", "load")
        for column in median(f"{state}_{part}_seconds", f"{part}, {title}", f"{state}_{part}_run_seconds")
    ),
]


def summarize(name: str, seconds: list[float]) -> Row:
    """Return the median of the runs and the runs, by the keys of their columns."""
    return {f"{name}_seconds": statistics.median(seconds), f"{name}_run_seconds": seconds}


def measure(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Return wall-clock seconds and peak MiB of a run."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {shlex.join(command)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def import_command(size: str, context: int, mode: str, model: str) -> list[str]:
    """Return the command that writes the IR of a model."""
    flags = ["--size", size, "--context-length", str(context), "--mode", mode]
    return ["cs336-translate", "--import-transformer", *flags, "-o", model]


def compile_size(size: str, context: int, mode: str, runs: int, folder: Path) -> Row:
    """Return medians over runs for one size."""
    model, planned, executable = (str(folder / name) for name in ("model.mlir", "planned.mlir", "step.cs336x"))
    steps = {
        "import": import_command(size, context, mode, model),
        "plan": ["cs336-opt", model, "--cs336-pipeline", "-o", planned],
        "kernels": ["cs336-translate", "--emit-executable", planned, "-o", executable],
    }
    row: Row = {"size": size, "context_length": context, "mode": mode}
    for name, command in steps.items():
        # Compile kernels instead of reading the cache.
        command += ["--no-cache"] if name == "kernels" else []
        measured = [measure(command) for _ in range(runs)]
        row |= summarize(name, [seconds for seconds, _ in measured])
        row[f"{name}_mib"] = max(mebibytes for _, mebibytes in measured)
    row["distinct_kernels"] = Path(planned).read_text().count("exec.kernel @")
    row["executable_bytes"] = Path(executable).stat().st_size
    return row


def compile_for_gpu(size: str, context: int, mode: str, architecture: str, runs: int, folder: Path) -> Row:
    """Return medians over runs of whole processes, from IR to an executable, without a cache and then with it."""
    model, executable = str(folder / "model.mlir"), folder / "step.cs336x"
    measure(import_command(size, context, mode, model))
    command = ["cs336-translate", "--emit-executable", "--device", "cuda", "--arch", architecture]
    command += [model, "-o", str(executable)]
    seconds: dict[str, list[float]] = {state: [] for state in STATES}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            for state in STATES:
                seconds[state].append(measure(command, os.environ | {"CS336_CACHE_DIR": cache})[0])
            kernels = len(list(Path(cache).glob("cubins/llvmcache-?*")))
    row: Row = {"architecture": architecture, "gpu_cubins": kernels}
    row["gpu_executable_bytes"] = executable.stat().st_size
    return row | summarize("gpu_cold", seconds["cold"]) | summarize("gpu_warm", seconds["warm"])


def start_on_gpu(size: str, context: int, mode: str, dtype: str, fusion: str, device: str, runs: int) -> Row:
    """Return medians over runs of cs336-bench's compile and load times. Each run starts without a cache, then has it.

    A size that does not fit into the GPU's memory has no times.
    """
    command = ["cs336-bench", "model", "--size", size, "--context-length", str(context), "--mode", mode]
    command += ["--device", device, "--dtype", dtype, "--fusion", fusion]
    command += ["--steps", "1", "--warmup", "0", "--no-mfu", "--format", "json"]
    seconds: dict[str, list[float]] = {}
    row: Row = {}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            for state in STATES:
                environment = os.environ | {"CS336_CACHE_DIR": cache}
                run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
                if run.returncode != 0:
                    sys.exit(f"failed: {shlex.join(command)}")
                (row,) = json.loads(run.stdout)["results"]
                for part in ("compile", "load"):
                    if row["load_seconds"] is not None:
                        seconds.setdefault(f"{state}_{part}", []).append(row[f"{part}_seconds"])
    shared = ("size", "num_layers", "context_length", "dtype", "fusion", "mode", "distinct_kernels", "status")
    measured = {key: row[key] for key in shared}
    for name, values in seconds.items():
        measured |= summarize(name, values)
    return measured


# Descriptions of the functions that --mode compiles.
MODES = {"train": "a training step", "forward_backward": "a loss and its gradients", "forward": "a forward pass"}


def processes(runs: int, kind: str) -> str:
    """Return the start of a sentence on the measured runs."""
    return f"One {kind} each" if runs == 1 else f"Medians of {runs} {kind}es"


def make_record(rows: list[Row], context: int, mode: str, runs: int, on_gpu: bool, head: Row) -> Row:
    """Return the document: of starting on a GPU, or of compiling on the CPU."""
    columns = GPU_COLUMNS if on_gpu else CPU_COLUMNS
    shared = {"context_length": context, "mode": mode, "runs": runs}
    return make_document("compile_time", columns, rows, head | shared)


def start_markdown(record: Row) -> list[str]:
    """Return the part of the page about starting on a GPU."""
    lines = [
        f"{processes(record['runs'], 'process')} with an empty cache (cold), each followed by one with a filled cache "
        "(warm).",
        "Compiling: from the config to the executable, which a filled cache contains. Loading: the rest of the GPU's",
        "start, which begins with compiling, until the step can run: GEMMs are tuned or looked up, and the step is",
        "captured.",
        "",
        "| size | layers | dtype | fusion | distinct kernels | cold: compile + load (s) | sum "
        "| warm: compile + load (s) | sum |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in record["results"]:
        times = []
        for state in STATES:
            parts = [row[f"{state}_{part}_seconds"] for part in ("compile", "load")]
            if None in parts:
                times += ["out of memory", ""]
                continue
            times += [" + ".join(f"{part:.2f}" for part in parts), f"{sum(parts):.2f}"]
        model = [row[key] for key in ("size", "num_layers", "dtype", "fusion", "distinct_kernels")]
        lines.append(f"| {' | '.join(map(str, model))} | " + " | ".join(times) + " |")
    return lines


def gpu_markdown(record: Row) -> list[str]:
    """Return the part of the page about GPUs, empty if they were not measured."""
    rows = [row for row in record["results"] if row["architecture"]]
    if not rows:
        return []
    lines = [
        "",
        f"From IR to an executable for {rows[0]['architecture']}, in one process:",
        "",
        "| size | empty cache (s) | filled cache (s) | cubins | executable (KiB) |",
        "|---|---|---|---|---|",
    ]
    return lines + [
        f"| {row['size']} | {row['gpu_cold_seconds']:.2f} | {row['gpu_warm_seconds']:.2f} | {row['gpu_cubins']} "
        f"| {row['gpu_executable_bytes'] / 1024:.0f} |"
        for row in rows
    ]


def cpu_markdown(record: Row) -> list[str]:
    """Return the part of the page about the CPU."""
    lines = [
        f"{processes(record['runs'], 'whole process')}.",
        "",
        "| size | config to IR (s) | IR to planned IR (s) | peak (MiB) | kernels compiled (s) | distinct kernels |",
        "|---|---|---|---|---|---|",
    ]
    for row in record["results"]:
        lines.append(
            f"| {row['size']} | {row['import_seconds']:.2f} | {row['plan_seconds']:.2f} | {row['plan_mib']:.0f} "
            f"| {row['kernels_seconds']:.2f} | {row['distinct_kernels']} |"
        )
    return lines


def markdown(record: Row) -> str:
    """Return the record as a page."""
    lines = [
        f"# Compiling {MODES[record['mode']]}",
        "",
        f"{origin(record)} Context {record['context_length']}, batch 4.",
        "",
        f"    {record['command']}",
        "",
    ]
    on_gpu = record["device"]["kind"] != "cpu"
    lines += start_markdown(record) if on_gpu else cpu_markdown(record) + gpu_markdown(record)
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sizes", default="tiny,small,medium,large,xl,2.7B", help="comma-separated sizes")
    arguments.add_argument("--arch", help="also measure compiling for GPUs, for this architecture")
    arguments.add_argument(
        "--device", default="cpu", help="cuda: measure only the time until steps can run on that GPU"
    )
    arguments.add_argument("--dtype", help="comma-separated, requires --device cuda: fp32 (default), tf32, bf16, fp16")
    arguments.add_argument("--fusion", help="comma-separated, requires --device cuda: none to all (default)")
    arguments.add_argument("--mode", default="train", choices=MODES, help="mode to compile (default: train)")
    arguments.add_argument(
        "--context-length", type=int, default=256, metavar="N", help="positions per sequence (default: %(default)s)"
    )
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    args = arguments.parse_args()
    if args.arch and args.device != "cpu":
        arguments.error("--arch conflicts with --device, which measures compiling for the GPU that it names")
    if (args.dtype or args.fusion) and args.device == "cpu":
        arguments.error("--dtype and --fusion require --device cuda")
    require_tools(*(("cs336-translate", "cs336-opt") if args.device == "cpu" else ()), "cs336-bench")
    head = describe(sys.argv) | describe_device(args.device)
    context = args.context_length
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in args.sizes.split(","):
            if args.device != "cpu":
                for dtype in (args.dtype or "fp32").split(","):
                    for fusion in (args.fusion or "all").split(","):
                        rows.append(start_on_gpu(size, context, args.mode, dtype, fusion, args.device, args.runs))
                        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
                continue
            rows.append(compile_size(size, context, args.mode, args.runs, Path(folder)))
            if args.arch:
                rows[-1] |= compile_for_gpu(size, context, args.mode, args.arch, args.runs, Path(folder))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    record = make_record(rows, context, args.mode, args.runs, args.device != "cpu", head)
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

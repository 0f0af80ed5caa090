#!/usr/bin/env python3
"""Measures how long a step takes to compile, by size: a training step or, with `--mode`, a forward pass or gradients.

For the CPU: through planned exec IR, and the kernels separately. For GPUs (`--arch`): everything in one process, with
an empty and a filled cache. On a GPU (`--device cuda`): until the step can run, including loading kernels, tuning GEMMs
and capturing the step; `--dtype` and `--fusion` are those of cs336-bench model. A filled cache contains executables,
cubins and the GEMM tuning.

PATH=build/dev/bin:$PATH python3 benchmarks/compile_time.py --sizes 2.7B --arch sm_90a --output DIR/compile-time
PATH=build/dev/bin:$PATH python3 benchmarks/compile_time.py --device cuda --dtype bf16 --fusion none,all
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

from record import describe, origin, write
from requirements import require_tools


def measure(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Return wall-clock seconds and peak MiB of a run."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {shlex.join(command)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def compile_size(size: str, mode: str, runs: int, folder: Path) -> dict[str, object]:
    """Return medians over runs for one size, context 256."""
    model, planned, executable = (str(folder / name) for name in ("model.mlir", "planned.mlir", "step.cs336x"))
    steps = {
        "import": ["cs336-translate", "--import-transformer", "--size", size, "--mode", mode, "-o", model],
        "plan": ["cs336-opt", model, "--cs336-pipeline", "-o", planned],
        "kernels": ["cs336-translate", "--emit-executable", planned, "-o", executable],
    }
    cell: dict[str, object] = {"size": size}
    for name, command in steps.items():
        # Compile kernels instead of reading the cache.
        command += ["--no-cache"] if name == "kernels" else []
        results = [measure(command) for _ in range(runs)]
        cell[f"{name}_s"] = statistics.median(seconds for seconds, _ in results)
        cell[f"{name}_mib"] = max(mebibytes for _, mebibytes in results)
    cell["kernels"] = Path(planned).read_text().count("exec.kernel @")
    cell["executable_kib"] = Path(executable).stat().st_size / 1024
    return cell


def compile_for_gpu(size: str, mode: str, architecture: str, runs: int, folder: Path) -> dict[str, object]:
    """Return medians over runs of whole processes, from IR to an executable, without a cache and then with it."""
    model, executable = str(folder / "model.mlir"), folder / "step.cs336x"
    measure(["cs336-translate", "--import-transformer", "--size", size, "--mode", mode, "-o", model])
    command = ["cs336-translate", "--emit-executable", "--device", "cuda", "--arch", architecture]
    command += [model, "-o", str(executable)]
    seconds: dict[str, list[float]] = {"cold": [], "warm": []}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                seconds[state].append(measure(command, os.environ | {"CS336_CACHE_DIR": cache})[0])
            kernels = len(list(Path(cache).glob("cubins/llvmcache-?*")))
    return {
        "gpu_cold_s": statistics.median(seconds["cold"]),
        "gpu_warm_s": statistics.median(seconds["warm"]),
        "gpu_cubins": kernels,
        "gpu_executable_kib": executable.stat().st_size / 1024,
    }


def start_on_gpu(size: str, mode: str, dtype: str, fusion: str, device: str, runs: int) -> dict[str, object]:
    """Return medians over runs of cs336-bench's compile and load times. Each run starts without a cache, then has it.

    A size that does not fit into the GPU's memory has no times.
    """
    command = ["cs336-bench", "model", "--size", size, "--mode", mode, "--device", device]
    command += ["--dtype", dtype, "--fusion", fusion]
    command += ["--steps", "1", "--warmup", "0", "--no-mfu", "--format", "json"]
    seconds: dict[str, list[float]] = {}
    row: dict[str, object] = {}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold", "warm"):
                environment = os.environ | {"CS336_CACHE_DIR": cache}
                run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
                if run.returncode != 0:
                    sys.exit(f"failed: {shlex.join(command)}")
                (row,) = json.loads(run.stdout)["results"]
                for part in ("compile", "load"):
                    if row["load_seconds"] is not None:
                        seconds.setdefault(f"{state}_{part}_s", []).append(row[f"{part}_seconds"])
    cell = {"size": size, "dtype": dtype, "fusion": fusion, "layers": row["num_layers"]}
    cell |= {"kernels": row["distinct_kernels"], "status": row["status"]}
    return cell | {name: statistics.median(values) for name, values in seconds.items()}


# Descriptions of the functions that --mode compiles.
MODES = {"train": "a training step", "forward_backward": "a loss and its gradients", "forward": "a forward pass"}


def processes(runs: int, kind: str) -> str:
    """Return the start of a sentence on the measured runs."""
    return f"One {kind} each" if runs == 1 else f"Medians of {runs} {kind}es"


def start_markdown(record: dict[str, object]) -> list[str]:
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
    for cell in record["cells"]:
        times = []
        for state in ("cold", "warm"):
            if f"{state}_load_s" not in cell:
                times += ["out of memory", ""]
                continue
            parts = [cell[f"{state}_{part}_s"] for part in ("compile", "load")]
            times += [" + ".join(f"{part:.2f}" for part in parts), f"{sum(parts):.2f}"]
        model = [cell[key] for key in ("size", "layers", "dtype", "fusion", "kernels")]
        lines.append(f"| {' | '.join(map(str, model))} | " + " | ".join(times) + " |")
    return lines


def gpu_markdown(record: dict[str, object]) -> list[str]:
    """Return the part of the page about GPUs, empty if they were not measured."""
    cells = [cell for cell in record["cells"] if "gpu_cold_s" in cell]
    if not cells:
        return []
    lines = [
        "",
        f"From IR to an executable for {record['architecture']}, in one process:",
        "",
        "| size | empty cache (s) | filled cache (s) | cubins | executable (KiB) |",
        "|---|---|---|---|---|",
    ]
    return lines + [
        f"| {cell['size']} | {cell['gpu_cold_s']:.2f} | {cell['gpu_warm_s']:.2f} | {cell['gpu_cubins']} "
        f"| {cell['gpu_executable_kib']:.0f} |"
        for cell in cells
    ]


def cpu_markdown(record: dict[str, object]) -> list[str]:
    """Return the part of the page about the CPU."""
    lines = [
        f"{processes(record['runs'], 'whole process')}.",
        "",
        "| size | config to IR (s) | IR to planned IR (s) | peak (MiB) | kernels compiled (s) | distinct kernels |",
        "|---|---|---|---|---|---|",
    ]
    for cell in record["cells"]:
        lines.append(
            f"| {cell['size']} | {cell['import_s']:.2f} | {cell['plan_s']:.2f} | {cell['plan_mib']:.0f} "
            f"| {cell['kernels_s']:.2f} | {cell['kernels']} |"
        )
    return lines


def markdown(record: dict[str, object]) -> str:
    """Return the record as a page."""
    lines = [
        f"# Compiling {MODES[record['mode']]}",
        "",
        f"{origin(record)} Context 256, batch 4.",
        "",
        f"    {record['command']}",
        "",
    ]
    on_gpu = record["device"] != "cpu"
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
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    args = arguments.parse_args()
    if args.arch and args.device != "cpu":
        arguments.error("--arch conflicts with --device, which measures compiling for the GPU that it names")
    if (args.dtype or args.fusion) and args.device == "cpu":
        arguments.error("--dtype and --fusion require --device cuda")
    require_tools(*(("cs336-translate", "cs336-opt") if args.device == "cpu" else ("cs336-bench",)))
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for size in args.sizes.split(","):
            if args.device != "cpu":
                for dtype in (args.dtype or "fp32").split(","):
                    for fusion in (args.fusion or "all").split(","):
                        cells.append(start_on_gpu(size, args.mode, dtype, fusion, args.device, args.runs))
                        print(json.dumps(cells[-1]), file=sys.stderr, flush=True)
                continue
            cells.append(compile_size(size, args.mode, args.runs, Path(folder)))
            if args.arch:
                cells[-1] |= compile_for_gpu(size, args.mode, args.arch, args.runs, Path(folder))
            print(json.dumps(cells[-1]), file=sys.stderr, flush=True)
    record = describe(sys.argv) | {"device": args.device, "architecture": args.arch, "mode": args.mode}
    record |= {"runs": args.runs, "cells": cells}
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

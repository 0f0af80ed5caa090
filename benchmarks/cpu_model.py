#!/usr/bin/env python3
"""Training and forward steps on the CPU, beside eager PyTorch on the same cores, weights and tokens.

For each cell loss and gradient norm of both sides are compared first; on a mismatch no ratio is printed. PYTHON is an
interpreter that has torch and safetensors.

PYTHONPATH=build/release/python python3 benchmarks/cpu_model.py --sizes small --peer-python PYTHON --output DIR/model
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import cs336
import numpy as np
from record import describe, write

PEER = Path(__file__).parent / "peers" / "torch_model.py"
TOLERANCE = 1e-4  # Relative, of loss and gradient norm: float32 sums in two orders.

Cell = dict[str, object]


def random_batch(config: cs336.TransformerConfig) -> dict[str, np.ndarray]:
    """Tokens and targets, the same in every run."""
    random = np.random.default_rng(0)
    shape = (config.batch_size, config.context_length)
    return {name: random.integers(0, config.vocab_size, shape) for name in ("tokens", "targets")}


def statistics_of(times: list[float]) -> dict[str, float]:
    """In ms, over the steps; std is the population's."""
    return {
        "mean_ms": statistics.fmean(times),
        "std_ms": statistics.pstdev(times),
        "median_ms": statistics.median(times),
        "min_ms": min(times),
    }


def check_values(config: cs336.TransformerConfig, folder: Path, batch: dict[str, np.ndarray]) -> dict[str, float]:
    """Loss and gradient norm of our side; leaves its parameters and the batch in `folder` for the peer."""
    session = cs336.Session(cs336.compile(cs336.build(config, "forward_backward")))
    session.initialize(seed=0)
    session.save(folder / "params.safetensors", parameters_only=True)
    np.savez(folder / "batch.npz", **batch)
    (folder / "config.json").write_text(json.dumps(asdict(config)))
    outputs = session.run("forward_backward", batch)
    loss = outputs.pop("loss")
    squares = sum(float(np.vdot(g.astype(np.float64), g.astype(np.float64))) for g in outputs.values())
    return {"loss": float(loss), "grad_norm": math.sqrt(squares)}


def time_ours(
    config: cs336.TransformerConfig, mode: str, batch: dict[str, np.ndarray], args: argparse.Namespace
) -> Cell:
    """Compile time, first loss and step times of our side."""
    start = time.perf_counter()
    executable = cs336.compile(cs336.build(config, mode))
    compile_s = time.perf_counter() - start
    session = cs336.Session(executable, num_threads=args.threads)
    session.initialize(seed=0)
    inputs = {name: batch[name] for name in executable.inputs(mode)}
    times = []
    first: dict[str, np.ndarray] = {}
    for step in range(args.warmup + args.steps):
        start = time.perf_counter()
        outputs = session.run(mode, inputs)
        if step == 0:
            first = outputs
        if step >= args.warmup:
            times.append(1e3 * (time.perf_counter() - start))
    loss = {"loss": float(first["loss"])} if "loss" in first else {}
    return {"compile_s": compile_s, **loss, **statistics_of(times)}


def time_peer(folder: Path, mode: str, args: argparse.Namespace) -> Cell:
    """The peer's JSON."""
    command = [args.peer_python, str(PEER), "--mode", mode, "--warmup", str(args.warmup), "--steps", str(args.steps)]
    command += ["--threads", str(args.threads)]
    for name in ("config.json", "params.safetensors", "batch.npz"):
        command += ["--" + name.split(".")[0], str(folder / name)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def agrees(ours: dict[str, float], peer: Cell) -> bool:
    """Whether loss and gradient norm are the peer's."""
    return all(math.isclose(ours[name], float(peer[name]), rel_tol=TOLERANCE) for name in ("loss", "grad_norm"))


def measure(size: str, context: int, mode: str, args: argparse.Namespace) -> Cell:
    """One cell of the table."""
    config = cs336.TransformerConfig.named(size, context_length=context, batch_size=args.batch)
    batch = random_batch(config)
    cell: Cell = {"size": size, "context": context, "batch": args.batch, "mode": mode}
    with tempfile.TemporaryDirectory() as folder:
        values = check_values(config, Path(folder), batch)
        cell["ours"] = time_ours(config, mode, batch, args)
        if args.peer_python:
            peer = time_peer(Path(folder), mode, args)
            cell["peer"] = peer
            cell["loss_difference"] = abs(values["loss"] - float(peer["loss"])) / abs(values["loss"])
            cell["grad_norm_difference"] = abs(values["grad_norm"] - float(peer["grad_norm"])) / values["grad_norm"]
            if agrees(values, peer):
                cell["speedup"] = float(peer["median_ms"]) / cell["ours"]["median_ms"]
    return cell


def markdown(record: dict[str, object]) -> str:
    """The record as a page."""
    lines = [
        "# Steps on the CPU, float32",
        "",
        f"{record['date']}, commit {record['commit']}, {record['machine']}. Medians in ms.",
        "",
        f"    {record['command']}",
        "",
        "| size | context | mode | ours | PyTorch eager | ratio | loss differs by | gradient norm differs by "
        "| compile s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in record["cells"]:
        ours, peer = cell["ours"], cell.get("peer")
        columns = [cell["size"], cell["context"], cell["mode"], f"{ours['median_ms']:.1f}"]
        columns += [f"{peer['median_ms']:.1f}" if peer else "not measured"]
        columns += [f"{cell['speedup']:.2f}" if "speedup" in cell else "mismatch" if peer else ""]
        columns += [f"{cell['loss_difference']:.1e}", f"{cell['grad_norm_difference']:.1e}"] if peer else ["", ""]
        columns += [f"{ours['compile_s']:.2f}"]
        lines.append("| " + " | ".join(map(str, columns)) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sizes", default="tiny", help="comma-separated")
    arguments.add_argument("--context", default="128", help="comma-separated")
    arguments.add_argument("--modes", default="forward,train", help="comma-separated: forward, forward_backward, train")
    arguments.add_argument("--batch", type=int, default=4)
    arguments.add_argument("--warmup", type=int, default=2)
    arguments.add_argument("--steps", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=0, help="0: each side's own choice")
    arguments.add_argument("--peer-python", help="an interpreter that has torch and safetensors; without it no peer")
    arguments.add_argument("--output", type=Path, help="writes OUTPUT.json and OUTPUT.md")
    args = arguments.parse_args()

    cells = []
    for size in args.sizes.split(","):
        for context in map(int, args.context.split(",")):
            for mode in args.modes.split(","):
                cells.append(measure(size, context, mode, args))
                print(json.dumps(cells[-1]), file=sys.stderr, flush=True)
    argv = ["PYTHON" if word == args.peer_python else word for word in sys.argv]
    record = describe(argv) | {"cells": cells}
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

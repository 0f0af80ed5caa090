#!/usr/bin/env python3
"""Trains a model on text twice, here and in PyTorch, from the same parameters on the same batches, and compares losses.

TEXT is a folder of `examples/prepare_text.py`. Every batch is drawn once, at random, before either side starts.

PYTHONPATH=build/release/python python3 benchmarks/training_curve.py TEXT --size small --steps 200 --output DIR/curve
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import cs336
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from record import describe, write

PEER = Path(__file__).parent / "peers" / "torch_model.py"
Batches = dict[str, NDArray[np.int64]]


def draw_batches(tokens: NDArray[np.uint16], config: cs336.TransformerConfig, steps: int, seed: int) -> Batches:
    """`tokens` and `targets`: [steps, batch, context]."""
    random = np.random.default_rng(seed)
    starts = random.integers(0, len(tokens) - config.context_length, (steps, config.batch_size))
    rows = np.stack([[tokens[s : s + config.context_length + 1] for s in step] for step in starts]).astype(np.int64)
    return {"tokens": rows[..., :-1], "targets": rows[..., 1:]}


def train_ours(session: cs336.Session, batches: Batches) -> list[float]:
    """The loss of every step."""
    steps = zip(batches["tokens"], batches["targets"], strict=True)
    return [float(session.run("train", {"tokens": t, "targets": y})["loss"]) for t, y in steps]


def train_peer(job: dict[str, object], python: str) -> list[float]:
    """The loss of every step."""
    command = [python, str(PEER)]
    run = subprocess.run(command, check=True, input=json.dumps(job), stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout)["losses"]


def plot(ours: list[float], peer: list[float], path: Path) -> None:
    """Both curves above their difference, as SVG."""
    figure, (curves, difference) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, height_ratios=[3, 1])
    curves.plot(peer, color="0.7", linewidth=4, label="PyTorch")
    curves.plot(ours, linewidth=1, label="cs336-opt")
    curves.set(ylabel="loss (nats a token)")
    curves.legend()
    difference.plot(np.subtract(ours, peer))
    difference.set(xlabel="step", ylabel="difference")
    figure.savefig(path, bbox_inches="tight")


def markdown(record: dict[str, object], picture: str) -> str:
    """The record as a page."""
    lines = [
        "# Training beside PyTorch",
        "",
        f"{record['date']}, commit {record['commit']}, {record['machine']}.",
        "",
        f"    {record['command']}",
        "",
        f"Same parameters, same batches of the text, AdamW, {record['dtype']}. Relatively, the losses of the first 10 "
        f"steps differ by at most {record['first_10_difference']:.1e}, those of all {record['steps']} by at most "
        f"{record['difference']:.1e}.",
        "",
        f"![Loss by step]({picture})",
        "",
        "| step | cs336-opt | PyTorch |",
        "|---|---|---|",
    ]
    for step in sorted({*range(10), *range(0, record["steps"], 20), record["steps"] - 1}):
        lines.append(f"| {step + 1} | {record['ours'][step]:.6f} | {record['peer'][step]:.6f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("text", type=Path, help="folder of prepare_text.py")
    arguments.add_argument("--size", default="small")
    arguments.add_argument("--context", type=int, default=256)
    arguments.add_argument("--batch", type=int, default=4)
    arguments.add_argument("--steps", type=int, default=200)
    arguments.add_argument("--lr", type=float, default=3e-4)
    arguments.add_argument("--dtype", default="fp32", choices=["fp32", "tf32", "bf16", "fp16"])
    arguments.add_argument("--device", default="cpu", help="of both sides: cpu or cuda")
    arguments.add_argument("--seed", type=int, default=0, help="of parameters and batches")
    arguments.add_argument("--peer-python", default="python3", help="an interpreter that has torch and safetensors")
    arguments.add_argument("--output", type=Path, required=True, help="writes OUTPUT.json, OUTPUT.md and OUTPUT.svg")
    args = arguments.parse_args()

    vocab_size = json.loads((args.text / "meta.json").read_text())["vocab_size"]
    shape = {"vocab_size": vocab_size, "context_length": args.context, "batch_size": args.batch}
    config = cs336.TransformerConfig.named(args.size, **shape)
    batches = draw_batches(np.memmap(args.text / "train.bin", "<u2", "r"), config, args.steps, args.seed)
    module = cs336.build(config, "train", optimizer=cs336.Optimizer(lr=args.lr))
    executable = cs336.compile(module, dtype=args.dtype, device=args.device)
    with tempfile.TemporaryDirectory() as folder:
        session = cs336.Session(executable, device=args.device)
        session.initialize(args.seed)
        parameters, batch = Path(folder) / "params.safetensors", Path(folder) / "batch.npz"
        session.save(parameters, parameters_only=True)
        np.savez(batch, **batches)
        ours = train_ours(session, batches)
        del session
        job = {"config": asdict(config), "params": str(parameters), "batch": str(batch), "mode": "curve", "lr": args.lr}
        job |= {"dtype": args.dtype, "device": args.device, "variant": "eager", "threads": 0}
        peer = train_peer(job, args.peer_python)

    relative = np.abs(np.subtract(ours, peer)) / np.abs(peer)
    record = describe(sys.argv) | {
        "size": args.size,
        "dtype": args.dtype,
        "steps": args.steps,
        "ours": ours,
        "peer": peer,
    }
    record |= {"first_10_difference": float(relative[:10].max()), "difference": float(relative.max())}
    picture = args.output.with_suffix(".svg")
    picture.parent.mkdir(parents=True, exist_ok=True)
    plot(ours, peer, picture)
    write(record, markdown(record, picture.name), args.output)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Trains a model on text with this project and with PyTorch, from the same seeds, and compares the losses.

TEXT is a folder written by `examples/prepare_text.py`. A seed determines the initial parameters and the order of the
batches, on both sides. PyTorch's seeds show how far apart runs of one program end, and so how close ours must be.

PYTHONPATH=build/dev/python python3 benchmarks/training_curve.py TEXT --device cuda --output DIR/curve
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from document import Column, describe_device, make_document, results, settings
from record import describe, write
from requirements import load, read_input, require, require_device, require_python

cs336, np, curve_report = load("cs336"), load("numpy"), load("curve_report")

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Batches = dict[str, NDArray[np.int64]]

PEER = Path(__file__).parent / "peers" / "torch_model.py"
TYPES = ["fp32", "tf32", "bf16", "fp16"]
Run = dict[str, object]

# The measurements of a run, on both sides.
MEASURED = ("losses", "held_out", "seconds")
COLUMNS = [
    *settings(side="side", dtype="type", seed="seed"),
    *results(steps="steps", held_out_loss="held-out loss", seconds="time of the steps"),
    *results(torch="PyTorch"),
    Column("losses", "training loss of each step", "data"),
    Column("held_out", "steps and held-out loss", "data"),
]


def gather(tokens: NDArray[np.uint16], starts: NDArray[np.int64], context: int) -> Batches:
    """Return `tokens` and `targets`, [steps, batch, context], of sequences that start at `starts`: [steps, batch]."""
    rows = np.stack([[tokens[s : s + context + 1] for s in step] for step in starts]).astype(np.int64)
    return {"tokens": rows[..., :-1], "targets": rows[..., 1:]}


def draw_batches(tokens: NDArray[np.uint16], config: cs336.TransformerConfig, steps: int, seed: int) -> Batches:
    """Draw sequences at random positions."""
    last = len(tokens) - config.context_length - 1
    starts = np.random.default_rng(seed).integers(0, last + 1, (steps, config.batch_size))
    return gather(tokens, starts, config.context_length)


def held_out_batches(tokens: NDArray[np.uint16], config: cs336.TransformerConfig, batches: int) -> Batches:
    """Return sequences spread evenly over the text, which overlap only if it is too short."""
    last = len(tokens) - config.context_length - 1
    starts = np.linspace(0, last, batches * config.batch_size).astype(np.int64).reshape(batches, -1)
    return gather(tokens, starts, config.context_length)


@dataclass(frozen=True)
class Plan:
    """The settings of all runs. `folder` contains `SEED.safetensors`, `SEED.npz` and `held_out.npz`."""

    config: cs336.TransformerConfig
    optimizer: cs336.Optimizer
    folder: Path
    held_out: Batches
    held_out_every: int
    device: str


def mean_loss(session: cs336.Session, batches: Batches) -> float:
    """Return the mean loss over all batches."""
    pairs = zip(batches["tokens"], batches["targets"], strict=True)
    return float(np.mean([session.run("loss", {"tokens": t, "targets": y})["loss"] for t, y in pairs], dtype=float))


def train_ours(plan: Plan, session: cs336.Session, seed: int) -> Run:
    """Return the losses of every step, held-out losses with the steps done before, and the seconds of the steps."""
    session.initialize(seed)
    session.load(plan.folder / f"{seed}.safetensors", parameters_only=True)
    batches = np.load(plan.folder / f"{seed}.npz")
    steps = list(zip(batches["tokens"], batches["targets"], strict=True))
    losses, held_out, seconds = [], [(0, mean_loss(session, plan.held_out))], 0.0
    for begin in range(0, len(steps), plan.held_out_every):
        start = time.perf_counter()
        for tokens, targets in steps[begin : begin + plan.held_out_every]:
            losses.append(float(session.run("train", {"tokens": tokens, "targets": targets})["loss"]))
        seconds += time.perf_counter() - start
        held_out.append((len(losses), mean_loss(session, plan.held_out)))
    return {"losses": losses, "held_out": held_out, "seconds": seconds}


def run_ours(plan: Plan, dtypes: list[str], seeds: int) -> list[Run]:
    """Run every type and seed. Write the parameters that all runs of a seed start from."""
    module = cs336.build(plan.config, "train", optimizer=plan.optimizer)
    runs: list[Run] = []
    for dtype in dtypes:
        executable = cs336.compile(module, dtype=dtype, device=plan.device)
        session = cs336.Session(executable, device=plan.device)
        for seed in range(seeds):
            parameters = plan.folder / f"{seed}.safetensors"
            if not parameters.exists():
                session.initialize(seed)
                session.save(parameters, parameters_only=True)
            runs.append({"side": "cs336-opt", "dtype": dtype, "seed": seed} | train_ours(plan, session, seed))
            report(runs[-1])
        del session  # Free its memory before the next one.
    return runs


def run_peer(plan: Plan, dtypes: list[str], seeds: int, variant: str, python: str) -> list[Run]:
    """Run the same types and seeds in PyTorch, in one process."""
    runs: list[Run] = []
    base = {"config": asdict(plan.config), "optimizer": asdict(plan.optimizer), "mode": "curve", "variant": variant}
    base |= {"held_out": str(plan.folder / "held_out.npz"), "held_out_every": plan.held_out_every}
    base |= {"device": plan.device, "threads": 0}
    with subprocess.Popen([python, str(PEER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        for dtype in dtypes:
            for seed in range(seeds):
                files = {"params": f"{plan.folder}/{seed}.safetensors", "batch": f"{plan.folder}/{seed}.npz"}
                peer.stdin.write(json.dumps(base | files | {"dtype": dtype}) + "\n")
                peer.stdin.flush()
                answer = json.loads(peer.stdout.readline() or '{"error": "PyTorch ended without an answer"}')
                if "error" in answer:
                    sys.exit(f"PyTorch, {dtype}, seed {seed}: {answer['error']}")
                runs.append({"side": "PyTorch", "dtype": dtype, "seed": seed})
                runs[-1] |= {key: answer[key] for key in MEASURED} | {"torch": answer.get("torch")}
                report(runs[-1])
        peer.stdin.close()
    return runs


def make_record(runs: list[Run], head: dict[str, object]) -> dict[str, object]:
    """Return the document, with a row per run, and the comparisons of both sides as members."""
    rows = [run | {"steps": len(run["losses"]), "held_out_loss": run["held_out"][-1][1]} for run in runs]
    compared = {"comparisons": curve_report.compare(runs), "pairs": curve_report.pair(runs)}
    return make_document("training_curve", COLUMNS, rows, head) | compared


def report(run: Run) -> None:
    """Print a line of progress."""
    print(
        f"{run['side']}, {run['dtype']}, seed {run['seed']}: held-out loss {run['held_out'][-1][1]:.4f} after "
        f"{len(run['losses'])} steps in {run['seconds']:.1f} s",
        file=sys.stderr,
        flush=True,
    )


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""

    def types(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(TYPES):
            raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))} is not one of {', '.join(TYPES)}")
        return text.split(",")

    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("text", type=Path, help="folder written by prepare_text.py")
    arguments.add_argument("--size", default="small", help="a named size, or a model's JSON description")
    arguments.add_argument("--context", type=int, default=256)
    arguments.add_argument("--batch", type=int, default=4)
    arguments.add_argument("--steps", type=int, default=2000)
    arguments.add_argument("--lr", type=float, default=3e-4, help="highest learning rate")
    arguments.add_argument("--min-lr", type=float, default=3e-5, help="learning rate at the end of the cosine")
    arguments.add_argument("--warmup-steps", type=int, default=100, help="steps of linear warm-up")
    arguments.add_argument(
        "--lr-steps", type=int, help="step at which the cosine ends; 0 for no cosine (default: --steps)"
    )
    arguments.add_argument("--max-norm", type=float, default=1.0, help="gradient clipping; 0 for none")
    arguments.add_argument("--dtype", type=types, default=["bf16", "fp16"], help="our types, comma-separated")
    arguments.add_argument("--peer-dtype", type=types, default=["bf16"], help="PyTorch's types, comma-separated")
    arguments.add_argument("--peer-variant", default="compile", help="as in cs336-bench model --peer torch:VARIANT")
    arguments.add_argument("--seeds", type=int, default=3, help="runs per side and type")
    arguments.add_argument("--held-out-every", type=int, default=100, help="steps between held-out losses")
    arguments.add_argument("--held-out-batches", type=int, default=40)
    arguments.add_argument("--device", help="for both sides (default: cuda on a machine with a GPU, else cpu)")
    arguments.add_argument("--peer-python", default="python3", help="an interpreter with torch and safetensors")
    arguments.add_argument("--output", type=Path, required=True, help="write OUTPUT.json, OUTPUT.md and OUTPUT.svg")
    args = arguments.parse_args()
    for name in ("steps", "seeds", "held_out_every", "held_out_batches"):
        if getattr(args, name) < 1:
            arguments.error(f"--{name.replace('_', '-')} must be at least 1")
    return args


def main() -> None:
    args = parse_arguments()
    require(cs336, np, curve_report)
    require_python(args.peer_python, "torch", "safetensors")
    args.device = args.device or cs336.best_device()
    require_device(cs336, args.device)
    head = describe(sys.argv) | describe_device(args.device)
    meta = json.loads(read_input(args.text / "meta.json", "examples/prepare_text.py"))
    shape = {"vocab_size": meta["vocab_size"], "context_length": args.context, "batch_size": args.batch}
    optimizer = cs336.Optimizer(
        lr=args.lr,
        min_lr=args.min_lr,
        warmup_steps=args.warmup_steps,
        cosine_steps=args.steps if args.lr_steps is None else args.lr_steps,
        max_norm=args.max_norm,
    )
    size = json.loads(args.size) if args.size.startswith("{") else {"size": args.size}
    config = cs336.TransformerConfig.from_json(json.dumps(size | shape))
    train, held_out = (np.memmap(args.text / f"{part}.bin", "<u2", "r") for part in ("train", "held_out"))
    with tempfile.TemporaryDirectory() as folder:
        held = held_out_batches(held_out, config, args.held_out_batches)
        plan = Plan(config, optimizer, Path(folder), held, args.held_out_every, args.device)
        np.savez(plan.folder / "held_out.npz", **held)
        for seed in range(args.seeds):
            np.savez(plan.folder / f"{seed}.npz", **draw_batches(train, config, args.steps, seed))
        runs = run_ours(plan, args.dtype, args.seeds)
        runs += run_peer(plan, args.peer_dtype, args.seeds, args.peer_variant, args.peer_python)

    drawn = {"drawn_tokens": args.steps * args.batch * args.context, "evaluated_tokens": held["tokens"].size}
    head |= {"model": asdict(config), "optimizer": asdict(optimizer), "text": meta | drawn}
    record = make_record(runs, head | {"steps": args.steps, "variant": args.peer_variant})
    args.output.parent.mkdir(parents=True, exist_ok=True)
    picture = args.output.with_name(args.output.name + ".svg")
    curve_report.plot(runs, picture)
    write(record, curve_report.markdown(record, picture.name), args.output)


if __name__ == "__main__":
    main()

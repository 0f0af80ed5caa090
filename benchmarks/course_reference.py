#!/usr/bin/env python3
"""Compares our training steps with the course's reference model in PyTorch, from the same parameters, on one batch.

The reference is the code that the course gives to its students: model, loss and AdamW of the package cs336_basics, in
the repository of an assignment (stanford-cs336/assignment2-systems). It runs eagerly, and with its model compiled by
torch.compile. Ratios are printed only if the losses of the first steps agree. A loss depends on all updates before it,
so equal losses also check the gradients and the optimizer: each step learns more of the batch. The learning rate is
small: at 1e-3 without warm-up, rounding alone separates the reference's own two variants by 1.2 % in ten steps.

PYTHONPATH=build/dev/python python3 benchmarks/course_reference.py --course DIR/cs336-basics --output DIR/course
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from document import Column, describe_device, make_document, median, settings
from record import describe, origin, write
from requirements import load, need, require, require_device

cs336, np = load("cs336"), load("numpy")

# Steps whose losses are compared.
COMPARED = 10
# The relative difference that two losses may have: as much as rounding one of them to bf16 can change it.
TOLERANCE = 2.0**-8
VARIANTS = {"course": "eager", "course-compiled": "torch.compile"}


def variant_columns(variant: str, title: str) -> list[Column]:
    """Return the columns of a variant of the course's step."""
    key = f"torch_{variant}"
    return [
        Column(f"{key}_losses", f"{title}: losses of the first steps", "data"),
        Column(f"{key}_difference", f"{title}: difference of losses"),
        *median(f"{key}_median_ms", f"{title}: median", f"{key}_step_ms"),
        Column(f"{key}_ratio", f"{title}: ratio"),
    ]


COLUMNS = [
    *settings(size="size", mode="mode", dtype="type", fusion="fusion", batch_size="batch"),
    *settings(context_length="context", warmup="warm-up steps"),
    Column("losses", "losses of the first steps", "data"),
    *median("median_ms", "median", "step_ms"),
    *(column for variant, title in VARIANTS.items() for column in variant_columns(variant, title)),
]

Cell = dict[str, Any]
# Runs a step, waits for its end, and returns the loss before the update.
Step = Callable[[], float]


def time_steps(step: Step, warmup: int, steps: int) -> tuple[list[float], list[float]]:
    """Run steps: the first `COMPARED` for their losses, then those to warm up and to time.

    Returns
    -------
    tuple
        The losses of the first steps, and the milliseconds of each timed step.
    """
    losses = [step() for _ in range(COMPARED)]
    for _ in range(warmup):
        step()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return losses, times


def make_batch(config: cs336.TransformerConfig) -> dict[str, np.ndarray]:
    """Return random tokens and targets: [batch, positions] each. All steps use this one batch."""
    random = np.random.default_rng(0)
    shape = (config.batch_size, config.context_length)
    return {name: random.integers(0, config.vocab_size, shape) for name in ("tokens", "targets")}


def our_step(session: cs336.Session, batch: dict[str, np.ndarray]) -> Step:
    """Return a function that runs one step of a session with the entry `train`."""
    return lambda: float(session.run("train", batch, outputs=["loss"])["loss"])


def course_step(
    config: cs336.TransformerConfig,
    optimizer: cs336.Optimizer,
    parameters: dict[str, np.ndarray],
    batch: dict[str, np.ndarray],
    args: argparse.Namespace,
    compiled: bool,
) -> Step:
    """Return a function that runs one step of the course's code, from given parameters."""
    torch = need("torch")
    from cs336_basics.model import BasicsTransformerLM
    from cs336_basics.nn_utils import cross_entropy
    from cs336_basics.optimizer import AdamW

    names = ("vocab_size", "context_length", "d_model", "num_layers", "num_heads", "d_ff", "rope_theta")
    model = BasicsTransformerLM(**{name: value for name, value in asdict(config).items() if name in names})
    model.load_state_dict({name: torch.from_numpy(value) for name, value in parameters.items()})
    model.to(args.device)
    forward = torch.compile(model) if compiled else model
    settings = {name: getattr(optimizer, name) for name in ("lr", "eps", "weight_decay")}
    adamw = AdamW(model.parameters(), betas=(optimizer.beta1, optimizer.beta2), **settings)
    tokens, targets = (torch.from_numpy(batch[name]).to(args.device) for name in ("tokens", "targets"))
    low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(args.dtype)
    torch.set_float32_matmul_precision("highest" if args.dtype == "fp32" else "high")

    def step() -> float:
        adamw.zero_grad(set_to_none=True)
        with torch.autocast(args.device, dtype=low) if low else contextlib.nullcontext():
            loss = cross_entropy(forward(tokens), targets)
        loss.backward()
        adamw.step()
        value = loss.item()
        # The loss is available before the update is complete.
        if args.device == "cuda":
            torch.cuda.synchronize()
        return value

    return step


def measure(args: argparse.Namespace) -> Cell:
    """Measure our step and both variants of the course's step, one after the other."""
    config = cs336.TransformerConfig.named(args.size, context_length=args.context, batch_size=args.batch)
    # The form of the optimizer in the course's code.
    optimizer = cs336.Optimizer(form="cs336_2026", lr=args.lr)
    batch = make_batch(config)
    executable = cs336.compile(
        cs336.build(config, mode="train", optimizer=optimizer), dtype=args.dtype, device=args.device
    )
    session = cs336.Session(executable, device=args.device)
    session.initialize(0)
    kinds = executable.variables.items()
    parameters = {name: np.array(session[name]) for name, variable in kinds if variable.kind == "parameter"}
    losses, times = time_steps(our_step(session, batch), args.warmup, args.steps)
    del session
    cell: Cell = {"size": args.size, "mode": "train", "dtype": args.dtype, "fusion": "all"}
    cell |= {"batch_size": args.batch, "context_length": args.context, "warmup": args.warmup}
    cell |= {"losses": losses, "step_ms": times, "median_ms": statistics.median(times)}
    for variant in VARIANTS:
        step = course_step(config, optimizer, parameters, batch, args, compiled=variant == "course-compiled")
        add_variant(cell, variant, *time_steps(step, args.warmup, args.steps))
    return cell


def add_variant(cell: Cell, variant: str, losses: list[float], times: list[float]) -> None:
    """Add a variant's measurements to a cell, with a ratio if its losses agree with ours."""
    difference = max(abs(ours - theirs) / abs(theirs) for ours, theirs in zip(cell["losses"], losses, strict=True))
    median = statistics.median(times)
    cell |= {f"torch_{variant}_losses": losses, f"torch_{variant}_difference": difference}
    cell |= {f"torch_{variant}_step_ms": times, f"torch_{variant}_median_ms": median}
    cell[f"torch_{variant}_ratio"] = median / cell["median_ms"] if difference <= TOLERANCE else None


def make_record(cells: list[Cell], head: dict[str, Any]) -> dict[str, Any]:
    """Return the document."""
    return make_document("course_reference", COLUMNS, cells, head)


def markdown(record: dict[str, Any]) -> str:
    """Return the record as a page."""
    lines = [
        "# Training steps beside the course's reference",
        "",
        origin(record),
        f"Medians of a step. A ratio is the reference's time over ours, if the first {COMPARED} losses agree.",
        "",
        f"    {record['command']}",
        "",
        "| size | tokens | dtype | reference | reference (ms) | cs336-opt (ms) | ratio | losses differ by |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for cell in record["results"]:
        for variant, title in VARIANTS.items():
            ratio = cell[f"torch_{variant}_ratio"]
            words = [cell["size"], f"{cell['batch_size']} × {cell['context_length']}", cell["dtype"], title]
            words += [f"{cell[f'torch_{variant}_median_ms']:.2f}", f"{cell['median_ms']:.2f}"]
            words += [f"{ratio:.2f}" if ratio else "", f"{cell[f'torch_{variant}_difference']:.1e}"]
            lines.append("| " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line, measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--course", type=Path, required=True, metavar="FOLDER", help="that has the package cs336_basics"
    )
    parser.add_argument("--size", default="small", help="named size of the model (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=4, help="sequences per step (default: %(default)s)")
    parser.add_argument("--context", type=int, default=512, help="tokens per sequence (default: %(default)s)")
    parser.add_argument("--dtype", default="bf16", help="fp32, tf32 or bf16 (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=1e-4, help="learning rate (default: %(default)s)")
    parser.add_argument("--device", default="cuda", help="cpu or cuda (default: %(default)s)")
    parser.add_argument(
        "--warmup", type=int, default=5, help="warm-up steps before the timed ones (default: %(default)s)"
    )
    parser.add_argument("--steps", type=int, default=20, help="timed steps (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    args = parser.parse_args()
    if not (args.course / "cs336_basics/model.py").is_file():
        parser.error(f"--course: there is no cs336_basics/model.py in {args.course}")
    require(cs336, np)
    need("torch")
    require_device(cs336, args.device)
    sys.path.insert(0, str(args.course))
    head = describe(sys.argv) | describe_device(args.device)
    record = make_record([measure(args)], head)
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

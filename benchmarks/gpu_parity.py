#!/usr/bin/env python3
"""Compares the logits and every gradient of a model on a GPU with PyTorch's, from the same parameters and tokens.

The reference is PyTorch in full float32. PyTorch in the same type as ours is shown beside it, which separates the error
of the type from ours. Errors are ‖x − reference‖₂ / ‖reference‖₂; "worst gradient" is the largest error of all
parameters. PyTorch reads our parameters in place, and our results are compared on the device.

PYTHONPATH=build/dev/python python3 benchmarks/gpu_parity.py --sizes small,2.7B --output DIR/gpu-parity
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from document import describe_device, make_document, results, settings
from record import describe, origin, write
from requirements import load, require, require_device

sys.path.insert(0, str(Path(__file__).parent / "peers"))
cs336, np, torch, torch_model = load("cs336"), load("numpy"), load("torch"), load("torch_model")

if TYPE_CHECKING:
    from torch_model import Transformer

    Tensors = dict[str, torch.Tensor]
Row = dict[str, object]

COLUMNS = [
    *settings(size="size", batch_size="batch", context_length="context", dtype="type"),
    *results(logits="logits", worst_gradient="worst gradient", worst_gradient_of="parameter of the worst gradient"),
    *results(torch_logits="PyTorch: logits", torch_worst_gradient="PyTorch: worst gradient"),
]


def relative_error(value: torch.Tensor, reference: torch.Tensor) -> float:
    """Return ‖value − reference‖₂ / ‖reference‖₂, summed in float64 in pieces that fit into memory beside the model."""
    pieces = zip(value.flatten().split(1 << 26), reference.flatten().split(1 << 26), strict=True)
    sums = [((a.double() - b.double()).square().sum(), b.double().square().sum()) for a, b in pieces]
    difference, norm = (sum(column).sqrt().item() for column in zip(*sums, strict=True))
    return difference / norm


@contextlib.contextmanager
def arithmetic(dtype: str) -> Iterator[None]:
    """Run PyTorch's matmuls in the type."""
    torch.set_float32_matmul_precision("highest" if dtype == "fp32" else "high")
    low = torch_model.AUTOCAST.get(dtype)
    with torch.autocast("cuda", dtype=low) if low else contextlib.nullcontext():
        yield
    torch.set_float32_matmul_precision("highest")


def torch_values(model: Transformer, parameters: Tensors, batch: Tensors, dtype: str) -> tuple[torch.Tensor, Tensors]:
    """Return the logits, and the gradient of every parameter."""
    for value in parameters.values():
        value.grad = None
    with arithmetic(dtype):
        with torch.no_grad():
            logits = model.logits(parameters, batch["tokens"])
        loss = model.loss(parameters, batch["tokens"], batch["targets"])
    loss.backward()
    return logits, {name: value.grad for name, value in parameters.items()}


def worst(gradients: Tensors, reference: Tensors) -> tuple[float, str]:
    """Return the largest relative error, and the name of its parameter."""
    return max((relative_error(gradients[name], reference[name]), name) for name in reference)


def measure(size: str, dtype: str, args: argparse.Namespace) -> Row:
    """Return one row of the table."""
    config = cs336.TransformerConfig.named(size, context_length=args.context, batch_size=args.batch)
    random = np.random.default_rng(0)
    shape = (config.batch_size, config.context_length)
    arrays = {name: random.integers(0, config.vocab_size, shape) for name in ("tokens", "targets")}
    batch = {name: torch.from_numpy(array).cuda() for name, array in arrays.items()}

    forward = cs336.Session(cs336.compile(cs336.build(config, "forward"), dtype=dtype, device="cuda"), device="cuda")
    forward.initialize(0)
    forward.run("forward", {"tokens": arrays["tokens"]}, outputs=())
    forward.synchronize()
    logits = torch.from_dlpack(forward.share("logits", "forward")).clone()
    torch.cuda.synchronize()
    del forward
    gc.collect()

    executable = cs336.compile(cs336.build(config, "forward_backward"), dtype=dtype, device="cuda")
    session = cs336.Session(executable, device="cuda")
    session.initialize(0)
    session.run("forward_backward", arrays, outputs=())
    session.synchronize()
    names = [name for name, variable in executable.variables.items() if variable.kind == "parameter"]
    gradients = {name: torch.from_dlpack(session.share(name, "forward_backward")) for name in names}
    parameters = {name: torch.from_dlpack(session.share(name)).detach().requires_grad_() for name in names}

    model = torch_model.Transformer(asdict(config), "eager", torch.device("cuda"))
    reference_logits, reference = torch_values(model, parameters, batch, "fp32")
    row: Row = {"size": size, "batch_size": args.batch, "context_length": args.context, "dtype": dtype}
    row["logits"] = relative_error(logits, reference_logits)
    row["worst_gradient"], row["worst_gradient_of"] = worst(gradients, reference)
    print(row, file=sys.stderr, flush=True)
    if dtype != "fp32":
        del session, gradients
        own_logits, own = torch_values(model, parameters, batch, dtype)
        row["torch_logits"] = relative_error(own_logits, reference_logits)
        row["torch_worst_gradient"], _ = worst(own, reference)
    return row


def make_record(rows: list[Row], head: Row) -> Row:
    """Return the document."""
    return make_document("gpu_parity", COLUMNS, rows, head)


def markdown(record: Row) -> str:
    """Return the record as a page."""
    lines = [
        "# Values beside PyTorch's on a GPU",
        "",
        origin(record),
        "",
        f"    {record['command']}",
        "",
        "Relative distance from PyTorch in full float32, with the same parameters and tokens, and its own in the type.",
        "",
        "| size | type | logits | worst gradient | of | PyTorch: logits | worst gradient |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in record["results"]:
        errors = [row["logits"], row["worst_gradient"]]
        own = [row["torch_logits"], row["torch_worst_gradient"]]
        texts = [f"{error:.1e}" for error in errors] + [f"`{row['worst_gradient_of']}`"]
        texts += [f"{error:.1e}" if error is not None else "" for error in own]
        lines.append("| " + " | ".join([row["size"], row["dtype"], *texts]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sizes", default="small", help="comma-separated sizes")
    arguments.add_argument("--dtypes", default="fp32,tf32", help="comma-separated: fp32, tf32, bf16, fp16")
    arguments.add_argument("--context", type=int, default=256)
    arguments.add_argument("--batch", type=int, default=4)
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    args = arguments.parse_args()
    require(cs336, np, torch, torch_model)
    require_device(cs336, "cuda")

    head = describe(sys.argv) | describe_device("cuda")
    rows = []
    for size in args.sizes.split(","):
        for dtype in args.dtypes.split(","):
            rows.append(measure(size, dtype, args))
            gc.collect()
            torch.cuda.empty_cache()
    record = make_record(rows, head)
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

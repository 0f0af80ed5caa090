#!/usr/bin/env python3
"""Compares memory-bound kernels with the bandwidth of a copy: norms, SwiGLU, softmax, cross entropy, AdamW.

Each kernel is a fused group of operations, compiled and run through the package, several times on different buffers so
that caches do not contain its operands. Bytes are those of operands and results, each counted once. The time is the
device's own, the median of many runs. Shares are relative to a copy of some hundred megabytes within the device: the
faster one of the driver's copy and a trivial kernel, because drivers may use a slower copy engine.

PYTHONPATH=build/dev/python python3 benchmarks/kernel_bandwidth.py --rows 16384 --output DIR/kernel-bandwidth
"""

from __future__ import annotations

import argparse
import gc
import re
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from document import describe_device, make_document, median, results, settings
from record import describe, origin, write
from requirements import load, require, require_device

sys.path.insert(0, str(Path(__file__).parents[1] / "test/Python"))
from group_builder import Group, Value

cs336, row_groups = load("cs336"), load("row_groups")

Row = dict[str, Any]

COLUMNS = [
    *settings(kernel="kernel", rows="rows", width="width"),
    *results(bytes="operands and results", copies="sets of buffers"),
    *median("time_us", "time of the kernel", "times_us"),
    *results(gb_s="bandwidth", copy_percent="of the fastest copy's bandwidth"),
]
DRIVERS_COPY = "copy by the driver"
# The kernels of which the fastest is the copy that shares refer to.
CEILINGS = (DRIVERS_COPY, "negate")


def swiglu(shape: tuple[int, int]) -> Group:
    """Compute silu(a)·b in bf16."""
    g = Group()
    a, b = g.input(shape, "bf16"), g.input(shape, "bf16")
    g.outputs = [g.pointwise("mul", g.pointwise("mul", a, g.pointwise("sigmoid", a)), b)]
    return g


def swiglu_backward(shape: tuple[int, int]) -> Group:
    """Compute the gradients with respect to a and b."""
    g = Group()
    a, b, dy = (g.input(shape, "bf16") for _ in range(3))
    sigmoid = g.pointwise("sigmoid", a)
    silu = g.pointwise("mul", a, sigmoid)
    rest = g.pointwise("mul", silu, g.pointwise("sub", g.constant(1, a), sigmoid))
    slope = g.pointwise("add", sigmoid, rest)
    g.outputs = [g.pointwise("mul", g.pointwise("mul", dy, b), slope), g.pointwise("mul", dy, silu)]
    return g


def adamw(shape: tuple[int, int], shadow: str = "") -> Group:
    """Update float32 parameters and moments: 28 bytes per element, also with `shadow`.

    If not empty, `shadow` is the type of the gradient, and of a derived weight that is written beside the parameter.
    """
    g = Group()
    tensors = [g.input(shape), g.input(shape, shadow or "f32"), g.input(shape), g.input(shape)]
    scalars = [g.input(()) for _ in range(4)]
    p, gradient, m, v = (value.name for value in tensors)
    lr, correction1, correction2, scale = (value.name for value in scalars)
    apply = g.compare("ge", scalars[0], scalars[0])
    g.lines.append(
        f"%p, %m, %v = cs336.adamw {p}, {gradient}, {m}, {v} lr = {lr}, correction1 = {correction1}, "
        f"correction2 = {correction2}, scale = {scale}, apply = {apply.name} {{beta1 = 0.9 : f64, beta2 = 0.95 : f64, "
        f"eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}} : {', '.join(t.tensor for t in tensors[:3])}, tensor<f32>"
    )
    parameter, *moments = (Value(name, shape, "f32") for name in ("%p", "%m", "%v"))
    g.outputs = [parameter, *moments, *([g.cast(parameter, shadow)] if shadow else [])]
    return g


def copy(shape: tuple[int, int]) -> Group:
    """Negate: a pointwise kernel with almost no arithmetic."""
    g = Group()
    g.outputs = [g.pointwise("neg", g.input(shape))]
    return g


@dataclass(frozen=True)
class Benchmark:
    """A kernel on a number of rows of `width` elements."""

    name: str
    width: int
    make: Callable[[tuple[int, int]], Group]


def benchmarks(width: int, d_ff: int, vocab: int) -> list[Benchmark]:
    def rows(make: Callable[..., row_groups.RowGroup], **options: object) -> Callable[[tuple[int, int]], Group]:
        return lambda shape: make(shape, **options).group

    return [
        Benchmark("negate", width, copy),
        Benchmark("RMSNorm", width, rows(row_groups.rms_norm)),
        Benchmark("residual + RMSNorm", width, rows(row_groups.rms_norm, residual="bf16", keeps_root=True)),
        Benchmark("RMSNorm dx", width, rows(row_groups.rms_norm_backward)),
        Benchmark("RMSNorm dx + residual", width, rows(row_groups.rms_norm_backward, residual=True)),
        Benchmark("RMSNorm dw", width, rows(row_groups.rms_norm_weight_gradient)),
        Benchmark("SwiGLU", d_ff, swiglu),
        Benchmark("SwiGLU backward", d_ff, swiglu_backward),
        Benchmark("softmax", 1024, rows(row_groups.softmax, dtype="bf16", scale=0.125)),
        Benchmark("softmax backward", 1024, rows(row_groups.softmax_backward, scale=0.125)),
        Benchmark("cross entropy + gradient", vocab, rows(row_groups.cross_entropy)),
        Benchmark("cross entropy + gradient, fp32", vocab, rows(row_groups.cross_entropy, dtype="f32")),
        Benchmark("AdamW", width, adamw),
        Benchmark("AdamW, bf16 gradient and shadow", width, lambda shape: adamw(shape, "bf16")),
    ]


def fill(name: str, value: Value, seed: int, largest: int = 1) -> tuple[str, str]:
    """Make numbers in [0, 1] that look random, on the device; integers up to `largest`.

    Returns the operations and the name of their result.
    """
    steps = Group()
    shape = value.shape or (1,)
    phase = steps.constant(1 + 0.37 * seed, Value("", shape, "f32"))
    for axis in range(len(shape)):
        index = steps.cast(steps.iota(axis, shape, "i32"), "f32")
        factor = steps.constant(12.9898 + 65.233 * axis, phase)
        phase = steps.pointwise("add", phase, steps.pointwise("mul", index, factor))
    wave = steps.pointwise("sin", phase)
    wave = steps.pointwise("mul", wave, wave)
    if value.dtype == "i64":
        wave = steps.pointwise("mul", wave, steps.constant(largest, wave))
    result = steps.cast(wave, value.dtype)
    if not value.shape:
        result = steps.append(
            f"reshape {result.name}", (), value.dtype, f"{result.tensor} -> {Value('', (), value.dtype).tensor}"
        )
    lines = "\n".join(re.sub(r"%(\d+)", rf"%{name}_\1", line) for line in steps.lines)
    return lines, result.name.replace("%", f"%{name}_")


def program(group: Group, copies: int) -> str:
    """Return a function that runs the group on several sets of buffers, and one that fills them."""
    filled, names, arguments, ports, calls, results = [], [], [], [], [], []
    for number in range(copies):
        operands = []
        for position, (value, _) in enumerate(group.inputs):
            name = f"x{number}_{position}"
            lines, result = fill(name, value, 31 * number + position, largest=group.inputs[0][0].shape[-1] - 1)
            port = f'{{cs336.kind = "derived", cs336.name = "{name}"}}'
            filled.append(lines)
            names.append((result, value.tensor))
            ports.append(f"{value.tensor} {port}")
            arguments.append(f"%{name}: {value.tensor} {port}")
            operands.append(f"%{name}")
        own = f"%y{number}"
        several = len(group.outputs) > 1
        calls.append(group.fused(f"{own}:{len(group.outputs)}" if several else own, ", ".join(operands)))
        for position, value in enumerate(group.outputs):
            results.append((f"{own}#{position}" if several else own, value.tensor, f"y{number}_{position}"))
    outputs = ", ".join(f'{kind} {{cs336.kind = "output", cs336.name = "{port}"}}' for _, kind, port in results)
    newline = "\n"
    return f"""
func.func @prepare() -> ({", ".join(ports)}) attributes {{cs336.mode = #cs336.mode<prepare>}} {{
{newline.join(filled)}
return {", ".join(name for name, _ in names)} : {", ".join(kind for _, kind in names)}
}}
func.func @forward({", ".join(arguments)}) -> ({outputs}) attributes {{cs336.mode = #cs336.mode<forward>}} {{
{newline.join(calls)}
return {", ".join(name for name, _, _ in results)} : {", ".join(kind for _, kind, _ in results)}
}}
"""


def measure_times(text: str, device: str, repetitions: int) -> list[float]:
    """Return the device's times of runs in seconds, without the first fifth."""
    session = cs336.Session(cs336.compile(text, device=device), device=device)
    session.initialize(0)
    times = []
    for _ in range(repetitions):
        session.run("forward", {}, outputs=())
        session.synchronize()
        times.append(session.last_run_seconds("forward"))
    del session
    gc.collect()
    return times[len(times) // 5 :]


def make_row(kernel: str, shape: tuple[int, int], num_bytes: int, copies: int, seconds: list[float]) -> Row:
    """Return a row from the times of runs, each of which runs the kernel on all sets of buffers."""
    times = [1e6 * each / copies for each in seconds]
    time = statistics.median(times)
    row = {"kernel": kernel, "rows": shape[0], "width": shape[1], "bytes": num_bytes, "copies": copies}
    return row | {"time_us": time, "times_us": times, "gb_s": num_bytes / time / 1e3}


def measure(benchmark: Benchmark, rows: int, args: argparse.Namespace) -> Row:
    """Return one row of the table."""
    shape = (rows, benchmark.width)
    group = benchmark.make(shape)
    copies = max(1, round(args.bytes / group.num_bytes))
    seconds = measure_times(program(group, copies), args.device, args.repetitions)
    row = make_row(benchmark.name, shape, group.num_bytes, copies, seconds)
    print({key: value for key, value in row.items() if key != "times_us"}, file=sys.stderr, flush=True)
    return row


def measure_copy(args: argparse.Namespace) -> Row:
    """Return the row of the device's own copy, which reads and writes each byte."""
    shape = Value("", (max(1, args.bytes // 8 // 1024), 1024), "f32")
    lines, result = fill("x", shape, 1)
    text = f"""
func.func @prepare() -> ({shape.tensor} {{cs336.kind = "derived", cs336.name = "x"}})
    attributes {{cs336.mode = #cs336.mode<prepare>}} {{
{lines}
return {result} : {shape.tensor}
}}
func.func @forward(%x: {shape.tensor} {{cs336.kind = "derived", cs336.name = "x"}})
    -> ({shape.tensor} {{cs336.kind = "output", cs336.name = "y"}}) attributes {{cs336.mode = #cs336.mode<forward>}} {{
return %x : {shape.tensor}
}}
"""
    seconds = measure_times(text, args.device, args.repetitions)
    return make_row(DRIVERS_COPY, shape.shape, 2 * shape.num_bytes, 1, seconds)


def find_ceiling(rows: list[Row]) -> float:
    """Return the GB/s of the fastest copy: the driver's, or that of the kernel that negates."""
    return max(row["gb_s"] for row in rows if row["kernel"] in CEILINGS)


def make_record(rows: list[Row], head: Row) -> Row:
    """Return the document with the share of the fastest copy in each row."""
    fastest = find_ceiling(rows)
    shares = [row | {"copy_percent": 100 * row["gb_s"] / fastest} for row in rows]
    return make_document("kernel_bandwidth", COLUMNS, shares, head)


def markdown(record: Row) -> str:
    """Return the record as a page."""
    fastest = find_ceiling(record["results"])
    (drivers,) = (row["gb_s"] for row in record["results"] if row["kernel"] == DRIVERS_COPY)
    lines = [
        "# Memory-bound kernels beside a copy",
        "",
        origin(record),
        "",
        f"    {record['command']}",
        "",
        f"The driver's copy within the device moves {drivers / 1e3:.2f} TB/s, reads and writes counted; shares are of "
        f"the fastest copy, {fastest / 1e3:.2f}. bf16, with the residual stream and the optimizer in float32.",
        "",
        "| kernel | rows | width | MB | us | TB/s | share of the copy |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in record["results"]:
        if row["kernel"] == DRIVERS_COPY:
            continue
        lines.append(
            f"| {row['kernel']} | {row['rows']} | {row['width']} | {row['bytes'] / 1e6:.1f} | {row['time_us']:.1f} | "
            f"{row['gb_s'] / 1e3:.2f} | {row['copy_percent']:.0f}% |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", default="1024,16384", help="comma-separated numbers of rows")
    arguments.add_argument("--width", type=int, default=2560, help="width of the residual stream")
    arguments.add_argument("--d-ff", type=int, default=10240)
    arguments.add_argument("--vocab", type=int, default=10000)
    arguments.add_argument("--only", default="", help="measure only kernels whose name matches this regular expression")
    arguments.add_argument(
        "--bytes", type=int, default=1 << 30, help="minimum bytes moved by a run, over several sets of buffers"
    )
    arguments.add_argument("--repetitions", type=int, default=50)
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    args = arguments.parse_args()
    require(cs336, row_groups)
    require_device(cs336, args.device)

    head = describe(sys.argv) | describe_device(args.device)
    rows = [measure_copy(args)]
    rows += [
        measure(benchmark, int(number), args)
        for number in args.rows.split(",")
        for benchmark in benchmarks(args.width, args.d_ff, args.vocab)
        if re.search(args.only, benchmark.name)
    ]
    record = make_record(rows, head)
    write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

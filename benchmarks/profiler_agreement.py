#!/usr/bin/env python3
"""Compares the times of library GEMMs by our profiler with those by PyTorch's.

The program is four linear layers, which run as GEMMs of cuBLASLt. There are three profiles: our profile of the program;
PyTorch's profile of the same program, in a session of this package; PyTorch's profile of the same GEMMs by PyTorch.
Each is made for all types in one process of its own, because CUPTI serves one profiler at a time. Requires the package
cs336, PyTorch and a GPU.

PATH=$PACKAGE/bin:$PATH PYTHONPATH=$PACKAGE/python python3 benchmarks/profiler_agreement.py --output DIR/agreement
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from document import Column, describe_device, make_document, results, settings
from record import describe, origin, write
from requirements import need, require_device

Row = dict[str, Any]

# Rows, inner size and columns of each GEMM.
SHAPES = ((4096, 1280, 5120), (4096, 5120, 1280), (4096, 1280, 1280), (4096, 1280, 10000))
PARTS = {
    "ours": "our profile of the program",
    "torch-of-ours": "PyTorch's profile of the program",
    "torch": "PyTorch's profile of the same GEMMs by PyTorch",
}
TYPES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16"}
WARMUP = 10
COLUMNS = [
    *settings(dtype="type", part="profile"),
    *results(gemm_ms="GEMMs", over_ours="of our profile", same_kernels="same kernels"),
    Column("kernels", "kernels", "data"),
]
EXPLANATION = (
    "Times are of kernels alone, per run of all four GEMMs. The GEMMs are rows × inner × columns: "
    + ", ".join(" × ".join(str(size) for size in shape) for shape in SHAPES)
    + ". PyTorch chooses the algorithms of its own GEMMs itself."
)


def program() -> str:
    """Return a program with one input and one parameter per GEMM. An output is a sum, so that nothing is unused."""
    arguments, body, outputs = [], [], []
    for index, (rows, inner, columns) in enumerate(SHAPES):
        x, w, y = f"tensor<{rows}x{inner}xf32>", f"tensor<{columns}x{inner}xf32>", f"tensor<{rows}x{columns}xf32>"
        arguments.append(f'%x{index}: {x} {{cs336.kind = "input", cs336.name = "x{index}"}}')
        arguments.append(
            f'%w{index}: {w} {{cs336.kind = "parameter", cs336.name = "w{index}", '
            "cs336.init = #cs336.init<truncated_normal, std = 0.02, cut = 3.0>}"
        )
        body.append(f'  %y{index} = cs336.linear %x{index}, %w{index} : {x}, {w} -> {y} loc("product{index}")')
        outputs.append((f"%y{index}", y))
    results = ", ".join(
        f'{kind} {{cs336.kind = "output", cs336.name = "y{index}"}}' for index, (_, kind) in enumerate(outputs)
    )
    names, types = (", ".join(part) for part in zip(*outputs, strict=True))
    attributes = "attributes {cs336.mode = #cs336.mode<forward>}"
    return "\n".join(
        [
            f"func.func @forward({', '.join(arguments)}) -> ({results}) {attributes} {{",
            *body,
            f"  return {names} : {types}",
            "}",
        ]
    )


def open_session(device: str, dtype: str, **options: Any) -> tuple[Any, Row]:
    """Return a session with the program, and its inputs."""
    cs336, np = need("cs336"), need("numpy")
    require_device(cs336, device)
    executable = cs336.compile(cs336.parse(program()), device=device, dtype=dtype)
    session = cs336.Session(executable, device=device, **options)
    session.initialize(0)
    random = np.random.default_rng(0)
    inputs = {
        f"x{index}": random.standard_normal((rows, inner), dtype=np.float32)
        for index, (rows, inner, _) in enumerate(SHAPES)
    }
    return session, inputs


def profile_ours(device: str, dtype: str, steps: int) -> list[Row]:
    """Return the kernels by our profiler, per run."""
    session, inputs = open_session(device, dtype, profile=True)
    for _ in range(WARMUP):
        session.run("forward", inputs)
    rows = session.profile("forward", inputs, steps)
    return [{"name": row.name, "runs": row.count / steps, "ms": 1e3 * row.seconds / steps} for row in rows if row.phase]


def collect(profile: Any, steps: int) -> list[Row]:
    """Return the kernels that PyTorch's profiler recorded, per step. Copies and fills are left out."""
    kernels: dict[str, list[float]] = {}
    for event in profile.events():
        # Ranges of the host have no time of the device of their own.
        if event.device_type.name == "CUDA" and not event.name.startswith(("Memcpy", "Memset")):
            kernels.setdefault(event.name, []).append(event.self_device_time_total)
    rows = [
        {"name": name, "runs": len(times) / steps, "ms": sum(times) * 1e-3 / steps} for name, times in kernels.items()
    ]
    return sorted(rows, key=lambda row: -row["ms"])


def profile_torch(device: str, dtype: str, steps: int, of_ours: bool) -> list[Row]:
    """Return the kernels by PyTorch's profiler, per step: of our session, or of PyTorch's own GEMMs."""
    torch = need("torch")
    if not torch.cuda.is_available():
        sys.exit("error: PyTorch finds no GPU: install a PyTorch for CUDA, and run 'cs336-bench doctor'")
    torch.set_float32_matmul_precision("highest" if dtype == "fp32" else "high")
    torch.zeros(1, device=device)
    activities = [torch.profiler.ProfilerActivity.CUDA]
    if of_ours:
        # A graph is recorded node by node if it was captured under the profiler. Tuning GEMMs runs under it too, so
        # that the profiler is started again for the steps.
        with torch.profiler.profile(activities=activities):
            session, inputs = open_session(device, dtype)

        def run() -> None:
            session.run("forward", inputs)
            session.synchronize()
    else:
        kind = getattr(torch, TYPES[dtype])
        pairs = [
            (
                torch.randn(rows, inner, device=device, dtype=kind),
                torch.randn(columns, inner, device=device, dtype=kind),
            )
            for rows, inner, columns in SHAPES
        ]

        def run() -> None:
            for x, weight in pairs:
                torch.nn.functional.linear(x, weight)

    for _ in range(WARMUP):
        run()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(steps):
            run()
        torch.cuda.synchronize()
    return collect(profile, steps)


def is_gemm(row: Row) -> bool:
    """Tell kernels of GEMMs from casts and copies, by the names that NVIDIA's libraries use."""
    return any(part in row["name"].lower() for part in ("gemm", "nvjet", "cutlass", "xmma"))


def summarize(parts: dict[str, list[Row]]) -> list[Row]:
    """Return a row per profile: the total of GEMMs, its ratio to ours, and whether the kernels have the same names."""
    totals = {part: sum(row["ms"] for row in rows if is_gemm(row)) for part, rows in parts.items()}

    def short(row: Row) -> str:
        return row["name"].removeprefix("void ").split("(")[0].split("<")[0]

    names = {part: sorted({short(row) for row in rows if is_gemm(row)}) for part, rows in parts.items()}
    return [
        {
            "part": part,
            "gemm_ms": total,
            "over_ours": total / totals["ours"] if totals["ours"] else None,
            "same_kernels": names[part] == names["ours"],
            "kernels": parts[part],
        }
        for part, total in totals.items()
    ]


def profile_part(part: str, device: str, dtype: str, steps: int) -> list[Row]:
    """Return the kernels of one profile, per run."""
    if part == "ours":
        return profile_ours(device, dtype, steps)
    return profile_torch(device, dtype, steps, of_ours=part == "torch-of-ours")


def run_part(part: str, args: argparse.Namespace) -> dict[str, list[Row]]:
    """Make one profile in a process of its own. Return its kernels by type."""
    command = [sys.executable, __file__, "--part", part, "--device", args.device, "--steps", str(args.steps)]
    process = subprocess.run([*command, "--dtypes", args.dtypes], stdout=subprocess.PIPE, text=True, timeout=300)
    if process.returncode != 0:
        sys.exit(f"{PARTS[part]} failed")
    return json.loads(process.stdout.splitlines()[-1])


def measure(args: argparse.Namespace) -> list[Row]:
    """Make all profiles. Return a row per type and profile."""
    profiles = {part: run_part(part, args) for part in PARTS}
    rows = []
    for dtype in args.dtypes.split(","):
        parts = {part: profile[dtype] for part, profile in profiles.items()}
        rows += [{"dtype": dtype} | row for row in summarize(parts)]
    return rows


def make_record(rows: list[Row], head: Row) -> Row:
    """Return the document."""
    return make_document("profiler_agreement", COLUMNS, rows, head)


def markdown(record: Row) -> str:
    """Return the record as a page."""
    lines = [
        "# Times of library GEMMs by two profilers",
        "",
        origin(record),
        EXPLANATION,
        "",
        f"    {record['command']}",
    ]
    lines += ["", "| type | profile | GEMMs ms | of our profile | same kernels |", "|---|---|---|---|---|"]
    for row in record["results"]:
        ratio = row["over_ours"]
        lines.append(
            f"| {row['dtype']} | {PARTS[row['part']]} | {row['gemm_ms']:.4f} | "
            f"{'' if ratio is None else f'{ratio:.4f}'} | {'yes' if row['same_kernels'] else 'no'} |"
        )
    for row in record["results"]:
        lines += ["", f"{row['dtype']}, {PARTS[row['part']]}:", "", "| kernel | runs | ms |", "|---|---|---|"]
        lines += [f"| `{kernel['name']}` | {kernel['runs']:g} | {kernel['ms']:.4f} |" for kernel in row["kernels"]]
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--dtypes", default="bf16,fp32", help="comma-separated: fp32, tf32, bf16 (%(default)s)")
    arguments.add_argument("--steps", type=int, default=50, help="profiled runs (%(default)s)")
    arguments.add_argument("--part", choices=PARTS, help="measure this alone, and print its kernels as JSON")
    args = arguments.parse_args()
    if args.part:
        profiles = {dtype: profile_part(args.part, args.device, dtype, args.steps) for dtype in args.dtypes.split(",")}
        print(json.dumps(profiles))
    else:
        head = describe(sys.argv) | describe_device(args.device)
        record = make_record(measure(args), head)
        write(record, markdown(record), args.output)


if __name__ == "__main__":
    main()

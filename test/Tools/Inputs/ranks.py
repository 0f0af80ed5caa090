# ===- ranks.py - A program with all collectives, and what it computes -----===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""`ranks.py write FOLDER RANKS TYPE` writes the program and each rank's inputs, `check` compares each rank's outputs.

Inputs and outputs of 16-bit types are float32, which NumPy has, and are rounded within the program. A fourth argument
is the number of columns in place of 3. A fifth one, `gpu`, leaves out means of integers, which GPUs do not have, and
compares sums of more than two ranks within a bound.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

COLUMNS = int(sys.argv[5]) if len(sys.argv) > 5 else 3
REDUCTIONS = [
    each
    for each in ("sum", "mean", "max")
    if each != "mean" or sys.argv[6:] != ["gpu"] or not sys.argv[4].startswith("i")
]
NUMPY_TYPES = {"f64": np.float64, "i64": np.int64, "i32": np.int32}
ROUNDING = {"f64": 2.0**-53, "f32": 2.0**-24, "bf16": 2.0**-8, "f16": 2.0**-11}


def round_to(values: np.ndarray, dtype: str) -> np.ndarray:
    """Round float32 values to a 16-bit type, to the nearest and to even; other values stay."""
    if dtype == "f16":
        return values.astype(np.float16).astype(np.float32)
    if dtype == "bf16":
        bits = values.view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return values


def make_inputs(ranks: int, dtype: str) -> list[np.ndarray]:
    """Return the input of each rank: 2 rows per rank."""
    random = np.random.default_rng(ranks)
    numpy_type = NUMPY_TYPES.get(dtype, np.float32)
    return [(random.normal(size=(2 * ranks, COLUMNS)) * 100).astype(numpy_type) for _ in range(ranks)]


def reduce_ranks(values: list[np.ndarray], reduction: str, dtype: str) -> np.ndarray:
    """Combine the ranks' values in order, and divide once."""
    total = values[0]
    for each in values[1:]:
        total = np.maximum(total, each) if reduction == "max" else total + each
    if reduction == "mean":
        size = total.dtype.type(len(values))
        total = np.trunc(total / size).astype(total.dtype) if dtype.startswith("i") else total / size
    return round_to(total, dtype)


def round_inputs(ranks: int, dtype: str) -> list[np.ndarray]:
    """Return the values that the ranks exchange."""
    return [round_to(each, dtype) for each in make_inputs(ranks, dtype)]


def bound_differences(ranks: int, dtype: str, rank: int) -> dict[str, np.ndarray]:
    """Return how far outputs of a rank may be from those of NumPy, where their bits may differ.

    NCCL adds in an order that depends on the position of an element, rounds to the type after each rank, and divides
    before it adds. For two ranks, this has the same bits. For n ranks, a result has at most n roundings: of n − 1
    additions and a division. Each is at most the relative rounding error of the type, times the sum of magnitudes. The
    result of NumPy has as many.
    """
    if sys.argv[6:] != ["gpu"] or ranks <= 2 or dtype not in ROUNDING:
        return {}
    magnitudes = sum(np.abs(each.astype(np.float64)) for each in round_inputs(ranks, dtype))
    bound, part = 2 * ROUNDING[dtype] * magnitudes, slice(2 * rank, 2 * rank + 2)
    sums = {"reduced_sum": ranks * bound, "scattered_sum": ranks * bound[part]}
    return {**sums, "reduced_mean": bound, "scattered_mean": bound[part]}


def expect(ranks: int, dtype: str) -> list[dict[str, np.ndarray]]:
    """Return the outputs of each rank."""
    values = round_inputs(ranks, dtype)
    results: list[dict[str, np.ndarray]] = []
    for rank in range(ranks):
        part = slice(2 * rank, 2 * rank + 2)
        outputs = {"gathered": np.concatenate(values), "exchanged": np.concatenate([each[part] for each in values])}
        outputs["sent"] = outputs["sent_too"] = values[-1]
        for reduction in REDUCTIONS:
            outputs[f"reduced_{reduction}"] = reduce_ranks(values, reduction, dtype)
            outputs[f"scattered_{reduction}"] = outputs[f"reduced_{reduction}"][part]
        results.append(outputs)
    return results


def make_program(ranks: int, dtype: str) -> str:
    """Return a function with each kind and reduction, and one collective of two operands."""
    outside = dtype if dtype in NUMPY_TYPES else "f32"
    rows = 2 * ranks
    types = {"sent": rows, "sent_too": rows, "exchanged": rows, "gathered": rows * ranks}
    whole = f"tensor<{rows}x{COLUMNS}x{dtype}>"
    body = []
    for reduction in REDUCTIONS:
        types[f"reduced_{reduction}"], types[f"scattered_{reduction}"] = rows, 2
        for name, kind in ((f"reduced_{reduction}", "all_reduce"), (f"scattered_{reduction}", "reduce_scatter")):
            result = f"tensor<{types[name]}x{COLUMNS}x{dtype}>"
            body.append(f"%{name} = cs336.collective {kind} {reduction}(%v) group = {ranks} : ({whole}) -> {result}")
    gathered = f"tensor<{types['gathered']}x{COLUMNS}x{dtype}>"
    body += [
        f"%gathered = cs336.collective all_gather(%v) group = {ranks} : ({whole}) -> {gathered}",
        f"%exchanged = cs336.collective all_to_all(%v) group = {ranks} : ({whole}) -> {whole}",
        f"%sent, %sent_too = cs336.collective broadcast(%v, %v) group = {ranks} root = {ranks - 1}"
        f" : ({whole}, {whole}) -> ({whole}, {whole})",
    ]
    port = '{{cs336.kind = "{}", cs336.name = "{}"}}'
    outer = {name: f"tensor<{size}x{COLUMNS}x{outside}>" for name, size in types.items()}
    results = [f"%{name}" for name in types]
    argument = "%v"
    if outside != dtype:
        argument = "%x"
        body.insert(0, f"%v = cs336.cast %x : {outer['sent']} -> {whole}")
        for name, size in types.items():
            body.append(f"%{name}_out = cs336.cast %{name} : tensor<{size}x{COLUMNS}x{dtype}> -> {outer[name]}")
        results = [f"%{name}_out" for name in types]
    ports = ", ".join(f"{kind} {port.format('output', name)}" for name, kind in outer.items())
    lines = "\n  ".join(body)
    return f"""func.func @exchange({argument}: {outer["sent"]} {port.format("input", "x")}) -> ({ports})
    attributes {{cs336.mode = #cs336.mode<forward>}} {{
  {lines}
  return {", ".join(results)} : {", ".join(outer.values())}
}}
"""


def main() -> None:
    """Write the program and the inputs, or check the outputs: bit for bit, or within bounds where orders differ."""
    command, folder, ranks, dtype = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if command == "write":
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "exchange.mlir").write_text(make_program(ranks, dtype))
        for rank, values in enumerate(make_inputs(ranks, dtype)):
            np.savez(folder / f"in-{rank}.npz", x=values)
        return
    first = dict(np.load(folder / "out-0.npz"))
    for rank, outputs in enumerate(expect(ranks, dtype)):
        bounds = bound_differences(ranks, dtype, rank)
        with np.load(folder / f"out-{rank}.npz") as computed:
            if sorted(computed.files) != sorted(outputs):
                sys.exit(f"rank {rank} wrote {computed.files}")
            for name, values in outputs.items():
                is_close = np.all(np.abs(computed[name] - values) <= bounds.get(name, 0))
                if computed[name].dtype != values.dtype or not is_close:
                    sys.exit(f"rank {rank}: {name} of {dtype} is {computed[name]}, should be {values}")
                if name.startswith("reduced") and not np.array_equal(computed[name], first[name]):
                    sys.exit(f"{name} of {dtype} is {computed[name]} on rank {rank}, but {first[name]} on rank 0")
    print(f"{ranks} ranks of {dtype} agree with NumPy")


main()

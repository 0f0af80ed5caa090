# ===- test_cuda_scatter.py - Values of generated CUDA scatters ------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Kernels that add rows to a table equal NumPy: the text of both schedules, compiled for the host."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cuda_on_host import HostKernel, compile_for_host, emit_cuda
from numpy.typing import NDArray

Array = NDArray[Any]
DTYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


@dataclass(frozen=True)
class Case:
    """Rows of a gradient, one per position, that are added to the rows of a table."""

    positions: tuple[int, ...]
    rows: int
    columns: int
    dtype: str = "f32"
    ids: str = "i64"

    def kernel(self, name: str) -> str:
        positions = "".join(f"{size}x" for size in self.positions)
        ids, gradient = f"{positions}{self.ids}", f"{positions}{self.columns}x{self.dtype}"
        table = f"{self.rows}x{self.columns}x{self.dtype}"
        return f"""
exec.kernel @{name}(%ids: tensor<{ids}>, %dx: tensor<{gradient}>)
    : (memref<{ids}>, memref<{gradient}>) -> memref<{table}> {{
  %y = cs336.embedding_grad %ids, %dx : tensor<{ids}>, tensor<{gradient}> -> tensor<{table}>
  exec.yield %y : tensor<{table}>
}}
"""

    def check(self, kernel: HostKernel, ids: Array, rng: np.random.Generator) -> None:
        count = int(np.prod(self.positions))
        dtype = DTYPES[self.dtype]
        gradient = rng.standard_normal((count, self.columns)).astype(dtype)
        ids = ids.astype(np.int64 if self.ids == "i64" else np.int32)
        # Elements that no thread writes stay NaN.
        table = np.frombuffer(np.full(self.rows * self.columns * gradient.itemsize, 0xFF, np.uint8), dtype)
        table = table.reshape(self.rows, self.columns).copy()
        kernel(ids, gradient, table)
        wide = gradient.astype(np.float64)
        expected, magnitude = np.zeros((2, self.rows, self.columns))
        np.add.at(expected, ids, wide)
        np.add.at(magnitude, ids, np.abs(wide))
        # Every addition rounds a partial sum, which is at most the sum of the magnitudes.
        bits = {"f32": 24, "f64": 53, "bf16": 8, "f16": 11}[self.dtype]
        bound = magnitude * np.bincount(ids, minlength=self.rows)[:, None] * 2.0**-bits
        error = np.abs(table.astype(np.float64) - expected)
        assert (error <= bound).all(), f"{self}: {np.argwhere(~(error <= bound))[:5]}"


def draw_ids(kind: str, count: int, rows: int, rng: np.random.Generator) -> Array:
    """Draw the row of every position: in equal shares, as words of a text, all the same, or around the limit."""
    if kind == "uniform":
        return rng.integers(0, rows, count)
    if kind == "text":
        return np.minimum(rng.zipf(1.3, count), rows) - 1
    if kind == "same":
        return np.full(count, rows - 1)
    # 31, 32 and 33 positions of three rows in turn, in random order; then the last row has all others.
    ids = np.full(count, rows - 1)
    row, begin = 0, 0
    while row < rows - 1 and begin + 33 <= count:
        size = 31 + row % 3
        ids[begin : begin + size] = row
        row, begin = row + 1, begin + size
    return rng.permutation(ids)


SEARCHED = [
    Case((2, 5), 2, 500),
    Case((1024,), 40, 4, ids="i32"),
    Case((), 3, 7),
]
BUCKETED = [
    Case((1025,), 300, 5),
    Case((3, 1000), 70, 132),
    Case((2, 1500), 1000, 8, "bf16", "i32"),
    Case((2500,), 40, 1, "f64"),
    Case((3001,), 1, 3, "f16"),
    # More positions than the bitmap of a block has bits.
    Case((7, 10000), 97, 2),
]


def compile_cases(cases: list[Case], schedule: str, folder: pathlib.Path) -> list[tuple[Case, HostKernel]]:
    """Compile the kernels, all of which have the schedule."""
    text = emit_cuda("".join(case.kernel(f"scatter{i}") for i, case in enumerate(cases)), "--require-all")
    assert re.findall(r"^// Schedule (\w+)", text, re.MULTILINE) == [schedule] * len(cases)
    kernels = compile_for_host(text, folder)
    return [(case, kernels[f"scatter{i}"]) for i, case in enumerate(cases)]


@pytest.mark.parametrize(
    ("schedule", "cases"), [("scatter", SEARCHED), ("bucketed_scatter", BUCKETED)], ids=["searched", "bucketed"]
)
def test_scatters(schedule: str, cases: list[Case], tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(5)
    for case, kernel in compile_cases(cases, schedule, tmp_path):
        for kind in ("uniform", "text", "same", "limit"):
            case.check(kernel, draw_ids(kind, int(np.prod(case.positions)), case.rows, rng), rng)

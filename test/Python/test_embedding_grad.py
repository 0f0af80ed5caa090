# ===- test_embedding_grad.py - The gradient of an embedding's table -------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The sums of `cs336.embedding_grad` equal NumPy on the device of the tests, with the same bits in every run."""

from __future__ import annotations

import numpy as np
import pytest
from device import compile_program, open_session
from numpy.typing import NDArray

# Rows of the table, rows per step, elements of a row. The last two steps have too many positions for a search.
SIZES = [(50, (3, 340), 12), (300, (5, 1001), 100), (1999, (2, 33000), 3)]


def program(rows: int, positions: tuple[int, int], columns: int, dtype: str) -> str:
    ids = f"tensor<{positions[0]}x{positions[1]}xi64>"
    given, gradient = (f"tensor<{positions[0]}x{positions[1]}x{columns}x{element}>" for element in ("f32", dtype))
    sums, table = f"tensor<{rows}x{columns}x{dtype}>", f"tensor<{rows}x{columns}xf32>"
    return f"""
func.func @forward(%ids: {ids} {{cs336.kind = "input", cs336.name = "ids", cs336.bound = {rows} : i64}},
                   %given: {given} {{cs336.kind = "input", cs336.name = "x"}}) -> {table} {{
  %x = cs336.cast %given : {given} -> {gradient}
  %sums = cs336.embedding_grad %ids, %x : {ids}, {gradient} -> {sums}
  %y = cs336.cast %sums : {sums} -> {table}
  return %y : {table}
}}
"""


def draw_ids(kind: str, rows: int, positions: tuple[int, int]) -> NDArray[np.int64]:
    random = np.random.default_rng(3)
    if kind == "text":
        return np.minimum(random.zipf(1.3, positions), rows) - 1
    return random.integers(0, rows, positions) if kind == "uniform" else np.full(positions, rows // 2)


@pytest.mark.parametrize("kind", ["uniform", "text", "same"])
@pytest.mark.parametrize(("dtype", "bits"), [("f32", 24), ("bf16", 8)])
@pytest.mark.parametrize(("rows", "positions", "columns"), SIZES)
def test_embedding_grad(rows: int, positions: tuple[int, int], columns: int, dtype: str, bits: int, kind: str) -> None:
    session = open_session(compile_program(program(rows, positions, columns, dtype)))
    ids = draw_ids(kind, rows, positions)
    # Numbers that bf16 represents.
    gradient = np.random.default_rng(4).integers(-8, 8, (*positions, columns)) / np.float32(8)
    gradient = gradient.astype(np.float32)
    runs = [next(iter(session.run("forward", {"ids": ids, "x": gradient}).values())) for _ in range(3)]
    sums, magnitudes = np.zeros((2, rows, columns))
    np.add.at(sums, ids, gradient)
    np.add.at(magnitudes, ids, np.abs(gradient))
    # Every addition rounds a partial sum, which is at most the sum of the magnitudes.
    bound = magnitudes * np.bincount(ids.ravel(), minlength=rows)[:, None] * 2.0**-bits
    assert (np.abs(runs[0].astype(np.float64) - sums) <= bound).all()
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].view(np.uint32), other.view(np.uint32))

# ===- test_cuda_reductions.py - Values of generated CUDA reductions ------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Generated CUDA reductions equal NumPy: every schedule's text, compiled for the host."""

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
DTYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i64": np.int64}


@dataclass(frozen=True)
class Case:
    """A reduction of an operand in memory order `order`: the last axis of it is contiguous."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    order: tuple[int, ...] = ()

    @property
    def strides(self) -> tuple[int, ...]:
        strides = [0] * len(self.shape)
        step = 1
        for axis in reversed(self.order or range(len(self.shape))):
            strides[axis] = step
            step *= self.shape[axis]
        return tuple(strides)

    def kernel(self, name: str) -> str:
        kept = [str(size) for axis, size in enumerate(self.shape) if axis not in self.axes]
        shape = "x".join(map(str, self.shape))
        result = "x".join([*kept, self.dtype])
        is_dense = self.strides == Case(self.kind, self.dtype, self.shape, self.axes).strides
        layout = "" if is_dense else f", strided<[{', '.join(map(str, self.strides))}]>"
        return f"""
exec.kernel @{name}(%x: tensor<{shape}x{self.dtype}>) : (memref<{shape}x{self.dtype}{layout}>) -> memref<{result}> {{
  %y = cs336.reduce {self.kind} %x axes = [{", ".join(map(str, self.axes))}]
      : tensor<{shape}x{self.dtype}> -> tensor<{result}>
  exec.yield %y : tensor<{result}>
}}
"""

    def check(self, kernel: HostKernel, rng: np.random.Generator) -> None:
        if self.dtype == "i64":
            x = rng.integers(-1000, 1000, self.shape)
        else:
            x = rng.standard_normal(self.shape).astype(DTYPES[self.dtype])
        order = self.order or tuple(range(len(self.shape)))
        storage = np.ascontiguousarray(x.transpose(order))
        wide = x.astype(np.float64)
        expected = wide.sum(self.axes) if self.kind == "sum" else wide.max(self.axes)
        # Elements that no thread writes stay NaN, or far from any sum.
        y = np.frombuffer(np.full(expected.size * x.itemsize, 0xFF, np.uint8), x.dtype).reshape(expected.shape).copy()
        kernel(storage, y)
        if self.kind == "max" or self.dtype == "i64":
            np.testing.assert_array_equal(y.astype(np.float64), expected, err_msg=str(self))
            return
        bits = {"f32": 24, "f64": 53, "bf16": 8, "f16": 11}[self.dtype]
        magnitude = np.abs(wide).sum(self.axes)
        rounding = np.abs(expected) * 2.0**-bits + magnitude * 2.0 ** -(53 if self.dtype == "f64" else 24) * 8
        error = np.abs(y.astype(np.float64) - expected)
        assert (error <= rounding).all(), f"{self}: error {np.max(error / rounding):.1f} times the bound"


CASES = {
    "row_reduction: one warp per row": [
        Case("sum", "f32", (13, 768), (1,)),
        Case("max", "bf16", (5, 3, 251), (2,)),
        Case("max", "i64", (40, 33), (1,)),
        Case("sum", "bf16", (9, 128), (1,)),
        Case("sum", "f16", (300,), (0,)),
        Case("sum", "f32", (3, 6, 5, 8), (1, 3)),
        Case("sum", "f64", (7, 50), (0, 1)),
        Case("sum", "f32", (17, 40), (0,), (1, 0)),
    ],
    "row_reduction: one block per row": [
        Case("sum", "f32", (6, 2500), (1,)),
        Case("max", "f64", (3, 1001), (1,)),
        Case("sum", "i64", (3, 999), (1,)),
    ],
    r"row_reduction: \d+ blocks per row": [
        Case("sum", "f32", (50001,), (0,)),
        Case("max", "bf16", (2, 160, 128), (1, 2)),
        Case("sum", "f64", (3, 31, 400), (1, 2)),
    ],
    r"column_reduction: \d+ columns per block": [
        Case("sum", "f32", (31, 45), (0,)),
        Case("max", "bf16", (5, 17, 24), (1,)),
        Case("max", "f64", (700, 2), (0,)),
        Case("sum", "f32", (6, 3, 6, 64), (0, 2)),
    ],
    r"column_reduction: \d+ blocks per": [
        Case("sum", "f32", (4, 256, 96), (0, 1)),
        Case("sum", "bf16", (999, 33), (0,)),
        Case("sum", "i64", (2, 300, 5), (1,)),
        Case("sum", "f32", (5, 700, 8), (1,), (1, 0, 2)),
    ],
    "serial_reduction": [
        Case("sum", "f32", (300, 7), (1,)),
        Case("max", "bf16", (5, 33, 2), (0,)),
        Case("sum", "f16", (3, 4, 2, 5), (0, 2)),
        Case("sum", "f32", (6, 1, 9), (1,)),
    ],
}


@pytest.mark.parametrize("schedule", CASES)
def test_reductions(schedule: str, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(11)
    text = emit_cuda("".join(case.kernel(f"reduce{i}") for i, case in enumerate(CASES[schedule])), "--require-all")
    chosen = re.findall(r"^// Schedule (.*)", text, re.MULTILINE)
    assert all(re.match(schedule, choice) for choice in chosen), chosen
    kernels = compile_for_host(text, tmp_path)
    for i, case in enumerate(CASES[schedule]):
        case.check(kernels[f"reduce{i}"], rng)


def random_case(rng: np.random.Generator) -> Case:
    """Draw a reduction of up to some ten thousand elements, over any axes, of an operand in any order."""
    rank = int(rng.integers(1, 5))
    longest = {1: 60000, 2: 250, 3: 40, 4: 16}[rank]
    shape = tuple(round(float(np.exp(rng.uniform(0, np.log(longest))))) for _ in range(rank))
    axes = tuple(axis for axis in range(rank) if rng.random() < 0.5) or (int(rng.integers(rank)),)
    order = tuple(int(axis) for axis in rng.permutation(rank)) if rng.random() < 0.3 else ()
    return Case(str(rng.choice(["sum", "max"])), str(rng.choice(list(DTYPES))), shape, axes, order)


def test_random_reductions(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(5)
    cases = [random_case(rng) for _ in range(80)]
    text = emit_cuda("".join(case.kernel(f"reduce{i}") for i, case in enumerate(cases)), "--require-all")
    kernels = compile_for_host(text, tmp_path)
    for i, case in enumerate(cases):
        case.check(kernels[f"reduce{i}"], rng)


# Operations before, after and beside reductions.
AROUND = """
exec.kernel @mean_of_squares(%x: tensor<24x96xf32>) : (memref<24x96xf32>) -> memref<24xf32> {
  %square = cs336.mul %x, %x : tensor<24x96xf32>
  %sum = cs336.reduce sum %square axes = [1] : tensor<24x96xf32> -> tensor<24xf32>
  %size = cs336.constant dense<96.0> : tensor<24xf32>
  %mean = cs336.div %sum, %size : tensor<24xf32>
  exec.yield %mean : tensor<24xf32>
}
exec.kernel @weight_gradient(%dy: tensor<70x20xf32>, %x: tensor<70x20xf32>, %r: tensor<70xf32>, %old: tensor<20xf32>)
    : (memref<70x20xf32>, memref<70x20xf32>, memref<70xf32>, memref<20xf32>) -> memref<20xf32> {
  %factor = cs336.broadcast %r dims = [0] : tensor<70xf32> -> tensor<70x20xf32>
  %scaled = cs336.mul %x, %factor : tensor<70x20xf32>
  %product = cs336.mul %dy, %scaled : tensor<70x20xf32>
  %sum = cs336.reduce sum %product axes = [0] : tensor<70x20xf32> -> tensor<20xf32>
  %total = cs336.add %old, %sum : tensor<20xf32>
  exec.yield %total : tensor<20xf32>
}
exec.kernel @norm(%x: tensor<123x457xf32>) : (memref<123x457xf32>) -> memref<f32> {
  %square = cs336.mul %x, %x : tensor<123x457xf32>
  %sum = cs336.reduce sum %square axes = [0, 1] : tensor<123x457xf32> -> tensor<f32>
  %norm = cs336.sqrt %sum : tensor<f32>
  exec.yield %norm : tensor<f32>
}
exec.kernel @extent(%x: tensor<11x300xbf16>) : (memref<11x300xbf16>) -> (memref<11xbf16>, memref<11xf32>) {
  %wide = cs336.cast %x : tensor<11x300xbf16> -> tensor<11x300xf32>
  %largest = cs336.reduce max %x axes = [1] : tensor<11x300xbf16> -> tensor<11xbf16>
  %sum = cs336.reduce sum %wide axes = [1] : tensor<11x300xf32> -> tensor<11xf32>
  exec.yield %largest, %sum : tensor<11xbf16>, tensor<11xf32>
}
exec.kernel @exp_and_sum(%x: tensor<5x70xf32>) : (memref<5x70xf32>) -> (memref<5x70xf32>, memref<5xf32>) {
  %exp = cs336.exp %x : tensor<5x70xf32>
  %sum = cs336.reduce sum %exp axes = [1] : tensor<5x70xf32> -> tensor<5xf32>
  exec.yield %exp, %sum : tensor<5x70xf32>, tensor<5xf32>
}
exec.kernel @softmax(%x: tensor<6x5x18xf32>) : (memref<6x5x18xf32>) -> memref<6x5x18xf32> {
  %largest = cs336.reduce max %x axes = [2] : tensor<6x5x18xf32> -> tensor<6x5xf32>
  %bound = cs336.broadcast %largest dims = [0, 1] : tensor<6x5xf32> -> tensor<6x5x18xf32>
  %shifted = cs336.sub %x, %bound : tensor<6x5x18xf32>
  %exp = cs336.exp %shifted : tensor<6x5x18xf32>
  %sum = cs336.reduce sum %exp axes = [2] : tensor<6x5x18xf32> -> tensor<6x5xf32>
  %total = cs336.broadcast %sum dims = [0, 1] : tensor<6x5xf32> -> tensor<6x5x18xf32>
  %y = cs336.div %exp, %total : tensor<6x5x18xf32>
  exec.yield %y : tensor<6x5x18xf32>
}
exec.kernel @padded_sum(%x: tensor<40x24xf32>) : (memref<40x24xf32>) -> memref<48xf32> {
  %sum = cs336.reduce sum %x axes = [1] : tensor<40x24xf32> -> tensor<40xf32>
  %y = cs336.pad %sum offsets = [5] : tensor<40xf32> -> tensor<48xf32>
  exec.yield %y : tensor<48xf32>
}
"""


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> dict[str, HostKernel]:
    return compile_for_host(emit_cuda(AROUND, "--require-all"), tmp_path_factory.mktemp("around"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def test_what_is_computed_around_a_row(around: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, y = normal(rng, 24, 96), np.full(24, np.nan, np.float32)
    around["mean_of_squares"](x, y)
    np.testing.assert_allclose(y, np.mean(x.astype(np.float64) ** 2, axis=1), rtol=1e-6)


def test_what_is_computed_around_columns(around: dict[str, HostKernel], rng: np.random.Generator) -> None:
    dy, x, r, old = normal(rng, 70, 20), normal(rng, 70, 20), normal(rng, 70), normal(rng, 20)
    y = np.full(20, np.nan, np.float32)
    around["weight_gradient"](dy, x, r, old, y)
    np.testing.assert_allclose(y, old + (dy.astype(np.float64) * x * r[:, None]).sum(0), rtol=1e-5, atol=1e-5)


def test_what_is_computed_from_the_parts_of_many_blocks(
    around: dict[str, HostKernel], rng: np.random.Generator
) -> None:
    x, y = normal(rng, 123, 457), np.full((), np.nan, np.float32)
    around["norm"](x, y)
    np.testing.assert_allclose(y, np.linalg.norm(x.astype(np.float64)), rtol=1e-6)
    again = np.full((), np.nan, np.float32)
    around["norm"](x, again)
    assert y.tobytes() == again.tobytes()


def test_two_reductions_of_one_row(around: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x = normal(rng, 11, 300).astype(ml_dtypes.bfloat16)
    largest, total = np.zeros(11, ml_dtypes.bfloat16), np.zeros(11, np.float32)
    around["extent"](x, largest, total)
    np.testing.assert_array_equal(largest, x.max(1))
    np.testing.assert_allclose(total, x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-5)


def test_outputs_of_two_shapes(around: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x = normal(rng, 5, 70)
    exp, total = np.full((5, 70), np.nan, np.float32), np.full(5, np.nan, np.float32)
    around["exp_and_sum"](x, exp, total)
    np.testing.assert_allclose(exp, np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(total, np.exp(x.astype(np.float64)).sum(1), rtol=1e-6)


def test_reductions_that_need_each_other(around: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, y = normal(rng, 6, 5, 18), np.full((6, 5, 18), np.nan, np.float32)
    around["softmax"](x, y)
    exp = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(y, exp / exp.sum(-1, keepdims=True), rtol=1e-5)


def test_reduced_in_a_part_of_the_result(around: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, y = normal(rng, 40, 24), np.full(48, np.nan, np.float32)
    around["padded_sum"](x, y)
    np.testing.assert_allclose(y, np.pad(x.astype(np.float64).sum(1), (5, 3)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_many_sums_at_once(dtype: str, tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    # Fewer than a vector, whole vectors, a few more; one block, and several.
    sizes = [2, 16, 13, *(int(size) for size in rng.integers(3, 40000, 4)), 16384, 50001]
    arguments = ", ".join(f"%x{i}: tensor<{size}x{dtype}>" for i, size in enumerate(sizes))
    operands = ", ".join(f"memref<{size}x{dtype}>" for size in sizes)
    body = "".join(
        f"%w{i} = cs336.cast %x{i} : tensor<{size}x{dtype}> -> tensor<{size}xf64>\n"
        f"%q{i} = cs336.mul %w{i}, %w{i} : tensor<{size}xf64>\n"
        f"%s{i} = cs336.reduce sum %q{i} axes = [0] : tensor<{size}xf64> -> tensor<f64>\n"
        for i, size in enumerate(sizes)
    )
    sums = ", ".join(f"%s{i}" for i in range(len(sizes)))
    types, results = (", ".join([name] * len(sizes)) for name in ("tensor<f64>", "memref<f64>"))
    kernel = f"exec.kernel @sums({arguments}) : ({operands}) -> ({results}) {{\n{body}exec.yield {sums} : {types}\n}}"
    text = emit_cuda(kernel, "--require-all")
    assert "// Schedule batched_reduction: " in text
    inputs = [rng.standard_normal(size).astype(DTYPES[dtype]) for size in sizes]
    outputs = [np.zeros(1) for _ in sizes]
    compile_for_host(text, tmp_path)["sums"](*inputs, *outputs)
    for x, total in zip(inputs, outputs, strict=True):
        np.testing.assert_allclose(total[0], np.sum(x.astype(np.float64) ** 2), rtol=1e-12)

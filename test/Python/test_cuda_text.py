# ===- test_cuda_text.py - Values of generated CUDA kernels ---------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Generated CUDA kernels equal NumPy on random operands: their text, compiled for the host."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cuda_on_host import HostKernel, compile_for_host, emit_cuda, run_opt
from numpy.typing import NDArray

Array = NDArray[Any]
BF16 = ml_dtypes.bfloat16

KERNELS = """
exec.kernel @silu_mul(%gate: tensor<3x32x128xf32>, %up: tensor<3x32x128xf32>)
    : (memref<3x32x128xf32>, memref<3x32x128xf32>) -> memref<3x32x128xf32> {
  %sigmoid = cs336.sigmoid %gate : tensor<3x32x128xf32>
  %silu = cs336.mul %gate, %sigmoid : tensor<3x32x128xf32>
  %product = cs336.mul %silu, %up : tensor<3x32x128xf32>
  exec.yield %product : tensor<3x32x128xf32>
}
exec.kernel @scale_rows(%x: tensor<6x10x8xf32>, %w: tensor<8xf32>, %r: tensor<6x10xf32>)
    : (memref<6x10x8xf32>, memref<8xf32>, memref<6x10xf32>) -> memref<6x10x8xf32> {
  %weight = cs336.broadcast %w dims = [2] : tensor<8xf32> -> tensor<6x10x8xf32>
  %factor = cs336.broadcast %r dims = [0, 1] : tensor<6x10xf32> -> tensor<6x10x8xf32>
  %scaled = cs336.mul %x, %factor : tensor<6x10x8xf32>
  %y = cs336.mul %weight, %scaled : tensor<6x10x8xf32>
  exec.yield %y : tensor<6x10x8xf32>
}
exec.kernel @causal_mask(%scores: tensor<5x32x32xf32>) : (memref<5x32x32xf32>) -> memref<5x32x32xf32> {
  %query = cs336.iota axis = 1 : tensor<5x32x32xi32>
  %key = cs336.iota axis = 2 : tensor<5x32x32xi32>
  %visible = cs336.compare ge %query, %key : tensor<5x32x32xi32>
  %hidden = cs336.constant dense<0xFF800000> : tensor<5x32x32xf32>
  %masked = cs336.select %visible, %scores, %hidden : tensor<5x32x32xf32>
  exec.yield %masked : tensor<5x32x32xf32>
}
exec.kernel @wraps(%x: tensor<64xi32>) : (memref<64xi32>) -> memref<64xi1> {
  %most = cs336.constant dense<2147483647> : tensor<64xi32>
  %sum = cs336.add %x, %most : tensor<64xi32>
  %more = cs336.compare gt %sum, %x : tensor<64xi32>
  exec.yield %more : tensor<64xi1>
}
exec.kernel @part_of_row(%x: tensor<7x192xf32>) : (memref<7x192xf32, strided<[256, 1]>>) -> memref<7x64xf32> {
  %part = cs336.slice %x offsets = [0, 64] : tensor<7x192xf32> -> tensor<7x64xf32>
  %y = cs336.neg %part : tensor<7x64xf32>
  exec.yield %y : tensor<7x64xf32>
}
exec.kernel @transposed_sum(%x: tensor<9x33xf32>, %y: tensor<33x9xf32>)
    : (memref<9x33xf32, strided<[1, 9]>>, memref<33x9xf32>) -> memref<9x33xf32> {
  %t = cs336.transpose %y perm = [1, 0] : tensor<33x9xf32> -> tensor<9x33xf32>
  %sum = cs336.add %x, %t : tensor<9x33xf32>
  exec.yield %sum : tensor<9x33xf32>
}
exec.kernel @turned(%x: tensor<3x45x70xbf16>, %y: tensor<3x45x70xbf16>, %w: tensor<45xbf16>)
    : (memref<3x45x70xbf16, strided<[3150, 1, 45]>>, memref<3x45x70xbf16, strided<[1, 3, 135]>>, memref<45xbf16>)
    -> memref<3x45x70xbf16> {
  %rows = cs336.broadcast %w dims = [1] : tensor<45xbf16> -> tensor<3x45x70xbf16>
  %sum = cs336.add %x, %y : tensor<3x45x70xbf16>
  %scaled = cs336.mul %sum, %rows : tensor<3x45x70xbf16>
  exec.yield %scaled : tensor<3x45x70xbf16>
}
exec.kernel @swapped(%x: tensor<33x4x65xf64>) : (memref<33x4x65xf64, strided<[1, 33, 132]>>) -> memref<33x4x65xf64> {
  exec.yield %x : tensor<33x4x65xf64>
}
exec.kernel @embedding(%table: tensor<97x20xf32>, %ids: tensor<3x11xi64>)
    : (memref<97x20xf32>, memref<3x11xi64>) -> memref<3x11x20xf32> {
  %x = cs336.embedding %table, %ids : tensor<97x20xf32>, tensor<3x11xi64> -> tensor<3x11x20xf32>
  exec.yield %x : tensor<3x11x20xf32>
}
exec.kernel @embedding_grad(%ids: tensor<5x14xi64>, %dx: tensor<5x14x264xf32>)
    : (memref<5x14xi64>, memref<5x14x264xf32>) -> memref<9x264xf32> {
  %y = cs336.embedding_grad %ids, %dx : tensor<5x14xi64>, tensor<5x14x264xf32> -> tensor<9x264xf32>
  exec.yield %y : tensor<9x264xf32>
}
exec.kernel @embedding_grad_narrow(%ids: tensor<3x20xi32>, %dx: tensor<3x20x7xbf16>)
    : (memref<3x20xi32, strided<[1, 3]>>, memref<3x20x7xbf16>) -> memref<5x7xbf16> {
  %y = cs336.embedding_grad %ids, %dx : tensor<3x20xi32>, tensor<3x20x7xbf16> -> tensor<5x7xbf16>
  exec.yield %y : tensor<5x7xbf16>
}
exec.kernel @embedding_grad_of_one(%id: tensor<i64>, %dx: tensor<1xf32>)
    : (memref<i64>, memref<1xf32>) -> memref<3x1xf32> {
  %y = cs336.embedding_grad %id, %dx : tensor<i64>, tensor<1xf32> -> tensor<3x1xf32>
  exec.yield %y : tensor<3x1xf32>
}
exec.kernel @embedding_grad_of_one_row(%id: tensor<i64>, %dx: tensor<7xf32>)
    : (memref<i64>, memref<7xf32>) -> memref<3x7xf32> {
  %y = cs336.embedding_grad %id, %dx : tensor<i64>, tensor<7xf32> -> tensor<3x7xf32>
  exec.yield %y : tensor<3x7xf32>
}
exec.kernel @table_of_constants(%x: tensor<5x3xbf16>) : (memref<5x3xbf16>) -> memref<5x3xbf16> {
  %c = cs336.constant dense<[1.0, -2.5, 4.0]> : tensor<3xbf16>
  %rows = cs336.broadcast %c dims = [1] : tensor<3xbf16> -> tensor<5x3xbf16>
  %y = cs336.mul %x, %rows : tensor<5x3xbf16>
  exec.yield %y : tensor<5x3xbf16>
}
exec.kernel @reshape(%x: tensor<6x10xf32>) : (memref<6x10xf32, strided<[1, 6]>>) -> memref<4x15xf32> {
  %y = cs336.reshape %x : tensor<6x10xf32> -> tensor<4x15xf32>
  exec.yield %y : tensor<4x15xf32>
}
exec.kernel @boxes(%a: tensor<5x8xf32>, %b: tensor<5x4xf32>)
    : (memref<5x8xf32>, memref<5x4xf32>) -> (memref<7x24xf32>, memref<7x24xf32>) {
  %middle = cs336.pad %a offsets = [1, 8] : tensor<5x8xf32> -> tensor<7x24xf32>
  %origin = cs336.pad %b offsets = [0, 0] : tensor<5x4xf32> -> tensor<7x24xf32>
  %sum = cs336.add %middle, %origin : tensor<7x24xf32>
  exec.yield %sum, %origin : tensor<7x24xf32>, tensor<7x24xf32>
}
exec.kernel @pairs(%a: tensor<7x1xbf16>, %b: tensor<7x1xbf16>, %c: tensor<7x3xbf16>)
    : (memref<7x1xbf16>, memref<7x1xbf16>, memref<7x3xbf16>) -> memref<7x5xbf16> {
  %y = cs336.concat axis = 1 %a, %b, %c : tensor<7x1xbf16>, tensor<7x1xbf16>, tensor<7x3xbf16> -> tensor<7x5xbf16>
  exec.yield %y : tensor<7x5xbf16>
}
exec.kernel @boxes_of_one_shape(%a: tensor<6x24xf32>, %b: tensor<6x24xf32>)
    : (memref<6x24xf32>, memref<6x24xf32>) -> (memref<6x48xf32>, memref<6x24xf32>, memref<18x24xf32>) {
  %sum = cs336.add %a, %b : tensor<6x24xf32>
  %product = cs336.mul %a, %b : tensor<6x24xf32>
  %beside = cs336.concat axis = 1 %sum, %product : tensor<6x24xf32>, tensor<6x24xf32> -> tensor<6x48xf32>
  %below = cs336.concat axis = 0 %b, %sum, %a
      : tensor<6x24xf32>, tensor<6x24xf32>, tensor<6x24xf32> -> tensor<18x24xf32>
  exec.yield %beside, %product, %below : tensor<6x48xf32>, tensor<6x24xf32>, tensor<18x24xf32>
}
exec.kernel @turned_pairs(%x: tensor<5x8x2xf32>, %cos: tensor<8x1xf32>, %sin: tensor<8x1xf32>)
    : (memref<5x8x2xf32>, memref<8x1xf32>, memref<8x1xf32>) -> memref<5x8x2xf32> {
  %even = cs336.slice %x offsets = [0, 0, 0] : tensor<5x8x2xf32> -> tensor<5x8x1xf32>
  %odd = cs336.slice %x offsets = [0, 0, 1] : tensor<5x8x2xf32> -> tensor<5x8x1xf32>
  %c = cs336.broadcast %cos dims = [1, 2] : tensor<8x1xf32> -> tensor<5x8x1xf32>
  %s = cs336.broadcast %sin dims = [1, 2] : tensor<8x1xf32> -> tensor<5x8x1xf32>
  %ec = cs336.mul %even, %c : tensor<5x8x1xf32>
  %os = cs336.mul %odd, %s : tensor<5x8x1xf32>
  %first = cs336.sub %ec, %os : tensor<5x8x1xf32>
  %es = cs336.mul %even, %s : tensor<5x8x1xf32>
  %oc = cs336.mul %odd, %c : tensor<5x8x1xf32>
  %second = cs336.add %es, %oc : tensor<5x8x1xf32>
  %y = cs336.concat axis = 2 %first, %second : tensor<5x8x1xf32>, tensor<5x8x1xf32> -> tensor<5x8x2xf32>
  exec.yield %y : tensor<5x8x2xf32>
}
exec.kernel @turned_and_stacked(%x: tensor<5x1x8x2xbf16>, %y: tensor<5x1x8x2xbf16>, %z: tensor<5x1x8x2xbf16>)
    : (memref<5x1x8x2xbf16>, memref<5x1x8x2xbf16>, memref<5x1x8x2xbf16>) -> memref<5x3x8x2xbf16> {
  %xe = cs336.slice %x offsets = [0, 0, 0, 0] : tensor<5x1x8x2xbf16> -> tensor<5x1x8x1xbf16>
  %xo = cs336.slice %x offsets = [0, 0, 0, 1] : tensor<5x1x8x2xbf16> -> tensor<5x1x8x1xbf16>
  %ye = cs336.slice %y offsets = [0, 0, 0, 0] : tensor<5x1x8x2xbf16> -> tensor<5x1x8x1xbf16>
  %yo = cs336.slice %y offsets = [0, 0, 0, 1] : tensor<5x1x8x2xbf16> -> tensor<5x1x8x1xbf16>
  %xn = cs336.neg %xo : tensor<5x1x8x1xbf16>
  %yn = cs336.neg %ye : tensor<5x1x8x1xbf16>
  %xs = cs336.concat axis = 3 %xn, %xe : tensor<5x1x8x1xbf16>, tensor<5x1x8x1xbf16> -> tensor<5x1x8x2xbf16>
  %ys = cs336.concat axis = 3 %yo, %yn : tensor<5x1x8x1xbf16>, tensor<5x1x8x1xbf16> -> tensor<5x1x8x2xbf16>
  %all = cs336.concat axis = 1 %xs, %ys, %z
      : tensor<5x1x8x2xbf16>, tensor<5x1x8x2xbf16>, tensor<5x1x8x2xbf16> -> tensor<5x3x8x2xbf16>
  exec.yield %all : tensor<5x3x8x2xbf16>
}
exec.kernel @turned_odd_number(%x: tensor<7x2xf32>, %y: tensor<7x4xf32>) : (memref<7x2xf32>, memref<7x4xf32>)
    -> (memref<7x4xf32>, memref<7x4xf32>) {
  %odd = cs336.slice %x offsets = [0, 1] : tensor<7x2xf32> -> tensor<7x1xf32>
  %middle = cs336.slice %y offsets = [0, 1] : tensor<7x4xf32> -> tensor<7x2xf32>
  %n = cs336.neg %odd : tensor<7x1xf32>
  %mixed = cs336.concat axis = 1 %n, %middle, %odd
      : tensor<7x1xf32>, tensor<7x2xf32>, tensor<7x1xf32> -> tensor<7x4xf32>
  %padded = cs336.pad %middle offsets = [0, 1] : tensor<7x2xf32> -> tensor<7x4xf32>
  exec.yield %mixed, %padded : tensor<7x4xf32>, tensor<7x4xf32>
}
exec.kernel @three_columns(%a: tensor<8x1xbf16>, %b: tensor<8x1xbf16>, %c: tensor<8x1xbf16>)
    : (memref<8x1xbf16>, memref<8x1xbf16>, memref<8x1xbf16>) -> memref<8x3xbf16> {
  %n = cs336.neg %b : tensor<8x1xbf16>
  %y = cs336.concat axis = 1 %a, %n, %c : tensor<8x1xbf16>, tensor<8x1xbf16>, tensor<8x1xbf16> -> tensor<8x3xbf16>
  exec.yield %y : tensor<8x3xbf16>
}
exec.kernel @polynomial_bf16(%x: tensor<40x16xbf16>, %y: tensor<40x16xbf16>)
    : (memref<40x16xbf16>, memref<40x16xbf16>) -> memref<40x16xbf16> {
  %square = cs336.mul %x, %x : tensor<40x16xbf16>
  %sum = cs336.add %square, %y : tensor<40x16xbf16>
  %quotient = cs336.div %sum, %x : tensor<40x16xbf16>
  exec.yield %quotient : tensor<40x16xbf16>
}
exec.kernel @round_f16(%x: tensor<301xf32>) : (memref<301xf32>) -> memref<301xf32> {
  %low = cs336.cast %x : tensor<301xf32> -> tensor<301xf16>
  %y = cs336.cast %low : tensor<301xf16> -> tensor<301xf32>
  exec.yield %y : tensor<301xf32>
}
exec.kernel @casts(%x: tensor<64xf32>, %i: tensor<64xi32>, %b: tensor<64xi1>)
    : (memref<64xf32>, memref<64xi32>, memref<64xi1>)
    -> (memref<64xi64>, memref<64xf64>, memref<64xbf16>, memref<64xi1>) {
  %truncated = cs336.cast %x : tensor<64xf32> -> tensor<64xi64>
  %wide = cs336.cast %i : tensor<64xi32> -> tensor<64xi64>
  %sum = cs336.add %truncated, %wide : tensor<64xi64>
  %double = cs336.cast %x : tensor<64xf32> -> tensor<64xf64>
  %low = cs336.cast %b : tensor<64xi1> -> tensor<64xbf16>
  %nonzero = cs336.cast %i : tensor<64xi32> -> tensor<64xi1>
  exec.yield %sum, %double, %low, %nonzero : tensor<64xi64>, tensor<64xf64>, tensor<64xbf16>, tensor<64xi1>
}
exec.kernel @functions(%x: tensor<500xf64>) : (memref<500xf64>) -> memref<500xf64> {
  %tanh = cs336.tanh %x : tensor<500xf64>
  %exp = cs336.exp %tanh : tensor<500xf64>
  %log = cs336.log %exp : tensor<500xf64>
  %erf = cs336.erf %log : tensor<500xf64>
  %sin = cs336.sin %x : tensor<500xf64>
  %cos = cs336.cos %x : tensor<500xf64>
  %a = cs336.sub %erf, %sin : tensor<500xf64>
  %b = cs336.mul %a, %cos : tensor<500xf64>
  %r = cs336.rsqrt %exp : tensor<500xf64>
  %s = cs336.sqrt %exp : tensor<500xf64>
  %p = cs336.pow %s, %r : tensor<500xf64>
  %c = cs336.add %b, %p : tensor<500xf64>
  exec.yield %c : tensor<500xf64>
}
exec.kernel @extremes(%x: tensor<64xf32>, %y: tensor<64xf32>)
    : (memref<64xf32>, memref<64xf32>) -> (memref<64xf32>, memref<64xf32>) {
  %largest = cs336.max %x, %y : tensor<64xf32>
  %smallest = cs336.min %x, %y : tensor<64xf32>
  exec.yield %largest, %smallest : tensor<64xf32>, tensor<64xf32>
}
"""

ADAMW = """
exec.kernel @adamw_{form}(%p: tensor<30x12xf32>, %g: tensor<30x12xf32>, %m: tensor<30x12xf32>, %v: tensor<30x12xf32>,
    %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>, %scale: tensor<f32>, %apply: tensor<i1>)
    : (memref<30x12xf32>, memref<30x12xf32>, memref<30x12xf32>, memref<30x12xf32>,
       memref<f32>, memref<f32>, memref<f32>, memref<f32>, memref<i1>)
    -> (memref<30x12xf32>, memref<30x12xf32>, memref<30x12xf32>) {{
  %p1, %m1, %v1 = cs336.adamw %p, %g, %m, %v
      lr = %lr, correction1 = %c1, correction2 = %c2, scale = %scale, apply = %apply
      {{beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64,
       form = #cs336.adamw_form<{form}>}}
      : tensor<30x12xf32>, tensor<30x12xf32>, tensor<30x12xf32>, tensor<f32>
  exec.yield %p1, %m1, %v1 : tensor<30x12xf32>, tensor<30x12xf32>, tensor<30x12xf32>
}}
"""
ADAMW_FORMS = ("pytorch", "cs336_2025", "cs336_2026")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, HostKernel]:
    text = KERNELS + "".join(ADAMW.format(form=form) for form in ADAMW_FORMS)
    return compile_for_host(emit_cuda(text, "--require-all"), tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def run(kernel: HostKernel, inputs: list[Array], outputs: list[tuple[tuple[int, ...], Any]]) -> list[Array]:
    """Run a kernel with outputs between guard elements, which must not change."""
    guard = 16
    buffers = []
    for shape, dtype in outputs:
        size = int(np.prod(shape, dtype=np.int64))
        buffer = np.zeros(size + 2 * guard, dtype)
        buffer[:guard] = buffer[-guard:] = 1
        buffers.append(buffer)
    kernel(*inputs, *(buffer[guard:] for buffer in buffers))
    for buffer in buffers:
        assert (buffer[:guard] == 1).all() and (buffer[-guard:] == 1).all(), "the kernel wrote outside its output"
    return [buffer[guard:-guard].reshape(shape) for buffer, (shape, _) in zip(buffers, outputs, strict=True)]


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def test_silu_mul(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    gate, up = normal(rng, 3, 32, 128) * 20, normal(rng, 3, 32, 128)
    (product,) = run(kernels["silu_mul"], [gate, up], [(gate.shape, np.float32)])
    wide = gate.astype(np.float64)
    np.testing.assert_allclose(product, wide / (1 + np.exp(-wide)) * up, rtol=1e-6, atol=1e-30)


def test_broadcast_operands(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, w, r = normal(rng, 6, 10, 8), normal(rng, 8), normal(rng, 6, 10)
    (y,) = run(kernels["scale_rows"], [x, w, r], [(x.shape, np.float32)])
    np.testing.assert_array_equal(y, w * (x * r[:, :, None]))


def test_causal_mask(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    scores = normal(rng, 5, 32, 32)
    (masked,) = run(kernels["causal_mask"], [scores], [(scores.shape, np.float32)])
    np.testing.assert_array_equal(masked, np.where(np.tri(32, dtype=bool), scores, -np.inf))


def test_integers_wrap_around(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x = rng.integers(-(2**31), 2**31, 64).astype(np.int32)
    (more,) = run(kernels["wraps"], [x], [(x.shape, np.bool_)])
    np.testing.assert_array_equal(more, x <= 0)


def test_part_of_a_wider_row(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    storage = normal(rng, 7, 256)
    (y,) = run(kernels["part_of_row"], [storage], [((7, 64), np.float32)])
    np.testing.assert_array_equal(y, -storage[:, 64:128])


def test_transposed_operands(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    storage, y = normal(rng, 33, 9), normal(rng, 33, 9)
    (total,) = run(kernels["transposed_sum"], [storage, y], [((9, 33), np.float32)])
    np.testing.assert_array_equal(total, storage.T + y.T)


def test_operands_turned_in_shared_memory(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, y, w = normal(rng, 3, 70, 45).astype(BF16), normal(rng, 70, 45, 3).astype(BF16), normal(rng, 45).astype(BF16)
    (scaled,) = run(kernels["turned"], [x, y, w], [((3, 45, 70), BF16)])
    np.testing.assert_array_equal(scaled, (x.transpose(0, 2, 1) + y.transpose(2, 1, 0)) * w[:, None])
    storage = rng.standard_normal((65, 4, 33))
    (swapped,) = run(kernels["swapped"], [storage], [((33, 4, 65), np.float64)])
    np.testing.assert_array_equal(swapped, storage.transpose(2, 1, 0))


def test_rows_by_index(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    table, ids = normal(rng, 97, 20), rng.integers(0, 97, (3, 11))
    (rows,) = run(kernels["embedding"], [table, ids], [((3, 11, 20), np.float32)])
    np.testing.assert_array_equal(rows, table[ids])


def test_rows_added_to_a_table(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    # Row 4 has no position, and other rows have many.
    ids, dx = rng.choice([0, 1, 2, 3, 5, 6, 7, 8], (5, 14)), normal(rng, 5, 14, 264)
    expected = np.zeros((9, 264), np.float32)
    np.add.at(expected, ids, dx)
    (table,) = run(kernels["embedding_grad"], [ids, dx], [(expected.shape, np.float32)])
    np.testing.assert_array_equal(table, expected)


def test_rows_added_to_a_narrow_table_are_rounded_one_by_one(
    kernels: dict[str, HostKernel], rng: np.random.Generator
) -> None:
    ids, dx = rng.integers(0, 5, (3, 20), np.int32), normal(rng, 3, 20, 7).astype(BF16)
    expected = np.zeros((5, 7), BF16)
    for row, term in zip(ids.reshape(-1), dx.reshape(-1, 7), strict=True):
        expected[row] = expected[row] + term
    (table,) = run(kernels["embedding_grad_narrow"], [np.ascontiguousarray(ids.T), dx], [(expected.shape, BF16)])
    np.testing.assert_array_equal(table, expected)


def test_a_row_added_to_a_table(kernels: dict[str, HostKernel]) -> None:
    operands = [np.array(1), np.array([2.5], np.float32)]
    (table,) = run(kernels["embedding_grad_of_one"], operands, [((3, 1), np.float32)])
    np.testing.assert_array_equal(table, [[0], [2.5], [0]])
    row = np.arange(7, dtype=np.float32)
    (table,) = run(kernels["embedding_grad_of_one_row"], [np.array(2), row], [((3, 7), np.float32)])
    np.testing.assert_array_equal(table, [np.zeros(7), np.zeros(7), row])


def test_constants_that_differ(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x = normal(rng, 5, 3).astype(BF16)
    (y,) = run(kernels["table_of_constants"], [x], [(x.shape, BF16)])
    np.testing.assert_array_equal(y, x * np.array([1, -2.5, 4], BF16))


def add_constants(values: Array) -> str:
    """A kernel that adds float32 constants to a row."""
    row = f"tensor<{values.size}xf32>"
    bits = values.astype("<f4").tobytes().hex()
    return f"""exec.kernel @add(%x: {row}) : (memref<{values.size}xf32>) -> memref<{values.size}xf32> {{
  %c = cs336.constant dense<"0x{bits}"> : {row}
  %y = cs336.add %x, %c : {row}
  exec.yield %y : {row}
}}"""


def test_many_constants(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    x, values = normal(rng, 20001), normal(rng, 20001)
    kernel = compile_for_host(emit_cuda(add_constants(values), "--require-all"), tmp_path)["add"]
    (y,) = run(kernel, [x], [(x.shape, np.float32)])
    np.testing.assert_array_equal(y, x + values)


def test_more_constants_than_a_text_may_have_are_refused(rng: np.random.Generator) -> None:
    size = 2**20 + 1
    assert (
        f"it reads a constant of {size} elements, more than the {size - 1} that a kernel's text may have: "
        "make it an input or a parameter" in emit_cuda(add_constants(normal(rng, size)))
    )


def test_a_reshape_that_strides_cannot_say(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    storage = normal(rng, 10, 6)
    (y,) = run(kernels["reshape"], [storage], [((4, 15), np.float32)])
    np.testing.assert_array_equal(y, storage.T.reshape(4, 15))


def test_boxes_in_zeros(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    a, b = normal(rng, 5, 8), normal(rng, 5, 4)
    total, origin = run(kernels["boxes"], [a, b], [((7, 24), np.float32)] * 2)
    np.testing.assert_array_equal(origin, np.pad(b, ((0, 2), (0, 20))))
    np.testing.assert_array_equal(total, np.pad(a, ((1, 1), (8, 8))) + origin)


def test_tensors_side_by_side(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    parts = [normal(rng, 7, width).astype(BF16) for width in (1, 1, 3)]
    (y,) = run(kernels["pairs"], parts, [((7, 5), BF16)])
    np.testing.assert_array_equal(y, np.concatenate(parts, axis=1))


def test_boxes_of_one_shape(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    a, b = normal(rng, 6, 24), normal(rng, 6, 24)
    shapes = [((6, 48), np.float32), ((6, 24), np.float32), ((18, 24), np.float32)]
    beside, product, below = run(kernels["boxes_of_one_shape"], [a, b], shapes)
    np.testing.assert_array_equal(beside, np.concatenate([a + b, a * b], axis=1))
    np.testing.assert_array_equal(product, a * b)
    np.testing.assert_array_equal(below, np.concatenate([b, a + b, a]))


def test_turned_pairs(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, cos, sin = normal(rng, 5, 8, 2), normal(rng, 8, 1), normal(rng, 8, 1)
    (y,) = run(kernels["turned_pairs"], [x, cos, sin], [(x.shape, np.float32)])
    even, odd = x[..., :1], x[..., 1:]
    np.testing.assert_array_equal(y, np.concatenate([even * cos - odd * sin, even * sin + odd * cos], axis=2))


def test_turned_pairs_beside_others(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, y, z = (normal(rng, 5, 1, 8, 2).astype(BF16) for _ in range(3))
    (stacked,) = run(kernels["turned_and_stacked"], [x, y, z], [((5, 3, 8, 2), BF16)])
    turned = [np.stack([-x[..., 1], x[..., 0]], axis=3), np.stack([y[..., 1], -y[..., 0]], axis=3)]
    np.testing.assert_array_equal(stacked, np.concatenate([*turned, z], axis=1))


def test_short_axis_of_parts(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, y = normal(rng, 7, 2), normal(rng, 7, 4)
    mixed, padded = run(kernels["turned_odd_number"], [x, y], [((7, 4), np.float32)] * 2)
    np.testing.assert_array_equal(mixed, np.concatenate([-x[:, 1:], y[:, 1:3], x[:, 1:]], axis=1))
    np.testing.assert_array_equal(padded, np.pad(y[:, 1:3], ((0, 0), (1, 1))))


def test_columns_that_no_vector_holds(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    a, b, c = (normal(rng, 8, 1).astype(BF16) for _ in range(3))
    (y,) = run(kernels["three_columns"], [a, b, c], [((8, 3), BF16)])
    np.testing.assert_array_equal(y, np.concatenate([a, -b, c], axis=1))


def test_every_bf16_operation_rounds(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, y = (normal(rng, 40, 16).astype(BF16) for _ in range(2))
    (quotient,) = run(kernels["polynomial_bf16"], [x, y], [(x.shape, BF16)])
    np.testing.assert_array_equal(quotient, (x * x + y) / x)
    at_once = ((x.astype(np.float32) ** 2 + y.astype(np.float32)) / x.astype(np.float32)).astype(BF16)
    assert (quotient != at_once).any(), "the operands tell rounding each operation from rounding once"


def test_a_narrowing_cast_before_a_widening_one_stays(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x = np.concatenate([normal(rng, 298), np.float32([1e6, 1e-8, 0.01])])
    (y,) = run(kernels["round_f16"], [x], [(x.shape, np.float32)])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(y, x.astype(np.float16).astype(np.float32))


def test_casts(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, i, b = normal(rng, 64) * 100, rng.integers(-3, 3, 64, np.int32), rng.integers(0, 2, 64).astype(bool)
    outputs = [((64,), dtype) for dtype in (np.int64, np.float64, BF16, np.bool_)]
    total, double, low, nonzero = run(kernels["casts"], [x, i, b], outputs)
    np.testing.assert_array_equal(total, x.astype(np.int64) + i)
    np.testing.assert_array_equal(double, x)
    np.testing.assert_array_equal(low, b.astype(BF16))
    np.testing.assert_array_equal(nonzero, i != 0)


def test_functions(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x = rng.standard_normal(500)
    (y,) = run(kernels["functions"], [x], [(x.shape, np.float64)])
    exp = np.exp(np.tanh(x))
    erf = np.vectorize(math.erf)(np.log(exp))
    np.testing.assert_allclose(
        y, (erf - np.sin(x)) * np.cos(x) + np.sqrt(exp) ** (1 / np.sqrt(exp)), rtol=1e-13, atol=1e-14
    )


def test_extremes_of_nan(kernels: dict[str, HostKernel], rng: np.random.Generator) -> None:
    x, y = normal(rng, 64), normal(rng, 64)
    x[:8], y[4:12] = np.nan, np.nan
    x[12:14], y[12:14] = np.inf, -np.inf
    largest, smallest = run(kernels["extremes"], [x, y], [((64,), np.float32)] * 2)
    np.testing.assert_array_equal(largest, np.maximum(x, y))
    np.testing.assert_array_equal(smallest, np.minimum(x, y))


def adamw(
    form: str, p: Array, g: Array, m: Array, v: Array, lr: float, c1: float, c2: float
) -> tuple[Array, Array, Array]:
    """Run one update in float64, from the formulas of `cs336.adamw`."""
    m, v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
    if form == "pytorch":
        p = p - lr * 0.1 * p
        return p - lr * (m / c1) / (np.sqrt(v / c2) + 1e-8), m, v
    step = lr * np.sqrt(c2) / c1 * m / (np.sqrt(v) + 1e-8)
    if form == "cs336_2025":
        p = p - step
        return p - lr * 0.1 * p, m, v
    return p - lr * 0.1 * p - step, m, v


@pytest.mark.parametrize("form", ADAMW_FORMS)
@pytest.mark.parametrize("apply", [True, False])
def test_adamw_in_place(kernels: dict[str, HostKernel], rng: np.random.Generator, form: str, apply: bool) -> None:
    p, g, m, v = normal(rng, 30, 12), normal(rng, 30, 12), normal(rng, 30, 12), np.abs(normal(rng, 30, 12))
    lr, c1, c2, scale = (np.float32([value]) for value in (1e-2, 0.271, 0.142625, 0.5))
    wide = [array.astype(np.float64) for array in (p, g * scale, m, v)]
    expected = adamw(form, *wide, float(lr[0]), float(c1[0]), float(c2[0])) if apply else (p.copy(), m.copy(), v.copy())
    kernels[f"adamw_{form}"](p, g, m, v, lr, c1, c2, scale, np.array([apply]), p, m, v)
    for actual, exact in zip((p, m, v), expected, strict=True):
        np.testing.assert_allclose(actual, exact, rtol=1e-5, atol=1e-6)


def test_updates_of_many_parameters_at_once(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    # Fewer than a vector, a vector and a half, less and more than a block, whole blocks.
    sizes = [1, 3, 6, 4096, 13, *(int(size) for size in rng.integers(2, 10000, 5)), 8192]
    kernels, launches, buffers = "", "", ""
    for number, size in enumerate(sizes):
        kernels += ADAMW.format(form="pytorch").replace("adamw_pytorch", f"update{number}").replace("30x12", str(size))
        own = [f"%{name}{number}" for name in "pgmv"]
        own_types, scalar_types = ", ".join([f"memref<{size}xf32>"] * 4), "memref<f32>, " * 4 + "memref<i1>"
        kinds = {"p": "parameter", "m": "state", "v": "state"}
        for name in "pmv":
            kernels += f"exec.variable @{name}{number} {kinds[name]} : memref<{size}xf32>\n"
            buffers += f"%{name}{number} = exec.get @{name}{number} : memref<{size}xf32>\n"
        buffers += f'%g{number} = exec.input "g{number}" : memref<{size}xf32>\n'
        launches += (
            f"exec.launch @update{number} ins({', '.join(own)}, %lr, %c1, %c2, %scale, %apply : {own_types}, "
            f"{scalar_types}) outs({own[0]}, {own[2]}, {own[3]} : {', '.join([f'memref<{size}xf32>'] * 3)})\n"
        )
    for name, kind in (("lr", "f32"), ("c1", "f32"), ("c2", "f32"), ("scale", "f32"), ("apply", "i1")):
        buffers += f'%{name} = exec.input "{name}" : memref<{kind}>\n'
    ir = f"{kernels}exec.entry @train mode<train> {{\n{buffers}{launches}}}\n"
    # A parameter of one element is read like a scalar, so it stays separate.
    batched = run_opt(ir, "--exec-batch-launches")
    assert batched.count("exec.launch") == 2
    compiled = compile_for_host(emit_cuda(batched, "--require-all"), tmp_path)
    (kernel,) = (kernel for name, kernel in compiled.items() if "_batch_" in name)

    members = [
        [normal(rng, size), normal(rng, size), normal(rng, size), np.abs(normal(rng, size))] for size in sizes[1:]
    ]
    lr, c1, c2, scale = (np.float32([value]) for value in (1e-2, 0.271, 0.142625, 0.5))
    expected = []
    for p, g, m, v in members:
        wide = [array.astype(np.float64) for array in (p, g * scale, m, v)]
        expected.append(adamw("pytorch", *wide, float(lr[0]), float(c1[0]), float(c2[0])))
    inputs = [buffer for member in members for buffer in member]
    outputs = [buffer for p, _, m, v in members for buffer in (p, m, v)]
    kernel(*inputs, lr, c1, c2, scale, np.array([True]), *outputs)
    for (p, _, m, v), exact in zip(members, expected, strict=True):
        for actual, wanted in zip((p, m, v), exact, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-6)


def test_operands_that_a_launch_places_askew_are_not_read_as_vectors(
    tmp_path: pathlib.Path, rng: np.random.Generator
) -> None:
    ir = """
exec.kernel @square(%x: tensor<4x8xf32>) : (memref<4x8xf32, strided<[12, 1]>>) -> memref<4x8xf32> {
  %y = cs336.mul %x, %x : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}
exec.entry @forward mode<forward> {
  %x = exec.input "x" : memref<4x12xf32>
  %y = exec.output "y" output : memref<4x8xf32>
  %v = exec.view %x : memref<4x12xf32> to memref<4x8xf32, strided<[12, 1], offset: OFFSET>>
  exec.launch @square ins(%v : memref<4x8xf32, strided<[12, 1], offset: OFFSET>>) outs(%y : memref<4x8xf32>)
}
"""
    storage = normal(rng, 4, 12)
    for offset, vectors in ((4, True), (2, True), (1, False)):
        text = emit_cuda(ir.replace("OFFSET", str(offset)))
        assert ("loadVector" in text) == vectors
        folder = tmp_path / str(offset)
        folder.mkdir()
        kernel = compile_for_host(text, folder)["square"]
        (y,) = run(kernel, [storage.reshape(-1)[offset:]], [((4, 8), np.float32)])
        np.testing.assert_array_equal(y, storage[:, offset : offset + 8] ** 2)

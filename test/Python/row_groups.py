# ===- row_groups.py - Fused groups of norms, softmax and cross entropy ---===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The groups with row reductions that fusion makes of a training step, and their results.

Bytes are those of a kernel that reads each element once and writes each once, for R rows of N elements.

=====================  ==========================================================================
group                  bytes, float32 residual stream and bf16 elsewhere
=====================  ==========================================================================
RMSNorm                4RN + 4N + 2RN, with the residual's addition (4 + 2 + 4 + 2)RN + 4N; + 4R for r
its input's gradient   (4 + 2 + 4)RN + 4N + 4R, with the residual's gradient 4RN more
softmax                (2 + 2)RN
its gradient           (2 + 2 + 2)RN
cross entropy          (2 + 2)RN + 8R + 4R, the gradient included
=====================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from group_builder import Group, Value
from numpy.typing import NDArray

Array = NDArray[Any]
EPS = 1e-5


@dataclass(frozen=True)
class RowGroup:
    """A group, and a function from its inputs to its outputs in float64."""

    group: Group
    reference: Callable[..., Sequence[Array]]


def rms_norm(
    shape: Sequence[int], x: str = "f32", out: str = "bf16", residual: str = "", keeps_root: bool = False
) -> RowGroup:
    """Compute w · x · r, cast, where r = rsqrt(mean(x²) + eps). With `residual`, x is a sum, which is also returned."""
    g = Group()
    total = source = g.input(shape, x)
    if residual:
        total = g.pointwise("add", source, g.cast(g.input(shape, residual), x))
    weight = g.input(shape[-1:])
    wide = g.cast(total, "f32")
    mean = g.pointwise("mul", g.reduce("sum", g.pointwise("mul", wide, wide)), _row(g, 1 / shape[-1], wide))
    root = g.pointwise("rsqrt", g.pointwise("add", mean, _row(g, EPS, wide)))
    normal = g.pointwise("mul", wide, g.along_rows(root, wide))
    y = g.cast(g.pointwise("mul", g.along_columns(weight, wide), normal), out)
    g.outputs = [*([total] if residual else []), y, *([root] if keeps_root else [])]

    def reference(x: Array, *others: Array) -> list[Array]:
        *added, w = others
        total = x + sum(added)
        root = 1 / np.sqrt(np.mean(total**2, -1, keepdims=True) + EPS)
        return [*([total] if added else []), w * total * root, *([root[..., 0]] if keeps_root else [])]

    return RowGroup(g, reference)


def _row(g: Group, number: float, like: Value) -> Value:
    """Broadcast one constant per row."""
    return g.constant(number, Value("", like.shape[:-1], like.dtype))


def rms_norm_backward(shape: Sequence[int], dy: str = "bf16", residual: bool = False) -> RowGroup:
    """Compute dx = r·(w·dy) − x·r³/N·Σ(w·dy·x), plus the gradient that bypasses the norm."""
    g = Group()
    x, grad, weight, root = g.input(shape), g.input(shape, dy), g.input(shape[-1:]), g.input(shape[:-1])
    scaled = g.pointwise("mul", g.cast(grad, "f32"), g.along_columns(weight, x))
    dot = g.reduce("sum", g.pointwise("mul", scaled, x))
    cube = g.pointwise("mul", root, g.pointwise("mul", root, root))
    factor = g.pointwise("mul", dot, g.pointwise("mul", cube, _row(g, -1 / shape[-1], x)))
    dx = g.pointwise(
        "add",
        g.pointwise("mul", scaled, g.along_rows(root, x)),
        g.pointwise("mul", x, g.along_rows(factor, x)),
    )
    if residual:
        dx = g.pointwise("add", g.input(shape), dx)
    g.outputs = [dx]

    def reference(x: Array, dy: Array, w: Array, r: Array, *past: Array) -> list[Array]:
        r = r[..., None]
        dot = np.sum(dy * w * x, -1, keepdims=True)
        return [dy * w * r - x * r**3 / x.shape[-1] * dot + sum(past)]

    return RowGroup(g, reference)


def rms_norm_weight_gradient(shape: Sequence[int], dy: str = "bf16") -> RowGroup:
    """Compute dw = Σ_rows dy·x·r: a reduction of columns."""
    g = Group()
    x, grad, root = g.input(shape), g.input(shape, dy), g.input(shape[:-1])
    normal = g.pointwise("mul", x, g.along_rows(root, x))
    product = g.pointwise("mul", g.cast(grad, "f32"), normal)
    g.outputs = [g.reduce("sum", product, range(len(shape) - 1))]
    axes = tuple(range(len(shape) - 1))
    return RowGroup(g, lambda x, dy, r: [np.sum(dy * x * r[..., None], axes)])


def layer_norm(shape: Sequence[int], dtype: str = "f32") -> RowGroup:
    """Compute the mean, and then the variance of the differences from it."""
    g = Group()
    x, gain, bias = g.input(shape, dtype), g.input(shape[-1:]), g.input(shape[-1:])
    wide = g.cast(x, "f32")
    mean = g.pointwise("mul", g.reduce("sum", wide), _row(g, 1 / shape[-1], wide))
    centered = g.pointwise("sub", wide, g.along_rows(mean, wide))
    square = g.reduce("sum", g.pointwise("mul", centered, centered))
    variance = g.pointwise("mul", square, _row(g, 1 / shape[-1], wide))
    root = g.pointwise("rsqrt", g.pointwise("add", variance, _row(g, EPS, wide)))
    normal = g.pointwise("mul", centered, g.along_rows(root, wide))
    y = g.pointwise("add", g.pointwise("mul", normal, g.along_columns(gain, wide)), g.along_columns(bias, wide))
    g.outputs = [g.cast(y, dtype), mean, root]

    def reference(x: Array, gain: Array, bias: Array) -> list[Array]:
        mean = x.mean(-1, keepdims=True)
        root = 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + EPS)
        return [(x - mean) * root * gain + bias, mean[..., 0], root[..., 0]]

    return RowGroup(g, reference)


def softmax(
    shape: Sequence[int],
    dtype: str = "f32",
    scale: float = 1.0,
    causal: bool = False,
    strides: tuple[int, ...] | None = None,
    num_axes: int = 1,
) -> RowGroup:
    """Compute softmax of scale·x over the last axes, of the elements at or below the diagonal."""
    g = Group()
    axes = range(len(shape) - num_axes, len(shape))
    x = g.input(shape, dtype, strides)
    scores = g.cast(x, "f32")
    if scale != 1:
        scores = g.pointwise("mul", scores, g.constant(scale, scores))
    if causal:
        query, key = (g.iota(axis, shape[-2:], "i32") for axis in (0, 1))
        visible = g.broadcast(g.compare("ge", query, key), shape, range(len(shape) - 2, len(shape)))
        scores = g.select(visible, scores, g.constant("0xFF800000", scores))
    largest = g.reduce("max", scores, axes)
    exponential = g.pointwise("exp", g.pointwise("sub", scores, g.along_rows(largest, scores)))
    total = g.reduce("sum", exponential, axes)
    g.outputs = [g.cast(g.pointwise("div", exponential, g.along_rows(total, scores)), dtype)]

    def reference(x: Array) -> list[Array]:
        scores = np.where(np.tri(*x.shape[-2:], dtype=bool), scale * x, -np.inf) if causal else scale * x
        exponential = np.exp(scores - scores.max(tuple(axes), keepdims=True))
        return [exponential / exponential.sum(tuple(axes), keepdims=True)]

    return RowGroup(g, reference)


def softmax_backward(shape: Sequence[int], dtype: str = "bf16", scale: float = 1.0) -> RowGroup:
    """Compute scale·y·(dy − Σ y·dy)."""
    g = Group()
    y, dy = g.cast(g.input(shape, dtype), "f32"), g.cast(g.input(shape, dtype), "f32")
    dot = g.reduce("sum", g.pointwise("mul", y, dy))
    difference = g.pointwise("sub", dy, g.along_rows(dot, y))
    dx = g.pointwise("mul", g.pointwise("mul", y, difference), g.constant(scale, y))
    g.outputs = [g.cast(dx, dtype)]
    return RowGroup(g, lambda y, dy: [scale * y * (dy - np.sum(y * dy, -1, keepdims=True))])


def cross_entropy(shape: Sequence[int], dtype: str = "bf16", gradient: float = 1.0) -> RowGroup:
    """Compute the loss of every row, and `gradient` times its gradient with respect to the logits."""
    g = Group()
    logits = g.cast(g.input(shape, dtype), "f32")
    targets = g.input(shape[:-1], "i64")
    shifted = g.pointwise("sub", logits, g.along_rows(g.reduce("max", logits), logits))
    exponential = g.pointwise("exp", shifted)
    total = g.reduce("sum", exponential)
    index = g.iota(len(shape) - 1, shape, "i64")
    is_target = g.compare("eq", index, g.along_rows(targets, index))
    picked = g.reduce("sum", g.select(is_target, shifted, g.constant(0, shifted)))
    loss = g.pointwise("sub", g.pointwise("log", total), picked)
    factor = g.pointwise("div", g.constant(gradient, total), total)
    probability = g.pointwise("mul", exponential, g.along_rows(factor, shifted))
    onehot = g.select(is_target, g.constant(-gradient, shifted), g.constant(0, shifted))
    g.outputs = [loss, g.cast(g.pointwise("add", onehot, probability), dtype)]

    def reference(logits: Array, targets: Array) -> list[Array]:
        shifted = logits - logits.max(-1, keepdims=True)
        total = np.exp(shifted).sum(-1, keepdims=True)
        onehot = np.arange(logits.shape[-1]) == targets[..., None]
        return [
            np.log(total[..., 0]) - shifted[onehot].reshape(targets.shape),
            gradient * (np.exp(shifted) / total - onehot),
        ]

    return RowGroup(g, reference)


def log_sum_exp(shape: Sequence[int], dtype: str = "f32") -> RowGroup:
    """Compute one number per row, whose second reduction needs the first."""
    g = Group()
    x = g.input(shape, dtype)
    largest = g.reduce("max", x)
    total = g.reduce("sum", g.pointwise("exp", g.pointwise("sub", x, g.along_rows(largest, x))))
    g.outputs = [g.pointwise("add", g.pointwise("log", total), largest)]

    def reference(x: Array) -> list[Array]:
        largest = x.max(-1, keepdims=True)
        return [np.log(np.exp(x - largest).sum(-1)) + largest[..., 0]]

    return RowGroup(g, reference)

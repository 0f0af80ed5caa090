# ===- attention_scores.py - Attentions with score functions --------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Attentions whose scores are more than scale and mask, as programs of primitives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from attention_program import attend, minus_infinity, split_heads
from dialect_program import UNARY, Program, Value
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass
class Scores:
    """Scores that a modification changes: [batch, heads, queries, keys] of `dtype`."""

    program: Program
    value: Value
    dtype: str
    rng: np.random.Generator

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def index(self, axis: int, dtype: str = "i32") -> Value:
        """Return the index along an axis of [queries, keys]."""
        return self.program.iota(axis, self.shape[-2:], dtype)

    def spread(self, value: Value, dims: list[int]) -> Value:
        return self.program.broadcast(value, dims, self.shape)

    def splat(self, number: float) -> Value:
        return self.program.constant(number, self.dtype, self.shape)

    def integers(self, number: int) -> Value:
        """Return an i32 of [queries, keys]."""
        return splat_integers(self.program, number, self.shape[-2:])

    def hide(self, visible: Value) -> None:
        """Hide scores where `visible`, of [queries, keys] or of the scores' shape, is false."""
        if len(visible.shape) == 2:
            visible = self.spread(visible, [2, 3])
        self.value = self.program.select(visible, self.value, minus_infinity(self.program, self.dtype, self.shape))

    def add(self, value: Value) -> None:
        self.value = self.program.binary("add", self.value, value)


def splat_integers(program: Program, number: int, shape: tuple[int, ...]) -> Value:
    value = program.constant(np.zeros((1, 1), np.int64), "i32")
    size = "x".join(map(str, shape))
    program.lines[-1] = f"{value.name} = cs336.constant dense<{number}> : tensor<{size}xi32>"
    value.array = np.full(shape, number)
    return value


def window(before: int, after: int = 0, offset: int = 0) -> Callable[[Scores], None]:
    """Show the keys from `before` positions before the query, shifted by `offset`, to `after` after it."""

    def modify(scores: Scores) -> None:
        p = scores.program
        query = p.binary("add", scores.index(0), scores.integers(offset))
        distance = p.binary("sub", query, scores.index(1))
        near = p.compare("le", distance, scores.integers(before))
        scores.hide(p.logical("and", near, p.compare("ge", distance, scores.integers(-after))))

    return modify


def causal(offset: int = 0) -> Callable[[Scores], None]:
    """Show the keys up to the query, whose position is `offset` larger than its index."""

    def modify(scores: Scores) -> None:
        p = scores.program
        scores.hide(
            p.compare("ge", p.binary("add", scores.index(0), scores.integers(offset)), scores.index(1))
            if offset
            else p.compare("ge", scores.index(0), scores.index(1))
        )

    return modify


def cap(limit: float) -> Callable[[Scores], None]:
    """Return limit · tanh(score / limit)."""

    def modify(scores: Scores) -> None:
        p = scores.program
        ratio = p.binary("div", scores.value, scores.splat(limit))
        scores.value = p.binary("mul", p.unary("tanh", ratio), scores.splat(limit))

    return modify


def apply(name: str) -> Callable[[Scores], None]:
    """Apply an operation of one operand to the scores, or to 1 + score² if it requires positive numbers."""

    def modify(scores: Scores) -> None:
        p, argument = scores.program, scores.value
        if name in ("log", "sqrt", "rsqrt"):
            argument = p.binary("add", p.binary("mul", argument, argument), scores.splat(1))
        scores.value = p.unary(name, argument)

    return modify


def linear_bias(scores: Scores) -> None:
    """Add slope(head) · (key − query), with slopes that are trained."""
    p, heads = scores.program, scores.shape[1]
    slopes = p.parameter(2.0 ** -np.arange(1, heads + 1), scores.dtype)
    distance = p.cast(p.binary("sub", scores.index(1), scores.index(0)), scores.dtype)
    scores.add(p.binary("mul", scores.spread(slopes, [1]), scores.spread(distance, [2, 3])))


def bias_table(reach: int) -> Callable[[Scores], None]:
    """Add a trained number by head and by the distance, which is at most `reach`."""

    def modify(scores: Scores) -> None:
        p, heads = scores.program, scores.shape[1]
        table = p.parameter(np.round(scores.rng.standard_normal((2 * reach + 1, heads)) * 32) / 32, scores.dtype)
        distance = p.binary("sub", scores.index(1), scores.index(0))
        near = p.binary("min", p.binary("max", distance, scores.integers(-reach)), scores.integers(reach))
        rows = p.embedding(table, p.binary("add", near, scores.integers(reach)))
        scores.add(scores.spread(p.transpose(rows, [2, 0, 1]), [1, 2, 3]))

    return modify


def whole_bias(scores: Scores) -> None:
    """Add a trained number by head, query and key."""
    p = scores.program
    bias = p.parameter(np.round(scores.rng.standard_normal(scores.shape[1:]) * 32) / 32, scores.dtype)
    scores.add(scores.spread(bias, [1, 2, 3]))


def lengths_from(first: int) -> Callable[[Scores], None]:
    """Show the keys before the length of each batch; the first length is `first`, and the last one is all keys."""

    def modify(scores: Scores) -> None:
        p, (batches, _, _, keys) = scores.program, scores.shape
        numbers = p.input(np.linspace(first, keys, batches).astype(np.int64), "i32")
        keys_of = p.iota(3, scores.shape, "i32")
        scores.hide(p.compare("lt", keys_of, scores.spread(numbers, [0])))

    return modify


lengths = lengths_from(1)


def documents(scores: Scores) -> None:
    """Show the keys of the query's document."""
    p, (batches, _, queries, keys) = scores.program, scores.shape
    assert queries == keys
    ids = p.input(np.sort(scores.rng.integers(0, 4, (batches, queries)), axis=1), "i32")
    scores.hide(p.compare("eq", scores.spread(ids, [0, 2]), scores.spread(ids, [0, 3])))


def mixed_documents(scores: Scores) -> None:
    """Show the keys of the query's document, whose positions lie anywhere in the first or in the second half."""
    p, (batches, _, queries, keys) = scores.program, scores.shape
    assert queries == keys
    ids = scores.rng.integers(0, 3, (batches, queries))
    ids[:, queries // 2 :] += 3
    numbers = p.input(ids, "i32")
    scores.hide(p.compare("eq", scores.spread(numbers, [0, 2]), scores.spread(numbers, [0, 3])))


def single_documents(scores: Scores) -> None:
    """Show the keys of the query's document. No id is odd, and some documents have one position.

    Such documents are the first and the last position, and both sides of a border of tiles.
    """
    p, (batches, _, queries, keys) = scores.program, scores.shape
    assert queries == keys > 258
    first = [0, 1, 127, 128, 129, 256, 257, 258, queries - 1]
    ids = 2 * np.searchsorted(first, np.arange(queries), side="right") * np.arange(1, batches + 1)[:, None]
    numbers = p.input(ids, "i32")
    scores.hide(p.compare("eq", scores.spread(numbers, [0, 2]), scores.spread(numbers, [0, 3])))


def disjoint_documents(scores: Scores) -> None:
    """Show the keys of the query's document. The halves have no id in common, but overlapping ranges of ids.

    The ids are 0, 4 and 8 in the first half, and 2 and 6 in the second half. Every 100th position is a document.
    """
    p, (batches, _, queries, keys) = scores.program, scores.shape
    assert queries == keys
    ids = 4 * scores.rng.integers(0, 3, (batches, queries))
    ids[:, queries // 2 :] = 4 * scores.rng.integers(0, 2, (batches, queries - queries // 2)) + 2
    ids[:, ::100] = 2 * np.arange(len(range(0, queries, 100))) + 1
    numbers = p.input(ids, "i32")
    scores.hide(p.compare("eq", scores.spread(numbers, [0, 2]), scores.spread(numbers, [0, 3])))


def padding(scores: Scores) -> None:
    """Show the keys with a 1 in an input: all of the first batch, and two runs of positions in each other batch."""
    p, (batches, _, _, keys) = scores.program, scores.shape
    flags = np.zeros((batches, keys), np.int64)
    flags[0] = 1
    for batch in range(1, batches):
        first, second = np.sort(scores.rng.integers(0, keys, (2, 2)), axis=1)
        flags[batch, first[0] : first[1] + 1] = flags[batch, second[0] : second[1] + 1] = 1
    shown = scores.spread(p.input(flags, "i32"), [0, 3])
    scores.hide(p.compare("gt", shown, splat_integers(p, 0, scores.shape)))


def prefix(scores: Scores) -> None:
    """Show the keys up to the query, and those before a number of each batch."""
    p, (batches, _, _, keys) = scores.program, scores.shape
    numbers = p.input(np.linspace(0, keys * 3 // 4, batches).astype(np.int64), "i32")
    before = p.compare("lt", p.iota(3, scores.shape, "i32"), scores.spread(numbers, [0]))
    order = scores.spread(p.compare("ge", scores.index(0), scores.index(1)), [2, 3])
    scores.hide(p.logical("or", before, order))


def finite_mask(scores: Scores) -> None:
    """Hide later keys with a large number instead of −∞."""
    p = scores.program
    visible = scores.spread(p.compare("ge", scores.index(0), scores.index(1)), [2, 3])
    scores.value = p.select(visible, scores.value, scores.splat(-1e4))


@dataclass(frozen=True)
class Attention:
    """An attention with modified scores, between a head split and a merge."""

    name: str
    batch: int
    queries: int
    keys: int
    heads: int
    key_heads: int
    dim: int
    modifications: tuple[Callable[[Scores], None], ...]
    #: Standard deviation of queries.
    size: float = 1

    def __str__(self) -> str:
        return self.name

    def program(self, dtype: str = "f32", seed: int = 0) -> Program:
        """Return a program with the outputs "y" and "loss", a weighted sum of it."""
        scores, values = self._scores(dtype, seed)
        attend(scores.program, scores.value, values)
        return scores.program

    def log_sums(self, weights: Array, seed: int = 0) -> Program:
        """Return a program with the same operands and the output "loss": Σ weights · log Σ e^score.

        The inner sum is that of a row. Weights are [batch, heads, queries].
        """
        scores, _ = self._scores("f64", seed)
        program = scores.program
        sums = program.unary("log", program.reduce("sum", program.unary("exp", scores.value), [3]))
        program.output(
            "loss", program.reduce("sum", program.binary("mul", sums, program.constant(weights, "f64")), [0, 1, 2])
        )
        return program

    def _scores(self, dtype: str, seed: int) -> tuple[Scores, Value]:
        """Return the scores and the values of a new program."""
        rng = np.random.default_rng(seed)
        program = Program("attention")

        def heads(length: int, count: int, size: float = 1) -> Value:
            # Numbers that are exact in bf16 and f16 too.
            array = np.round(rng.standard_normal((self.batch, length, count * self.dim)) * 32 * size) / 32
            return split_heads(program, program.parameter(array, dtype), count, self.heads)

        q = heads(self.queries, self.heads, self.size)
        k, v = heads(self.keys, self.key_heads), heads(self.keys, self.key_heads)
        shape = (self.batch, self.heads, self.queries, self.keys)
        scale = program.constant(self.dim**-0.5, dtype, shape)
        products = program.binary("mul", program.matmul(q, k, transpose_b=True), scale)
        scores = Scores(program, products, dtype, rng)
        for modify in self.modifications:
            modify(scores)
        return scores, v


CASES = [
    Attention("window", 1, 130, 130, 2, 2, 16, (window(9),)),
    Attention("window-both-sides", 2, 70, 70, 2, 1, 16, (window(3, 5),)),
    Attention("window-of-one", 1, 40, 40, 1, 1, 8, (window(0),)),
    Attention("window-wider-than-keys", 1, 20, 20, 2, 2, 8, (window(50),)),
    Attention("cap", 1, 65, 65, 2, 2, 16, (cap(2.0),)),
    Attention("cap-causal", 1, 70, 70, 2, 2, 24, (cap(1.5), causal())),
    Attention("linear-bias", 1, 65, 70, 4, 4, 16, (linear_bias,)),
    Attention("linear-bias-causal-grouped", 2, 66, 66, 4, 2, 16, (linear_bias, causal())),
    Attention("bias-table", 2, 40, 34, 2, 2, 16, (bias_table(5),)),
    Attention("whole-bias", 2, 20, 24, 3, 3, 8, (whole_bias,)),
    Attention("lengths", 3, 50, 70, 2, 2, 16, (lengths,)),
    Attention("documents-causal", 2, 70, 70, 2, 2, 16, (documents, causal())),
    Attention("cached-keys", 1, 40, 100, 2, 2, 16, (causal(60),)),
    Attention("cached-keys-window", 1, 40, 100, 2, 2, 16, (window(12, 0, 60),)),
    Attention("one-query-cached", 2, 1, 70, 4, 2, 16, (causal(69), linear_bias)),
    Attention("finite-mask", 1, 40, 40, 2, 2, 8, (finite_mask,)),
    Attention("everything", 2, 70, 70, 4, 2, 16, (linear_bias, cap(3.0), bias_table(3), documents, window(20))),
    *(Attention(name, 1, 34, 40, 2, 1, 20, (apply(name),)) for name in UNARY),
    Attention("gelu-window-linear-bias", 2, 70, 70, 4, 2, 16, (apply("gelu"), linear_bias, window(20))),
    Attention("large-scores", 1, 70, 70, 1, 1, 8, (cap(50.0), window(30)), size=200),
]

#: Attentions in which data hides whole tiles of scores. Kernels of compute capability 9.0 skip them if there are 1024
#: keys and a head_dim of 40 to 128. Forward and backward passes have other kernels from 2048 and 4096 positions on, and
#: for wide heads.
HIDDEN_TILES = [
    Attention("documents", 2, 1100, 1100, 2, 2, 64, (documents,)),
    Attention("documents-causal", 2, 1100, 1100, 2, 1, 128, (documents, causal())),
    Attention("documents-of-48-columns", 1, 1031, 1031, 2, 2, 48, (documents, causal())),
    Attention("mixed-documents", 2, 1100, 1100, 1, 1, 80, (mixed_documents,)),
    Attention("lengths", 3, 1000, 1300, 2, 1, 64, (lengths,)),
    Attention("lengths-causal", 3, 1300, 1300, 1, 1, 128, (lengths, causal())),
    Attention("padding", 3, 1040, 1040, 2, 2, 40, (padding,)),
    Attention("prefix", 3, 1100, 1100, 2, 2, 64, (prefix,)),
    Attention("prefix-of-wide-heads", 2, 1100, 1100, 1, 1, 128, (prefix,)),
    Attention("documents-bias-table", 1, 1100, 1100, 2, 2, 64, (bias_table(9), documents, causal())),
    Attention("documents-linear-bias", 2, 1100, 1100, 2, 1, 128, (linear_bias, documents, causal())),
    Attention("documents-cap", 1, 1100, 1100, 2, 2, 64, (cap(5.0), documents, causal())),
    Attention("documents-window", 1, 1100, 1100, 2, 2, 64, (documents, window(200))),
    Attention("long-documents", 1, 2100, 2100, 1, 1, 128, (documents, causal())),
    Attention("long-narrow-documents", 1, 4200, 4200, 1, 1, 64, (documents, causal())),
    # More tiles than multiprocessors, which kernels sort.
    Attention("documents-of-many-heads", 2, 1040, 1040, 10, 5, 40, (documents, causal())),
]

#: Attentions of long sequences whose queries see few keys: those of a window that is narrower than a tile, or of a
#: document, which may be the query's own position alone.
FEW_KEYS = [
    Attention("long-window-of-9", 2, 1100, 1100, 2, 1, 64, (window(9),)),
    Attention("long-window-of-9-of-wide-heads", 1, 1100, 1100, 2, 2, 128, (window(9),)),
    Attention("very-long-window-of-9-of-wide-heads", 1, 2100, 2100, 1, 1, 128, (window(9),)),
    Attention("window-of-9-of-many-heads", 1, 300, 300, 54, 54, 64, (window(9),)),
    Attention("long-window-of-9-on-both-sides", 1, 1131, 1131, 2, 2, 64, (window(4, 4),)),
    Attention("single-documents", 2, 1100, 1100, 2, 1, 64, (single_documents,)),
    Attention("single-documents-of-wide-heads", 2, 1100, 1100, 1, 1, 128, (single_documents,)),
    Attention("single-documents-causal", 1, 1131, 1131, 2, 2, 64, (single_documents, causal())),
    Attention("single-documents-causal-of-wide-heads", 1, 2100, 2100, 1, 1, 128, (single_documents, causal())),
    Attention("disjoint-documents", 2, 1100, 1100, 2, 2, 64, (disjoint_documents,)),
    Attention("disjoint-documents-causal-of-wide-heads", 2, 1100, 1100, 2, 1, 128, (disjoint_documents, causal())),
]

#: Attentions whose score functions have derivatives, with lengths for which kernels of compute capability 9.0 compute
#: gradients in one pass: from 1024 positions on, and from 2048 for wide heads.
LONG_DERIVATIVES = [
    Attention("long-cap", 2, 1100, 1100, 2, 2, 64, (cap(2.0),)),
    Attention("long-cap-causal", 2, 1031, 1031, 2, 1, 64, (cap(1.5), causal())),
    Attention("long-cap-of-48-columns", 1, 1100, 1031, 1, 1, 48, (cap(2.0),)),
    Attention("long-cap-window", 1, 1300, 1300, 2, 2, 80, (cap(2.0), window(200))),
    Attention("long-cap-bias-table", 1, 1100, 1100, 2, 1, 64, (bias_table(9), cap(3.0), causal())),
    Attention("long-silu", 1, 1100, 1100, 2, 2, 64, (apply("silu"), causal())),
    Attention("long-everything", 2, 1100, 1100, 2, 1, 64, (linear_bias, cap(3.0), documents, window(200))),
    Attention("long-cap-of-wide-heads", 1, 2100, 2100, 2, 1, 128, (cap(2.0), causal())),
]

#: Attentions whose score functions kernels of compute capability 9.0 leave to a matmul, or to the softmax. With many
#: heads, forward passes have tiles of more queries.
LONG_FUNCTIONS = [
    Attention("long-linear-bias-causal", 2, 1100, 1100, 4, 2, 64, (linear_bias, causal())),
    Attention("long-linear-bias-cached", 1, 1031, 1100, 2, 2, 128, (linear_bias, causal(69))),
    Attention("long-linear-bias-window", 1, 1300, 1300, 2, 1, 80, (linear_bias, window(200))),
    Attention("very-long-linear-bias", 1, 4133, 4133, 1, 1, 64, (linear_bias, causal())),
    Attention("very-long-linear-bias-of-wide-heads", 1, 2048, 2048, 1, 1, 80, (linear_bias, causal())),
    Attention("linear-bias-of-many-heads", 1, 420, 420, 54, 27, 40, (linear_bias, causal())),
    Attention("linear-bias-of-many-wide-heads", 1, 260, 260, 53, 53, 72, (linear_bias, causal())),
    # Most scores are far below the cap, or around it.
    Attention("long-high-cap", 2, 1100, 1100, 2, 1, 128, (cap(20.0), causal())),
    Attention("long-high-cap-window", 1, 1300, 1300, 2, 2, 64, (cap(8.0), window(200))),
    Attention("long-low-cap", 1, 1031, 1100, 2, 2, 64, (cap(0.5),)),
    Attention("very-long-high-cap", 1, 4133, 4133, 1, 1, 64, (cap(8.0), causal())),
    Attention("high-cap-of-many-heads", 1, 420, 420, 54, 54, 40, (cap(8.0), causal())),
]

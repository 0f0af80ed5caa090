# ===- test_cuda_attention_scores.py - Score functions in CUDA kernels ----===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Attention's CUDA kernels with score functions compute the same as NumPy in float64: their text, on the host."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attention_case import Case, ScoreFunction
from cuda_on_host import compile_for_host, emit_cuda
from numpy.typing import NDArray

Array = NDArray[Any]


def window(before: int, after: int, offset: int = 0) -> ScoreFunction:
    """Show keys from `before` positions before a query, whose position is `offset` + its index, to `after` after it."""

    def evaluate(s: Array, b: Array, h: Array, i: Array, j: Array) -> tuple[Array, Array]:
        visible = (i + offset - j <= before) & (i + offset - j >= -after)
        return np.where(visible, s, -np.inf), np.where(visible, 1, np.zeros(s.shape))

    text = f"""
  %offset = cs336.constant dense<{offset}> : tensor<i32>
  %place = cs336.add %i, %offset : tensor<i32>
  %distance = cs336.sub %place, %j : tensor<i32>
  %last = cs336.constant dense<{before}> : tensor<i32>
  %first = cs336.constant dense<{-after}> : tensor<i32>
  %near = cs336.compare le %distance, %last : tensor<i32>
  %far = cs336.compare ge %distance, %first : tensor<i32>
  %visible = cs336.and %near, %far : tensor<i1>
  %infinity = cs336.constant dense<INFINITY> : TYPE
  %r = cs336.select %visible, %s, %infinity : TYPE"""
    derivative = """
  %one = cs336.constant dense<1.0> : TYPE
  %zero = cs336.constant dense<0.0> : TYPE
  %d = cs336.select %visible, %one, %zero : TYPE"""
    return ScoreFunction(f"window({before}, {after}, {offset})", text, derivative, evaluate)


def cap(limit: float) -> ScoreFunction:
    """Return limit · tanh(score / limit)."""
    text = f"""
  %limit = cs336.constant dense<{limit:e}> : TYPE
  %ratio = cs336.div %s, %limit : TYPE
  %tanh = cs336.tanh %ratio : TYPE
  %r = cs336.mul %limit, %tanh : TYPE"""
    derivative = """
  %one = cs336.constant dense<1.0> : TYPE
  %square = cs336.mul %tanh, %tanh : TYPE
  %d = cs336.sub %one, %square : TYPE"""
    return ScoreFunction(
        "cap",
        text,
        derivative,
        lambda s, b, h, i, j: (limit * np.tanh(s / limit), 1 / np.cosh(s / limit) ** 2),
    )


def formula(name: str, text: str, derivative: str, evaluate: Callable[[Array], tuple[Array, Array]]) -> ScoreFunction:
    """Return a function of the score alone."""
    return ScoreFunction(name, text, derivative, lambda s, *place: evaluate(s))


SQUARE = """
  %one = cs336.constant dense<1.0> : TYPE
  %square = cs336.mul %s, %s : TYPE
  %x = cs336.add %square, %one : TYPE"""
#: With x = 1 + s², x' = 2 s.
SLOPE_OF_SQUARE = "\n  %dx = cs336.add %s, %s : TYPE"

#: Every operation of one operand, and activations as their formulas.
UNARY = [
    formula(
        "neg",
        "\n  %r = cs336.neg %s : TYPE",
        "\n  %d = cs336.constant dense<-1.0> : TYPE",
        lambda s: (-s, -np.ones(s.shape)),
    ),
    # Exponentials of at most 1: those of scores would make the error of a score the relative error of large numbers.
    formula(
        "exp",
        """
  %square = cs336.mul %s, %s : TYPE
  %minus = cs336.neg %square : TYPE
  %r = cs336.exp %minus : TYPE""",
        """
  %twice = cs336.add %s, %s : TYPE
  %y = cs336.mul %twice, %r : TYPE
  %d = cs336.neg %y : TYPE""",
        lambda s: (np.exp(-s * s), -2 * s * np.exp(-s * s)),
    ),
    formula("sin", "\n  %r = cs336.sin %s : TYPE", "\n  %d = cs336.cos %s : TYPE", lambda s: (np.sin(s), np.cos(s))),
    formula(
        "cos",
        "\n  %r = cs336.cos %s : TYPE",
        "\n  %sine = cs336.sin %s : TYPE\n  %d = cs336.neg %sine : TYPE",
        lambda s: (np.cos(s), -np.sin(s)),
    ),
    formula(
        "log",
        SQUARE + "\n  %r = cs336.log %x : TYPE",
        SLOPE_OF_SQUARE + "\n  %d = cs336.div %dx, %x : TYPE",
        lambda s: (np.log(1 + s * s), 2 * s / (1 + s * s)),
    ),
    formula(
        "sqrt",
        SQUARE + "\n  %r = cs336.sqrt %x : TYPE",
        "\n  %d = cs336.div %s, %r : TYPE",
        lambda s: (np.sqrt(1 + s * s), s / np.sqrt(1 + s * s)),
    ),
    formula(
        "rsqrt",
        SQUARE + "\n  %r = cs336.rsqrt %x : TYPE",
        "\n  %ratio = cs336.div %r, %x : TYPE\n  %y = cs336.mul %ratio, %s : TYPE\n  %d = cs336.neg %y : TYPE",
        lambda s: ((1 + s * s) ** -0.5, -s * (1 + s * s) ** -1.5),
    ),
    formula(
        "erf",
        "\n  %r = cs336.erf %s : TYPE",
        f"""
  %square = cs336.mul %s, %s : TYPE
  %minus = cs336.neg %square : TYPE
  %bell = cs336.exp %minus : TYPE
  %height = cs336.constant dense<{2 / math.sqrt(math.pi)!r}> : TYPE
  %d = cs336.mul %bell, %height : TYPE""",
        lambda s: (np.vectorize(math.erf)(s), 2 / math.sqrt(math.pi) * np.exp(-s * s)),
    ),
    formula(
        "silu",
        "\n  %sigmoid = cs336.sigmoid %s : TYPE\n  %r = cs336.mul %s, %sigmoid : TYPE",
        """
  %one = cs336.constant dense<1.0> : TYPE
  %rest = cs336.sub %one, %sigmoid : TYPE
  %product = cs336.mul %r, %rest : TYPE
  %d = cs336.add %sigmoid, %product : TYPE""",
        lambda s: (s / (1 + np.exp(-s)), (1 + s / (1 + np.exp(s))) / (1 + np.exp(-s))),
    ),
    formula(
        "relu",
        """
  %zero = cs336.constant dense<0.0> : TYPE
  %low = cs336.compare le %s, %zero : TYPE
  %r = cs336.select %low, %zero, %s : TYPE""",
        "\n  %one = cs336.constant dense<1.0> : TYPE\n  %d = cs336.select %low, %zero, %one : TYPE",
        lambda s: (np.maximum(s, 0), 1.0 * (s > 0)),
    ),
]

LINEAR_BIAS = ScoreFunction(
    "linear bias",
    """
  %slope = cs336.element %t0[%h] : TABLE0
  %cast = cs336.cast %slope : tensor<f32> -> TYPE
  %distance = cs336.sub %j, %i : tensor<i32>
  %number = cs336.cast %distance : tensor<i32> -> TYPE
  %bias = cs336.mul %cast, %number : TYPE
  %r = cs336.add %s, %bias : TYPE""",
    "\n  %d = cs336.constant dense<1.0> : TYPE",
    lambda s, b, h, i, j, slopes: (s + slopes[h] * (j - i), np.ones(s.shape)),
    lambda case, rng: [(2.0 ** -np.arange(1, case.heads + 1)).astype(np.float32)],
)

DOCUMENTS = ScoreFunction(
    "documents",
    """
  %own = cs336.element %t0[%b, %i] : TABLE0
  %other = cs336.element %t0[%b, %j] : TABLE0
  %same = cs336.compare eq %own, %other : tensor<i32>
  %infinity = cs336.constant dense<INFINITY> : TYPE
  %r = cs336.select %same, %s, %infinity : TYPE""",
    """
  %one = cs336.constant dense<1.0> : TYPE
  %zero = cs336.constant dense<0.0> : TYPE
  %d = cs336.select %same, %one, %zero : TYPE""",
    lambda s, b, h, i, j, ids: (np.where(ids[b, i] == ids[b, j], s, -np.inf), 1.0 * (ids[b, i] == ids[b, j])),
    lambda case, rng: [np.sort(rng.integers(0, 4, (case.batches, case.queries)), axis=1).astype(np.int32)],
)

#: The first length is 0: queries of the first batch see nothing.
LENGTHS = ScoreFunction(
    "lengths",
    """
  %length = cs336.element %t0[%b] : TABLE0
  %inside = cs336.compare lt %j, %length : tensor<i32>
  %infinity = cs336.constant dense<INFINITY> : TYPE
  %r = cs336.select %inside, %s, %infinity : TYPE""",
    """
  %one = cs336.constant dense<1.0> : TYPE
  %zero = cs336.constant dense<0.0> : TYPE
  %d = cs336.select %inside, %one, %zero : TYPE""",
    lambda s, b, h, i, j, n: (np.where(j < n[b], s, -np.inf), np.where(j < n[b], 1, np.zeros(s.shape))),
    lambda case, rng: [np.linspace(0, case.keys, case.batches).astype(np.int32)],
)

#: A bias by table, a cap of the sum, and a window: a function with an interior that is not the score alone.
MIXED = ScoreFunction(
    "mixed",
    """
  %distance = cs336.sub %i, %j : tensor<i32>
  %low = cs336.constant dense<-4> : tensor<i32>
  %high = cs336.constant dense<4> : tensor<i32>
  %above = cs336.max %distance, %low : tensor<i32>
  %between = cs336.min %above, %high : tensor<i32>
  %row = cs336.add %between, %high : tensor<i32>
  %bias = cs336.element %t0[%row, %h] : TABLE0
  %cast = cs336.cast %bias : tensor<f32> -> TYPE
  %sum = cs336.add %s, %cast : TYPE
  %tanh = cs336.tanh %sum : TYPE
  %limit = cs336.constant dense<3.0> : TYPE
  %capped = cs336.mul %tanh, %limit : TYPE
  %reach = cs336.constant dense<70> : tensor<i32>
  %near = cs336.compare le %distance, %reach : tensor<i32>
  %infinity = cs336.constant dense<INFINITY> : TYPE
  %r = cs336.select %near, %capped, %infinity : TYPE""",
    """
  %one = cs336.constant dense<1.0> : TYPE
  %zero = cs336.constant dense<0.0> : TYPE
  %square = cs336.mul %tanh, %tanh : TYPE
  %rest = cs336.sub %one, %square : TYPE
  %slope = cs336.mul %rest, %limit : TYPE
  %d = cs336.select %near, %slope, %zero : TYPE""",
    lambda s, b, h, i, j, t: (
        np.where(i - j <= 70, 3 * np.tanh(s + t[np.clip(i - j, -4, 4) + 4, h]), -np.inf),
        np.where(i - j <= 70, 3 / np.cosh(s + t[np.clip(i - j, -4, 4) + 4, h]) ** 2, 0),
    ),
    lambda case, rng: [rng.standard_normal((9, case.heads)).astype(np.float32)],
)

CASES = {
    "windows": [
        Case("bf16", 1, 2, 2, 200, 200, 64, causal=False, score=window(9, 0)),
        Case("bf16", 1, 2, 1, 200, 130, 80, causal=False, score=window(40, 30)),
        Case("f16", 1, 1, 1, 65, 200, 128, causal=False, score=window(20, 0, 135)),
        Case("bf16", 1, 1, 1, 130, 130, 64, causal=True, score=window(128, 128)),
        Case("tf32", 1, 2, 2, 130, 130, 64, causal=False, score=window(7, 3)),
        Case("f32", 1, 2, 1, 130, 130, 64, causal=False, score=window(1, 0)),
        # Most queries see nothing.
        Case("bf16", 1, 1, 1, 200, 40, 64, causal=False, score=window(3, 0)),
        Case("f32", 1, 1, 1, 40, 200, 24, causal=False, score=window(-10, 12)),
    ],
    "functions": [
        Case("bf16", 1, 2, 2, 130, 130, 64, causal=True, score=cap(2.0)),
        Case("f16", 1, 2, 1, 65, 130, 80, causal=False, score=LINEAR_BIAS),
        Case("bf16", 2, 2, 2, 130, 130, 64, causal=True, score=DOCUMENTS),
        Case("bf16", 3, 2, 1, 65, 130, 64, causal=False, score=LENGTHS),
        Case("bf16", 1, 4, 2, 200, 200, 64, causal=False, score=MIXED),
        Case("tf32", 1, 2, 1, 150, 130, 40, causal=True, score=MIXED),
        Case("f32", 1, 2, 1, 150, 130, 40, causal=False, score=MIXED),
        Case("f32", 3, 2, 2, 33, 65, 16, causal=False, score=LENGTHS, padding=1),
        Case("bf16", 1, 1, 1, 65, 65, 256, causal=True, score=MIXED),
    ],
    "operations of one operand in 16 bits": [
        Case(("bf16", "f16")[i % 2], 1, 2, 1, 33, 40, 20, causal=i % 3 == 0, score=score)
        for i, score in enumerate(UNARY)
    ],
    "operations of one operand in float32": [
        Case("f32", 1, 1, 1, 17, 20, 12, causal=False, score=score) for score in UNARY
    ],
    "operations of one operand in float64": [
        Case("f64", 1, 1, 1, 5, 9, 4, causal=False, score=score) for score in UNARY
    ],
    "without tiles": [
        Case("f64", 1, 2, 1, 40, 33, 8, causal=False, score=window(5, 2)),
        Case("f64", 1, 2, 2, 20, 33, 12, causal=True, score=MIXED),
        Case("f64", 3, 2, 1, 12, 9, 8, causal=False, score=LENGTHS),
        Case("f64", 1, 2, 1, 12, 19, 8, causal=False, score=LINEAR_BIAS),
        Case("bf16", 2, 2, 1, 20, 20, 258, causal=False, score=DOCUMENTS),
        Case("f16", 1, 1, 1, 20, 20, 260, causal=False, score=cap(1.0)),
    ],
    # With derivatives, rows of dS do not sum to zero, and the error of D has another weight.
    "something in common": [
        Case("bf16", 1, 2, 2, 130, 130, 64, causal=True, common=1, score=cap(2.0)),
        Case("bf16", 1, 2, 2, 200, 200, 64, causal=False, common=1, score=window(30, 30)),
        Case("f16", 1, 1, 1, 130, 130, 80, causal=False, common=1, score=MIXED),
    ],
    # Scores up to the hundreds, most of which the cap makes equal.
    "large scores": [
        Case("f32", 1, 1, 1, 130, 130, 64, causal=True, score=cap(30.0), size=50),
        Case("f32", 1, 1, 1, 130, 130, 64, causal=False, score=window(30, 0), size=30),
    ],
}


def emit(cases: list[Case]) -> str:
    return emit_cuda("".join(case.kernels(i) for i, case in enumerate(cases)), "--require-all")


@pytest.mark.parametrize("cases", CASES)
def test_scores(cases: str, tmp_path: pathlib.Path) -> None:
    kernels = compile_for_host(emit(CASES[cases]), tmp_path)
    for i, case in enumerate(CASES[cases]):
        case.check(kernels, i, np.random.default_rng(7))


MUTATED = [
    Case("bf16", 1, 1, 1, 300, 300, 64, causal=False, score=window(130, 0)),
    Case("bf16", 1, 2, 1, 130, 130, 64, causal=True, common=2, score=cap(2.0)),
    Case("bf16", 3, 1, 1, 65, 65, 64, causal=False, score=LENGTHS),
]


def check_mutated(right: str, wrong: str, folder: pathlib.Path) -> None:
    text = emit(MUTATED)
    assert not right or right in text
    kernels = compile_for_host(text.replace(right, wrong) if right else text, folder)
    for i, case in enumerate(MUTATED):
        case.check(kernels, i, np.random.default_rng(7))


def test_without_mutations(tmp_path: pathlib.Path) -> None:
    check_mutated("", "", tmp_path)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("<= 130", "<= 131"),
        ("lastDistance = 130", "lastDistance = 50"),
        ("firstDistance = 0", "firstDistance = 40"),
        ("lastInterior = 130", "lastInterior = 170"),
        ("firstInterior = 0", "firstInterior = -30"),
        ("1.0f - tangent", "1.0f + 0.0f * tangent"),
        ("gradients.values[i][j] *= derivatives.values[i][j];", "{}"),
        ("remainders[i] *= reduceWarp", "weights[i] *= reduceWarp"),
        ("return number == -infinity() ? 0 : number;", "return number;"),
        ("return sum == 0 ? 0 : 1 / sum;", "return 1 / sum;"),
    ],
    ids=[
        "window too wide",
        "skips visible keys",
        "skips the newest keys",
        "no mask at the window's edge",
        "no mask at the diagonal",
        "derivative of tanh is 1",
        "no derivative",
        "remainder without weight",
        "NaN in rows that see nothing",
        "infinite output in rows that see nothing",
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_mutations_are_noticed(right: str, wrong: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(AssertionError, match=r"is off by|see nothing"):
        check_mutated(right, wrong, tmp_path)

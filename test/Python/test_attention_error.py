# ===- test_attention_error.py - Errors beside FlashAttention-2's ---------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Errors of attention in 16 bits beside FlashAttention-2's in PyTorch, on the same inputs and the same GPU.

An error is the norm of the difference from a reference in float64 over the norm of the reference, for the output and
for the gradient of each operand. Both sides and the reference read the same numbers, which were rounded before.

Both sides round the same quantities: the probabilities and the gradients of scores before they are multiplied, the
output, and each gradient. Most of these roundings agree. Others are independent. The norms of N independent errors of
equal size differ by about 1 / √N of themselves. A case has at least 2^16 numbers over all seeds, except for a few
with less than 256 numbers per seed: 1 / √N is 0.4 %. Where all errors of a row have one cause, such as the rounding of
its output, N is the number of rows: 4 % for 2^16 numbers with a head_dim of 128. The bound is therefore 1.05 times the
error of FlashAttention-2, and FACTOR_OF_MANY times in cases with about 10^6 numbers in at least 14,000 rows.

A probability that is exactly 1, because its score is the largest so far, has no error. FlashAttention-2 has more of
them: with a head_dim of 72 to 128 its tiles have fewer keys, and if there are few tiles of queries, it divides the keys
among blocks, each of which has its own largest score. On an H200, the errors of our outputs are then up to 1.04 times
FlashAttention-2's. With many tiles of queries they are 1.002 to 1.005 times as large, and equal with a head_dim of 64.
"""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from attention_program import loss_weights
from comparison import assert_close, assert_gradients_close, relative_error
from device import DEVICE, compile_program, open_session
from numpy.typing import NDArray
from test_attention import LONG_SHAPES, SHAPES, Shape

Array = NDArray[Any]
#: The output "y" and the gradients "q", "k" and "v", all as [batch, positions, heads, head_dim].
Results = Mapping[str, Array]

#: The bound of our errors over FlashAttention-2's.
FACTOR = 1.05
FACTOR_OF_MANY = 1.01
#: The error of sums and exponentials in float32. Errors below it are not compared.
FLOOR = 2.0**-20
NAMES = ("y", "q", "k", "v")
TORCH_TYPES = {"bf16": "bfloat16", "fp16": "float16"}
#: Seeds are added until the smallest operand has this many numbers in all.
NUMBERS, MOST_SEEDS = 1 << 16, 256


def why_not() -> str:
    """Return why nothing can be compared here; empty if it can."""
    if DEVICE == "cpu":
        return "FlashAttention-2 requires a GPU: set CS336_TEST_DEVICE=cuda"
    if "CS336_TEST_TOOL" in os.environ:
        return "a tool does not change errors, and takes minutes for PyTorch's kernels"
    if importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed"
    import torch

    return "" if torch.cuda.is_available() else "PyTorch finds no GPU"


def is_accepted(shape: Shape) -> bool:
    """Return true if PyTorch's FlashAttention-2 has a kernel for the shape: its causal mask is that of a square."""
    is_square = shape.keys in (0, shape.queries)
    return shape.dim % 8 == 0 and shape.dim <= 128 and (is_square or not shape.causal)


def get_sizes(shape: Shape) -> list[tuple[int, ...]]:
    """Return the shapes of queries, keys and values."""
    keys = (shape.batch, shape.keys or shape.queries, shape.key_heads or shape.heads, shape.dim)
    return [(shape.batch, shape.queries, shape.heads, shape.dim), keys, keys]


def draw_with(common: float = 0, size: float = 1) -> Callable[[Shape, np.random.Generator], list[Array]]:
    """Return normal numbers. Keys and values share a component of `common` standard deviations; queries have `size`."""

    def draw(shape: Shape, rng: np.random.Generator) -> list[Array]:
        q, k, v = (
            rng.standard_normal(sizes) + offset * rng.standard_normal(sizes[2:])
            for sizes, offset in zip(get_sizes(shape), (0, common, common), strict=True)
        )
        return [size * q, k, v]

    return draw


def draw_low_scores(shape: Shape, rng: np.random.Generator) -> list[Array]:
    """Return operands whose scores are all far below 0, where those of keys past the last one would be 0."""
    q, k, v = draw_with(size=5)(shape, rng)
    q[..., 0], k[..., 0] = -400, 16
    return [q, k, v]


INPUTS = {
    "random": draw_with(),
    "common-1": draw_with(common=1),
    "common-3": draw_with(common=3),
    "equal-scores": draw_with(size=0),
    # The largest score of a row has almost all of its probability.
    "large-scores": draw_with(size=8),
    "low-scores": draw_low_scores,
}
RAGGED = [
    Shape(1, queries, 2, dim, causal)
    for queries, dim in ((257, 64), (1000, 64), (1000, 128), (1100, 64), (1100, 128))
    for causal in (True, False)
]
ONE_ROW = [Shape(1, 1, 2, 64, causal=False, keys=1100), Shape(1, 1, 1, 128, causal=False, keys=257)]
ADVERSARIAL = [
    Shape(1, 130, 2, 64),
    Shape(1, 130, 2, 80, causal=False),
    Shape(1, 530, 1, 128),
    Shape(1, 1100, 2, 64),
    Shape(1, 1100, 1, 64, causal=False),
    Shape(1, 1100, 1, 128, causal=False),
    Shape(1, 4133, 1, 64),
]
# FlashAttention-2 does not divide the keys: on a GPU with 132 multiprocessors, from 212 tiles of 64 queries on.
MANY_QUERIES = [Shape(1, 1100, 14, 64), Shape(1, 1100, 14, 64, causal=False), Shape(1, 1000, 14, 72, causal=False)]
# The weights of the loss, a constant, would be too large for gradients.
MANY_WIDE_QUERIES = [Shape(2, 1000, 8, dim, causal) for dim in (80, 96, 128) for causal in (True, False)]
CASES = [(shape, "random") for shape in [*SHAPES, *LONG_SHAPES, *RAGGED, *ONE_ROW] if is_accepted(shape)]
CASES += [(shape, inputs) for shape in ADVERSARIAL for inputs in INPUTS if inputs != "random"]


def compute_exactly(q: Array, k: Array, v: Array, gradient: Array, causal: bool) -> Results:
    """Return attention and the gradients of Σ y · gradient by the formulas of softmax, one head at a time."""
    results = {"y": np.zeros(q.shape), "q": np.zeros(q.shape), "k": np.zeros(k.shape), "v": np.zeros(v.shape)}
    scale, group = q.shape[-1] ** -0.5, q.shape[2] // k.shape[2]
    for batch, head in np.ndindex(q.shape[0], q.shape[2]):
        own, other = (batch, slice(None), head), (batch, slice(None), head // group)
        scores = scale * q[own] @ k[other].T
        if causal:
            scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        p = powers / powers.sum(-1, keepdims=True)
        dp = gradient[own] @ v[other].T
        ds = scale * p * (dp - (p * dp).sum(-1, keepdims=True))
        results["y"][own], results["q"][own] = p @ v[other], ds @ k[other]
        results["k"][other] += ds.T @ q[own]
        results["v"][other] += p.T @ gradient[own]
    return results


def round_numbers(array: Array, dtype: str) -> Array:
    import torch

    return torch.tensor(array).to(getattr(torch, TORCH_TYPES[dtype])).double().numpy()


def compute_by_flash_attention(q: Array, k: Array, v: Array, gradient: Array, causal: bool, dtype: str) -> Results:
    """Return the same by PyTorch's FlashAttention-2. If it has no kernel for the operands, PyTorch raises an error."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    kind = getattr(torch, TORCH_TYPES[dtype])
    operands = [torch.tensor(x, device=DEVICE).to(kind).requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        heads = scaled_dot_product_attention(
            *(x.transpose(1, 2) for x in operands), is_causal=causal, enable_gqa=q.shape[2] != k.shape[2]
        )
    y = heads.transpose(1, 2)
    gradients = torch.autograd.grad(y, operands, torch.tensor(gradient, device=DEVICE).to(kind))
    values = zip(NAMES, (y, *gradients), strict=True)
    return {name: value.detach().double().cpu().numpy() for name, value in values}


def check_errors(
    ours: list[Results], theirs: list[Results], exact: list[Results], factor: float = FACTOR
) -> dict[str, tuple[float, float]]:
    """Return the errors over all seeds, ours and theirs. Fails if one of ours is above `factor` times theirs."""
    errors = {}
    for name in ours[0]:
        found, other, expected = (np.stack([results[name] for results in side]) for side in (ours, theirs, exact))
        if np.any(expected):
            errors[name] = relative_error(found, expected), relative_error(other, expected)
        else:
            # All terms cancel, such as the gradient of a score that has all of the probability.
            assert np.linalg.norm(found) <= 16 * FLOOR * math.sqrt(found.size), f"{name} is not 0"
    for name, (own, other) in errors.items():
        assert math.isfinite(other), f"{name}: FlashAttention-2's result is not finite"
        assert own <= max(factor * other, FLOOR), f"{name}: error {own:.3e}, FlashAttention-2's {other:.3e}"
    assert {"y", "v"} & set(ours[0]) <= errors.keys()
    return errors


def compare(shape: Shape, inputs: str, dtype: Any, factor: float, mode: str) -> None:
    """Check the errors of a shape, and print them. In mode "forward", only the output is compared."""
    program = shape.program()
    outputs = ["y", *program.parameters]
    if mode == "forward":
        outputs = ["y"]
        program.outputs = [("y", dict(program.outputs)["y"])]
    session = open_session(compile_program(program.text(mode), fusion="flash", dtype=dtype))
    session.initialize(0)
    sizes = get_sizes(shape)
    gradient = loss_weights((*sizes[0][:2], sizes[0][2] * sizes[0][3])).reshape(sizes[0])
    ours, theirs, exact = [], [], []
    for seed in range(min(-(-NUMBERS // min(map(math.prod, sizes))), MOST_SEEDS)):
        drawn = INPUTS[inputs](shape, np.random.default_rng(seed))
        operands = [round_numbers(array, dtype) for array in drawn]
        for name, array in zip(program.parameters, operands, strict=True):
            session[name] = array.reshape(*array.shape[:2], -1).astype(np.float32)
        found = session.run("attention", {})
        shapes = zip(NAMES[: len(outputs)], outputs, [sizes[0], *sizes][: len(outputs)], strict=True)
        ours.append({name: found[output].reshape(size) for name, output, size in shapes})
        theirs.append(compute_by_flash_attention(*operands, gradient, shape.causal, dtype))
        exact.append(compute_exactly(*operands, gradient, shape.causal))
    for name, (own, other) in check_errors(ours, theirs, exact, factor).items():
        print(f"{dtype} {shape} {inputs} {name}: error {own:.4e}, FlashAttention-2's {other:.4e}")


with_flash_attention = pytest.mark.skipif(bool(why_not()), reason=why_not())
in_both_types = pytest.mark.parametrize("dtype", ["bf16", "fp16"])


@with_flash_attention
@pytest.mark.parametrize(("shape", "inputs"), CASES, ids=[f"{shape}-{inputs}" for shape, inputs in CASES])
@in_both_types
def test_errors_are_like_flash_attentions(shape: Shape, inputs: str, dtype: Any) -> None:
    compare(shape, inputs, dtype, FACTOR, "forward_backward")


@with_flash_attention
@pytest.mark.parametrize("shape", MANY_QUERIES, ids=str)
@in_both_types
def test_errors_of_many_queries(shape: Shape, dtype: Any) -> None:
    compare(shape, "random", dtype, FACTOR_OF_MANY, "forward_backward")


@with_flash_attention
@pytest.mark.parametrize("shape", MANY_WIDE_QUERIES, ids=str)
@in_both_types
def test_outputs_of_many_queries(shape: Shape, dtype: Any) -> None:
    compare(shape, "random", dtype, FACTOR_OF_MANY, "forward")


# Tests of the comparison itself. On a GPU they would pass even if nothing was compared there.
without_a_device = pytest.mark.skipif(DEVICE != "cpu", reason="does not use a device")


@without_a_device
@pytest.mark.parametrize(
    "shape", [Shape(2, 17, 4, 16, key_heads=2), Shape(1, 9, 2, 8, causal=False, keys=13), Shape(2, 1, 2, 8)], ids=str
)
def test_reference_is_that_of_the_program(shape: Shape) -> None:
    program, sizes = shape.program("f64"), get_sizes(shape)
    operands = [array.reshape(size) for array, size in zip(program.parameters.values(), sizes, strict=True)]
    y = dict(program.outputs)["y"].array
    exact = compute_exactly(*operands, loss_weights(y.shape).reshape(sizes[0]), shape.causal)
    assert_close(exact["y"].reshape(y.shape), y, 1e-14, "y")
    gradients = program.gradients()
    found = {name: exact[key].reshape(gradients[name].shape) for name, key in zip(gradients, NAMES[1:], strict=True)}
    assert_gradients_close(found, gradients, 1e-13)


@without_a_device
def test_larger_errors_are_noticed() -> None:
    rng = np.random.default_rng(0)
    exact = {name: rng.standard_normal((1, 40, 2, 8)) for name in NAMES}

    def disturb(error: float, only: str = "") -> list[Results]:
        return [{n: x * (1 + error) if only in (n, "") else x for n, x in exact.items()}]

    errors = check_errors(disturb(1.04e-3), disturb(1e-3), [exact])
    assert errors == {name: (pytest.approx(1.04e-3), pytest.approx(1e-3)) for name in NAMES}
    for name in NAMES:
        with pytest.raises(AssertionError, match=f"{name}: error"):
            check_errors(disturb((FACTOR + 0.01) * 1e-3, name), disturb(1e-3), [exact])
    with pytest.raises(AssertionError, match="q is not 0"):
        check_errors([exact], [exact], [exact | {"q": np.zeros((1, 40, 2, 8))}])
    with pytest.raises(AssertionError):
        check_errors([exact], [exact], [{name: np.zeros((1, 40, 2, 8)) for name in NAMES}])

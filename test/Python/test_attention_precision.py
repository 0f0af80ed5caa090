# ===- test_attention_precision.py - Attention's errors --------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Attention in 16 bits is at least as close to float64 as FlashAttention-2 in the same precision.

The CUDA kernels run on the host, and the whole operation on the device of these tests.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import attention_reference
import numpy as np
import pytest
from attention_case import DTYPES, Case
from cuda_on_host import compile_for_host, emit_cuda
from device import DEVICE, compile_program, open_session
from numpy.typing import NDArray

Array = NDArray[Any]
Operands = list[Array]

SEEDS = 4
#: Both errors are sums of many roundings, which differ by this much between orders of sums.
NOISE = 1.02


def random(case: Case, rng: np.random.Generator) -> Operands:
    """Draw all operands from a standard normal distribution."""
    return [rng.standard_normal(shape) for shape in (case.queries_shape, *[case.keys_shape] * 2, case.queries_shape)]


def common(size: float) -> Callable[[Case, np.random.Generator], Operands]:
    """Let keys share a vector, and values another one, of this size. Neither changes dQ."""

    def draw(case: Case, rng: np.random.Generator) -> Operands:
        q, k, v, do = random(case, rng)
        return [q, *(x + size * rng.standard_normal(x.shape[2:]) for x in (k, v)), do]

    return draw


def peaked(case: Case, rng: np.random.Generator) -> Operands:
    """Let most probabilities be close to 0, and one per row close to 1."""
    q, *rest = random(case, rng)
    return [8 * q, *rest]


def uniform(case: Case, rng: np.random.Generator) -> Operands:
    """Let all scores be equal."""
    q, *rest = random(case, rng)
    return [np.zeros_like(q), *rest]


def growing(case: Case, rng: np.random.Generator) -> Operands:
    """Let every tile have larger scores than the previous one, so that online softmax rescales each time."""
    q, k, v, do = random(case, rng)
    steps = np.linspace(0, 6, case.keys).reshape(1, -1, 1, 1)
    return [0.1 * q + 6, 0.1 * k + steps, v, do]


def sink(case: Case, rng: np.random.Generator) -> Operands:
    """Let the first key have half of the probability, and a value that outweighs the others."""
    q, k, v, do = random(case, rng)
    q[..., 0], k[..., 0], k[:, 0, :, 0] = 4, 0, 4 * np.log(case.keys) / 2
    v[:, 0] *= 16
    return [q, k, v, do]


def cancelling(case: Case, rng: np.random.Generator) -> Operands:
    """Let values come in pairs of opposite sign, so that outputs are small beside the terms of their sums."""
    q, k, v, do = random(case, rng)
    half = case.keys // 2 * 2
    v[:, 1:half:2] = -v[:, 0:half:2]
    return [0.1 * q, k, v, do]


def along_values(case: Case, rng: np.random.Generator) -> Operands:
    """Let dO be nearly the same number of times every value, so that dP − D is small beside both."""
    q, k, v, do = random(case, rng)
    direction = rng.standard_normal(v.shape[2:])
    return [q, k, direction + 0.1 * v, direction[: case.key_heads].repeat(case.heads // case.key_heads, 0) + 0.1 * do]


INPUTS = {
    "random": random,
    "common 1": common(1),
    "common 3": common(3),
    "peaked": peaked,
    "uniform": uniform,
    "growing": growing,
    "sink": sink,
    "cancelling": cancelling,
    "along values": along_values,
}


def compare(case: Case, inputs: str, run: Callable[[Operands], dict[str, Array]]) -> None:
    """Compare root mean squares of errors, over seeds, of the results of `run` and of FlashAttention-2."""
    squares: dict[str, list[float]] = {}
    for seed in range(SEEDS):
        drawn = INPUTS[inputs](case, np.random.default_rng(seed))
        operands = [operand.astype(DTYPES[case.dtype]) for operand in drawn]
        exact = case.reference(*(operand.astype(np.float64) for operand in operands))
        ours, theirs = run(operands), attention_reference.attend(*operands, causal=case.causal)
        for name, result in theirs.items():
            sums = squares.setdefault(name, [0, 0])
            for i, found in enumerate((ours[name], result)):
                sums[i] += float(((found.astype(np.float64) - exact[name]) ** 2).sum())
    for name, (own, other) in squares.items():
        assert own**0.5 <= NOISE * other**0.5, (
            f"{case}, {inputs}: {name} is {(own / other) ** 0.5:.3f} times as far off"
        )


HOST_CASES = [
    Case("bf16", 1, 2, 2, 130, 130, 64, causal=True),
    Case("bf16", 1, 1, 1, 65, 200, 20, causal=False),
    Case("f16", 1, 1, 1, 130, 130, 80, causal=True),
    Case("bf16", 1, 1, 1, 100, 130, 128, causal=False),
]


@pytest.mark.parametrize("inputs", INPUTS)
def test_cuda_kernels_on_the_host(inputs: str, tmp_path: pathlib.Path) -> None:
    text = emit_cuda("".join(case.kernels(i) for i, case in enumerate(HOST_CASES)), "--require-all")
    kernels = compile_for_host(text, tmp_path)
    for i, case in enumerate(HOST_CASES):
        compare(case, inputs, lambda operands, case=case, i=i: case.run(kernels, i, operands))  # type: ignore[misc]


def program(case: Case) -> str:
    """Return a function from q, k, v and do to o, dq, dk and dv."""
    query, key = (
        f"tensor<{'x'.join(map(str, shape))}x{case.dtype}>" for shape in (case.queries_shape, case.keys_shape)
    )
    sums = f"tensor<{'x'.join(map(str, case.sums_shape))}xf32>"
    named = '{{cs336.kind = "{}", cs336.name = "{}"}}'.format
    arguments = ", ".join(
        f"%{name}: {kind} {named('input', name)}"
        for name, kind in zip(("q", "k", "v", "do"), (query, key, key, query), strict=True)
    )
    outputs = ("o", "dq", "dk", "dv")
    kinds = (query, query, key, key)
    results = ", ".join(f"{kind} {named('output', name)}" for name, kind in zip(outputs, kinds, strict=True))
    attributes = f"{{scale = {case.scale!r} : f64{', causal' if case.causal else ''}}}"
    return f"""
func.func @attention({arguments}) -> ({results}) attributes {{cs336.mode = #cs336.mode<forward>}} {{
  %o, %l = cs336.attention %q, %k, %v {attributes} : {query}, {key} -> {sums}
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {attributes} : {query}, {key}, {sums}
  return %o, %dq, %dk, %dv : {", ".join(kinds)}
}}
"""


SHORT = [Case("bf16", 1, 2, 2, 200, 200, 64, causal=True), Case("f16", 2, 2, 2, 65, 130, 36, causal=False)]
#: Lengths from which GPUs of compute capability 9.0 have other kernels.
LONG = [
    Case("bf16", 1, 2, 2, 600, 600, 64, causal=True),
    Case("bf16", 1, 2, 2, 1100, 1100, 128, causal=False),
    Case("f16", 1, 2, 2, 2100, 2100, 128, causal=True),
    Case("bf16", 1, 1, 1, 4200, 4200, 64, causal=True),
]
on_gpu = pytest.mark.skipif(DEVICE == "cpu", reason="requires a GPU: CPUs have the same kernel for all lengths")


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("case", [*SHORT, *(pytest.param(case, marks=on_gpu) for case in LONG)], ids=str)
def test_device(case: Case, inputs: str) -> None:
    session = open_session(compile_program(program(case)))

    def run(operands: Operands) -> dict[str, Array]:
        return session.run("attention", dict(zip(("q", "k", "v", "do"), operands, strict=True)))

    compare(case, inputs, run)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("result.values[i][j] -= remainders[i] *", "result.values[i][j] -= 0 *"),
        ("sums[i] + remainders[i]", "sums[i]"),
    ],
    ids=["dQ keeps what keys have in common", "D for dK is that of the output"],
)
def test_mutations_are_noticed(right: str, wrong: str, tmp_path: pathlib.Path) -> None:
    """Without the corrections of D, the errors are those of FlashAttention-2 or larger."""
    case = HOST_CASES[0]
    text = emit_cuda(case.kernels(0), "--require-all")
    assert right in text
    kernels = compile_for_host(text.replace(right, wrong), tmp_path)
    with pytest.raises(AssertionError, match="times as far off"):
        compare(case, "common 3", lambda operands: case.run(kernels, 0, operands))

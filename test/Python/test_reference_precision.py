"""The NumPy model in float64 has the precision of float64: it agrees with itself in extended precision.

Cancellation in a formula shows as an error far above that of one rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import reference
from dialect_program import BINARY, UNARY
from reference import Array

ROUNDING = float(np.finfo(np.float64).eps)
CONFIG = reference.Config(vocab_size=11, context_length=5, d_model=12, num_layers=2, num_heads=3, d_ff=7, batch_size=2)

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).eps >= ROUNDING / 1000, reason="long double is as wide as double here"
)


def worst_error(value: Array, exact: Array) -> float:
    """Return the largest relative error of an element."""
    exact = np.atleast_1d(exact)
    assert exact.dtype == np.longdouble, "the reference left extended precision"
    return float(np.max(np.abs(value - exact) / np.where(exact == 0, 1, np.abs(exact))))


def norm_error(value: Array, exact: Array) -> float:
    """Return the relative error in the Euclidean norm, for sums of terms of both signs."""
    assert np.asarray(exact).dtype == np.longdouble, "the reference left extended precision"
    error, norm = np.sqrt(np.sum((value - exact) ** 2)), np.sqrt(np.sum(exact**2))
    return float(error if norm == 0 else error / norm)


def with_gradients(layer: Callable[..., tuple[Array, Callable[..., object]]]) -> Callable[..., list[Array]]:
    """Return a layer's result and the gradients of its arguments, for a gradient of cosines."""

    def run(*arguments: Array) -> list[Array]:
        y, backward = layer(*arguments)
        gradients = backward(np.cos(np.arange(y.size)).reshape(y.shape).astype(np.float64).astype(y.dtype))
        return [y, *(gradients if isinstance(gradients, tuple) else (gradients,))]

    return run


CAUSAL = np.tri(4, dtype=bool)
LAYERS: dict[str, tuple[Callable[..., list[Array]], list[tuple[int, ...]]]] = {
    "linear": (with_gradients(reference.linear), [(3, 5), (4, 5)]),
    "rms_norm": (with_gradients(reference.rms_norm), [(3, 8), (8,)]),
    "rope": (with_gradients(lambda x: reference.rope(x, 10000.0)), [(2, 300, 8)]),
    "softmax": (lambda x: [reference.softmax(x)], [(4, 9)]),
    "attention": (with_gradients(lambda q, k, v: reference.attention(q, k, v, CAUSAL)), [(2, 4, 6)] * 3),
    "swiglu": (with_gradients(reference.swiglu), [(3, 7), (3, 7)]),
}


@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, scale: float) -> None:
    layer, shapes = LAYERS[name]
    rng = np.random.default_rng(3)
    arguments = [scale * rng.standard_normal(shape) for shape in shapes]
    exact = layer(*(argument.astype(np.longdouble) for argument in arguments))
    for index, (value, wide) in enumerate(zip(layer(*arguments), exact, strict=True)):
        assert value.dtype == np.float64
        assert norm_error(value, wide) < 100 * ROUNDING, f"{name}, result {index}"


@pytest.mark.parametrize("name", [name for name in UNARY if name not in ("erf", "gelu")])
def test_operations_of_one_operand(name: str) -> None:
    """All functions but those that NumPy has only in float64, where a difference from 1 would have no digits left."""
    x = np.linspace(0.1, 10, 300) if name in ("log", "sqrt", "rsqrt") else np.linspace(-10, 10, 301)
    for index, (value, exact) in enumerate(zip(UNARY[name](x), UNARY[name](x.astype(np.longdouble)), strict=True)):
        error = worst_error if name not in ("sin", "cos", "silu", "gelu_tanh") or index == 0 else norm_error
        assert error(value, np.asarray(exact, np.longdouble)) < 200 * ROUNDING, f"{name}, result {index}"


@pytest.mark.parametrize("name", BINARY)
def test_operations_of_two_operands(name: str) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.uniform(0.1, 5, (2, 300))
    wide = BINARY[name](x.astype(np.longdouble), y.astype(np.longdouble))
    for index, (value, exact) in enumerate(zip(BINARY[name](x, y), wide, strict=True)):
        assert worst_error(value, np.asarray(exact, np.longdouble)) < 200 * ROUNDING, f"{name}, result {index}"


@pytest.mark.parametrize("confidence", [0.0, 1.0, 20.0, 40.0])
def test_cross_entropy_of_sure_and_unsure_logits(confidence: float) -> None:
    """A loss of 1e-17 has as many digits as one of 1."""
    rng = np.random.default_rng(4)
    logits, targets = rng.standard_normal((6, 9)), np.arange(6)
    logits[np.arange(6), targets] += confidence
    loss, backward = reference.cross_entropy(logits, targets)
    wide_loss, wide_backward = reference.cross_entropy(logits.astype(np.longdouble), targets)
    assert worst_error(loss, wide_loss) < 10 * ROUNDING * max(confidence, 1)
    assert worst_error(backward(), wide_backward()) < 10 * ROUNDING * max(confidence, 1)


def test_the_model() -> None:
    rng = np.random.default_rng(5)
    p = reference.random_parameters(CONFIG, rng)
    tokens, targets = reference.random_batch(CONFIG, rng)
    wide = {name: value.astype(np.longdouble) for name, value in p.items()}
    loss, gradients = reference.loss_and_gradients(p, tokens, targets, CONFIG)
    wide_loss, wide_gradients = reference.loss_and_gradients(wide, tokens, targets, CONFIG)
    assert worst_error(loss, wide_loss) < 100 * ROUNDING
    for name, gradient in gradients.items():
        assert norm_error(gradient, wide_gradients[name]) < 1000 * ROUNDING, name
    norm, wide_norm = reference.gradient_norm(gradients), reference.gradient_norm(wide_gradients)
    assert worst_error(norm, wide_norm) < 100 * ROUNDING
    for limit in (1e-3, 1e3):
        clipped, wide_clipped = reference.clip(gradients, limit), reference.clip(wide_gradients, limit)
        for name, gradient in clipped.items():
            assert norm_error(gradient, wide_clipped[name]) < 1000 * ROUNDING, name


@pytest.mark.parametrize("schedule", [(0, 0), (10, 0), (10, 3000), (0, 2)])
def test_learning_rates(schedule: tuple[int, int]) -> None:
    """The rates before the end of a cosine to 0 have all their digits, too."""
    for min_lr in (0.0, 1e-4):
        for iteration in (0, 1, 9, 10, 11, 1500, 2990, 2999, 3000, 3001):
            value, wide = (
                reference.learning_rate(iteration, 1e-3, min_lr, *schedule, wide=wide)
                for wide in (np.float64, np.longdouble)
            )
            assert worst_error(value, wide) < 10 * ROUNDING, iteration


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.9, 0.999, 1 - 1e-9])
def test_bias_corrections(beta: float) -> None:
    for step in (1, 2, 1000, 10**7):
        value, wide = (reference.bias_correction(beta, step, wide) for wide in (np.float64, np.longdouble))
        assert worst_error(value, wide) < 10 * ROUNDING, step


@pytest.mark.parametrize("beta2", [0.0, 0.95, 0.999])
@pytest.mark.parametrize("beta1", [0.0, 0.9])
@pytest.mark.parametrize("form", ["pytorch", "cs336_2025", "cs336_2026"])
def test_adamw(form: str, beta1: float, beta2: float) -> None:
    """The gradients fall from 1 to 1e-9, which a moment computed as a difference would lose."""
    numbers = reference.Optimizer(form=form, beta1=beta1, beta2=beta2, eps=1e-12, weight_decay=0.1)
    rng = np.random.default_rng(6)
    start = rng.standard_normal(8)
    runs = [
        reference.AdamW({"p": start.astype(dtype)}, replace(numbers, max_norm=norm, warmup_steps=2, cosine_steps=9))
        for norm in (0.0, 0.5)
        for dtype in (np.float64, np.longdouble)
    ]
    for scale in (1.0, 1e-9, 1e-9, 1e-3):
        gradient = scale * rng.standard_normal(8)
        for adamw in runs:
            adamw.step({"p": gradient.astype(adamw.parameters["p"].dtype)})
        for value, exact in (runs[:2], runs[2:]):
            for state in (lambda adamw: adamw.m["p"], lambda adamw: adamw.v["p"]):
                assert norm_error(state(value), state(exact)) < 10 * ROUNDING
            moved, exactly = (adamw.parameters["p"] - start for adamw in (value, exact))
            assert norm_error(moved, exactly) < 1e-10
            assert worst_error(value.parameters["p"], exact.parameters["p"]) < 100 * ROUNDING

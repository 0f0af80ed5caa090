"""Comparisons of tensors by the relative error of the whole tensor, in the 2-norm."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike


def relative_error(actual: ArrayLike, expected: ArrayLike) -> float:
    """Return ‖actual − expected‖₂ / ‖expected‖₂ in float64; 0 for two zeros, infinite for a NaN.

    Examples
    --------
    >>> relative_error([1.0, 1.0], [1.0, 0.0])
    1.0
    """
    a, e = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert a.shape == e.shape, f"shapes differ: {a.shape} and {e.shape}"
    difference, norm = float(np.linalg.norm(a - e)), float(np.linalg.norm(e))
    if np.isnan(difference):
        return float("inf")
    return 0.0 if difference == 0 else difference / norm if norm > 0 else float("inf")


def assert_close(actual: ArrayLike, expected: ArrayLike, tolerance: float, what: str = "tensor") -> None:
    """Fail with the error and `what` if the relative error exceeds `tolerance`."""
    error = relative_error(actual, expected)
    assert error <= tolerance, f"{what}: relative error {error:.3e} exceeds {tolerance:.0e}"


def assert_gradients_close(
    actual: Mapping[str, ArrayLike],
    expected: Mapping[str, ArrayLike],
    tolerance: float,
    nearly_zero: float = 1e-3,
) -> None:
    """Compare every gradient in its own norm.

    A gradient whose norm is below `nearly_zero` of the whole gradient's is compared in the norm of the whole gradient:
    after cancellation it has no exact digits of its own.
    """
    assert set(actual) == set(expected), f"names differ: {sorted(set(actual) ^ set(expected))}"
    whole = float(np.sqrt(sum(np.sum(np.square(np.asarray(g, np.float64))) for g in expected.values())))
    for name, gradient in expected.items():
        a, e = np.asarray(actual[name], np.float64), np.asarray(gradient, np.float64)
        assert a.shape == e.shape, f"{name}: shapes differ: {a.shape} and {e.shape}"
        own = float(np.linalg.norm(e))
        scale = own if own >= nearly_zero * whole else whole
        error = float(np.linalg.norm(a - e))
        assert error <= tolerance * scale, (
            f"gradient of {name}: error {error:.3e} exceeds {tolerance:.0e} of {scale:.3e}"
        )

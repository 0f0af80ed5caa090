"""The NumPy side of the differential tests is right: its gradients agree with its own finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from comparison import assert_close
from dialect_program import Array
from operation_cases import CASES, Case, finite_differences
from random_graphs import random_program


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pullback_matches_finite_differences(case: Case) -> None:
    arrays = case.arrays()

    def loss(moved: list[Array]) -> float:
        return float(dict(case.program(moved).outputs)["loss"].array)

    gradients = case.program(arrays).gradients()
    for name, expected in zip(gradients, finite_differences(loss, arrays, case.step), strict=True):
        assert_close(gradients[name], expected, case.tolerance, name)


def test_random_programs_are_reproducible_and_finite() -> None:
    for seed in range(30):
        first, second = (random_program("g", seed, "mixed") for _ in range(2))
        assert first.text("loss") == second.text("loss")
        assert all(np.all(np.isfinite(gradient)) for gradient in first.gradients().values())

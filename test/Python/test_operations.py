"""Every differentiable operation, compiled in float64: its value, its gradient, and finite differences of it."""

from __future__ import annotations

from functools import cache

import cs336
import numpy as np
import pytest
from comparison import assert_close
from device import compile_program, open_session
from dialect_program import Array
from operation_cases import CASES, Case, finite_differences


@cache
def session(fusion: str = "all") -> cs336.Session:
    """Return all cases, compiled in one module."""
    text = "\n".join(case.program(case.arrays()).text("forward_backward") for case in CASES)
    result = open_session(compile_program(text, fusion=fusion))
    # Derived values are computed from the parameters of all cases.
    result.set_parameters({name: np.zeros_like(value) for name, value in result.parameters().items()})
    return result


def test_every_differentiable_operation_has_a_case() -> None:
    differentiable = {name for name, is_differentiable in cs336.operations().items() if is_differentiable}
    assert {case.operation for case in CASES} == differentiable


@pytest.mark.parametrize("fusion", ["none", "all"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_value_and_gradient_match_numpy(case: Case, fusion: str) -> None:
    program = case.program(case.arrays())
    for name, array in program.parameters.items():
        session(fusion)[name] = array
    outputs = session(fusion).run(case.function, program.inputs)
    for name, value in program.outputs:
        assert_close(outputs[name], value.array, 1e-7 if case.is_narrow else 1e-12, name)
    for name, gradient in program.gradients().items():
        assert_close(outputs[name], gradient, 3e-7 if case.is_narrow else 1e-11, name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gradient_matches_finite_differences(case: Case) -> None:
    arrays = case.arrays()
    names = list(case.program(arrays).parameters)

    def run(values: list[Array]) -> dict[str, Array]:
        for name, value in zip(names, values, strict=True):
            session()[name] = value
        return session().run(case.function, {})

    gradients = run(arrays)
    expected = finite_differences(lambda values: float(run(values)["loss"]), arrays, case.step)
    for name, difference in zip(names, expected, strict=True):
        assert_close(gradients[name], difference, case.tolerance, name)


def test_the_comparison_notices_a_wrong_gradient() -> None:
    case = next(case for case in CASES if case.name == "silu")
    slope = session().run("silu", {})
    with pytest.raises(AssertionError, match="relative error"):
        assert_close(slope["silu.p0"], np.ones(case.shapes[0]), case.tolerance)

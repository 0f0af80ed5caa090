"""Random small graphs: compiled values and gradients equal NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device import compile_program, open_session
from dialect_program import Program
from random_graphs import random_program

GRAPHS = 240
GRAPHS_PER_MODULE = 40
DTYPES = ("f64", "f32", "mixed")
# Relative to the largest element of the compared gradient or value: at least 10 times the worst observed errors, 4e-14,
# 9e-7 and 2.4e-6.
TOLERANCES = {"f64": 1e-11, "f32": 2e-5, "mixed": 2e-5}


def dtype_of(seed: int) -> str:
    return DTYPES[seed % len(DTYPES)]


def check(name: str, actual: np.ndarray, expected: np.ndarray, tolerance: float, program: Program) -> None:
    """Compare in the largest norm; a failure prints the program."""
    assert actual.shape == expected.shape, f"{name}: {actual.shape} and {expected.shape}\n{program.text('loss')}"
    error = np.max(np.abs(actual.astype(np.float64) - expected), initial=0)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
    assert error <= tolerance * scale, f"{name}: error {error:.3e} of {scale:.3e}\n{program.text('loss')}"


def check_graphs(seeds: range, **options: Any) -> None:
    """Compile the graphs of the seeds as one program with the options, and compare all results."""
    programs = {seed: random_program(f"g{seed}", seed, dtype_of(seed)) for seed in seeds}
    text = "\n".join(program.text("forward_backward") for program in programs.values())
    session = open_session(compile_program(text, **options))
    session.initialize(0)
    for program in programs.values():
        for name, value in program.parameters.items():
            session[name] = value
    session.prepare()
    for seed, program in programs.items():
        outputs = session.run(program.name, program.inputs)
        expected = {name: value.array for name, value in program.outputs} | program.gradients()
        assert set(outputs) == set(expected)
        for name, value in expected.items():
            check(name, outputs[name], value, TOLERANCES[dtype_of(seed)], program)


@pytest.mark.parametrize("fusion", ["none", "all"])
@pytest.mark.parametrize("first", range(0, GRAPHS, GRAPHS_PER_MODULE))
def test_compiled_values_and_gradients_match_numpy(first: int, fusion: str) -> None:
    check_graphs(range(first, first + GRAPHS_PER_MODULE), fusion=fusion)

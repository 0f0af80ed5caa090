"""Updates of parameters in the kernels that compute their gradients: `exec-fuse-updates`.

The loss Σ (x·wᵀ)·c has the gradient cᵀ·x for w, so a program can receive any factors of it. On the CPU, and on GPUs
without the instructions, the pass changes nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
import reference
from comparison import assert_close
from device import DEVICE, compile_program, open_session
from dialect_program import Array, Program
from test_adamw import optimizer_attribute

# Tokens, rows and columns of gradients: parts of tiles in every direction, several tiles, fewer tokens than a stage.
SHAPES = [(200, 256, 320), (33, 512, 64), (256, 64, 448), (1000, 320, 256), (5, 192, 576)]
ALWAYS = "extra-after-lowering=exec-fuse-updates{always=true}"
OPTIMIZER = {"lr": 1e-2, "beta1": 0.8, "beta2": 0.9, "weight_decay": 0.1}


def round_to_bf16(values: Array) -> Array:
    """Round to numbers that bf16 has, so that casts of inputs are exact."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def product_program(rng: np.random.Generator, shapes: list[tuple[int, int, int]]) -> Program:
    """Return the sum of the losses for gradients of all shapes."""
    program = Program("train")
    total = None
    for tokens, rows, columns in shapes:
        weight = program.parameter(rng.standard_normal((rows, columns)), "f32")
        x = program.input(np.zeros((tokens, columns)), "f32")
        factor = program.input(np.zeros((tokens, rows)), "f32")
        term = program.reduce("sum", program.binary("mul", program.linear(x, weight), factor), [0, 1])
        total = program.binary("add", total, term) if total else term
    assert total is not None
    program.output("loss", total)
    return program


def step_text(program: Program, form: str) -> str:
    numbers = reference.Optimizer(form=form, **OPTIMIZER)
    return program.text("train").replace(
        "cs336.mode = #cs336.mode<train>",
        f"cs336.mode = #cs336.mode<train>, cs336.optimizer = {optimizer_attribute(numbers)}",
    )


def check_step(before: dict[str, Array], after: dict[str, Array], name: str, gradient: Array, step: int) -> None:
    """Compare the state of a parameter with formulas in float64, and its new value with those of its new state.

    A rounded gradient differs from the exact one by at most 2⁻⁹ per element, 0.0011 of the norm, and its square by
    twice that. The rest is float32's rounding. The form is PyTorch's.
    """
    beta1, beta2, lr = OPTIMIZER["beta1"], OPTIMIZER["beta2"], OPTIMIZER["lr"]
    p, m, v = (f"{prefix}{name}" for prefix in ("", "adamw.m.", "adamw.v."))
    wide = {key: value.astype(np.float64) for key, value in before.items()}
    assert_close(after[m] - beta1 * wide[m], (1 - beta1) * gradient, 2e-3, m)
    assert_close(after[v] - beta2 * wide[v], (1 - beta2) * gradient * gradient, 4e-3, v)
    correction1, correction2 = (1 - beta**step for beta in (beta1, beta2))
    new_m, new_v = after[m].astype(np.float64), after[v].astype(np.float64)
    expected = wide[p] - lr * OPTIMIZER["weight_decay"] * wide[p]
    expected -= lr * (new_m / correction1) / (np.sqrt(new_v / correction2) + 1e-8)
    assert_close(after[p], expected, 1e-6, p)


@pytest.mark.parametrize("shapes", [SHAPES, SHAPES[:1], SHAPES[1:3] * 4], ids=["many", "one", "repeated"])
def test_updates_match_numpy(shapes: list[tuple[int, int, int]]) -> None:
    rng = np.random.default_rng(3)
    program = product_program(rng, shapes)
    executable = compile_program(step_text(program, "pytorch"), dtype="bf16", pipeline=ALWAYS)
    session = open_session(executable)
    session.initialize(0)
    session.set_parameters(program.parameters)
    names = [f"{prefix}train.p{i}" for i in range(len(shapes)) for prefix in ("", "adamw.m.", "adamw.v.")]
    for step in range(1, 4):
        inputs = {name: round_to_bf16(rng.standard_normal(x.shape)) for name, x in program.inputs.items()}
        before = {name: np.array(session[name]) for name in names}
        session.run("train", inputs)
        after = {name: np.array(session[name]) for name in names}
        for i in range(len(shapes)):
            x, factor = inputs[f"x{2 * i}"].astype(np.float64), inputs[f"x{2 * i + 1}"].astype(np.float64)
            check_step(before, after, f"train.p{i}", factor.T @ x, step)


@pytest.mark.parametrize("form", ["pytorch", "cs336_2025", "cs336_2026"])
def test_fused_and_separate_updates_agree(form: str) -> None:
    """Both round the same sums, added in another order, to bf16: only few elements may differ, by one rounding."""
    rng = np.random.default_rng(4)
    program = product_program(rng, SHAPES)
    inputs = {name: round_to_bf16(rng.standard_normal(x.shape)) for name, x in program.inputs.items()}
    states = []
    for pipeline in (ALWAYS, "fuse-updates=false"):
        session = open_session(compile_program(step_text(program, form), dtype="bf16", pipeline=pipeline))
        session.initialize(0)
        session.set_parameters(program.parameters)
        for _ in range(2):
            session.run("train", inputs)
        states.append({name: np.array(session[name]) for name in program.parameters})
    for name, fused in states[0].items():
        assert_close(fused, states[1][name], 1e-4, name)


@pytest.mark.skipif(DEVICE == "cpu", reason="the CPU stores gradients")
def test_two_runs_are_equal() -> None:
    rng = np.random.default_rng(5)
    program = product_program(rng, SHAPES)
    inputs = {name: round_to_bf16(rng.standard_normal(x.shape)) for name, x in program.inputs.items()}
    executable = compile_program(step_text(program, "pytorch"), dtype="bf16", pipeline=ALWAYS)
    results = []
    for _ in range(2):
        session = open_session(executable)
        session.initialize(0)
        session.set_parameters(program.parameters)
        session.run("train", inputs)
        results.append({name: np.array(session[name]) for name in program.parameters})
    for name, first in results[0].items():
        np.testing.assert_array_equal(first, results[1][name])

"""AdamW alone: the gradient of Σ p·g is g, so that a program can receive any gradient."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import reference
from comparison import assert_close
from device import compile_program, open_session
from dialect_program import Program

SHAPES = [(7, 5), (33,), (2, 3, 4)]
STEPS = 6
PLAIN = {"lr": 1e-2, "beta2": 0.95, "weight_decay": 0.2}
VARIANTS = {
    "plain": PLAIN,
    "no decay": {"lr": 1e-2, "weight_decay": 0.0},
    "clipping": PLAIN | {"max_norm": 0.5},
    "no clipping needed": PLAIN | {"max_norm": 1e6},
    "schedule": PLAIN | {"warmup_steps": 2, "cosine_steps": 5, "min_lr": 1e-3},
    "large eps": PLAIN | {"eps": 1e-2},
    "no memory": PLAIN | {"beta1": 0.0, "beta2": 0.0},
}


def optimizer_attribute(numbers: reference.Optimizer) -> str:
    """Write `#cs336.optimizer<…>`."""
    fields = (f"{k} = {v:e}" if isinstance(v, float) else f"{k} = {v}" for k, v in asdict(numbers).items())
    return f"#cs336.optimizer<{', '.join(fields)}>"


def sum_of_products(dtype: str, rng: np.random.Generator, shapes: list[tuple[int, ...]] = SHAPES) -> Program:
    """Return the loss Σ p·g over all parameters p and inputs g."""
    program = Program("train")
    total = None
    for shape in shapes:
        p = program.parameter(rng.standard_normal(shape), dtype)
        g = program.input(np.zeros(shape), dtype)
        term = program.reduce("sum", program.binary("mul", p, g), list(range(len(shape))))
        total = program.binary("add", total, term) if total else term
    assert total is not None
    program.output("loss", total)
    return program


def check_updates(
    program: Program, numbers: reference.Optimizer, rng: np.random.Generator, steps: int, tolerance: float
) -> None:
    """Compare the parameters after some steps by random gradients with NumPy's in float64."""
    text = program.text("train").replace(
        "cs336.mode = #cs336.mode<train>",
        f"cs336.mode = #cs336.mode<train>, cs336.optimizer = {optimizer_attribute(numbers)}",
    )
    session = open_session(compile_program(text))
    session.initialize(0)
    session.set_parameters(program.parameters)
    expected = {name: value.astype(np.float64) for name, value in program.parameters.items()}
    adamw = reference.AdamW(expected, numbers)
    for _ in range(steps):
        inputs = {name: rng.standard_normal(value.shape).astype(value.dtype) for name, value in program.inputs.items()}
        session.run("train", inputs)
        adamw.step({p: g.astype(np.float64) for p, g in zip(expected, inputs.values(), strict=True)})
    for name, value in expected.items():
        assert_close(session[name], value, tolerance, name)


@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-6), ("f64", 1e-13)])
@pytest.mark.parametrize("form", ["pytorch", "cs336_2025", "cs336_2026"])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_updates_match_numpy(variant: dict[str, float], form: str, dtype: str, tolerance: float) -> None:
    numbers = reference.Optimizer(form=form, **variant)
    rng = np.random.default_rng(5)
    check_updates(sum_of_products(dtype, rng), numbers, rng, STEPS, tolerance)


def test_a_norm_of_more_gradients_than_one_kernel_adds_up() -> None:
    """Sums of 1024 gradients are one kernel, and the sums of these another."""
    rng = np.random.default_rng(6)
    program = sum_of_products("f32", rng, [(3,)] * 1100)
    check_updates(program, reference.Optimizer(**PLAIN, max_norm=0.5), rng, 2, 1e-6)

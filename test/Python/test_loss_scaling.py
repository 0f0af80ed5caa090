"""fp16's dynamic loss scaling, inside of the compiled step, compared with one in NumPy."""

from __future__ import annotations

import re

import cs336
import numpy as np
import pytest
import reference
from comparison import assert_close
from compiled_model import optimizer, transformer_config
from device import compile_program, open_session
from test_adamw import optimizer_attribute, sum_of_products

INTERVAL = 3
HUGE = 1e16
"""Finite times 65536, and the sum of its squares is not."""


def scaled_program(numbers: reference.Optimizer, rng: np.random.Generator, attribute: str) -> tuple[str, dict, dict]:
    """Return a train function whose inputs are gradients, its parameters, and its inputs."""
    program = sum_of_products("f32", rng)
    text = program.text("train").replace(
        "cs336.mode = #cs336.mode<train>",
        f"cs336.mode = #cs336.mode<train>, cs336.optimizer = {optimizer_attribute(numbers)}, "
        f"cs336.loss_scaling = {attribute}",
    )
    return text, program.parameters, program.inputs


def gradients_of_step(step: int, inputs: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return gradients that overflow, are NaN, huge but finite, or ordinary, with enough of these to grow the scale."""
    values = {name: rng.standard_normal(value.shape).astype(np.float32) for name, value in inputs.items()}
    last = values[max(values)]
    if step == 1:
        last.flat[3] = np.inf
    elif step == 2:
        last.flat[5] = 1e35  # Overflows when it is scaled.
    elif step == 3:
        last.flat[0] = np.nan
    elif step == 8:
        last.flat[2] = HUGE
    return values


@pytest.mark.parametrize("form", ["pytorch", "cs336_2026"])
@pytest.mark.parametrize("max_norm", [0.0, 0.5])
def test_steps_match_a_scaler_in_numpy(form: str, max_norm: float) -> None:
    numbers = reference.Optimizer(form=form, lr=1e-2, weight_decay=0.1, max_norm=max_norm, warmup_steps=2)
    rng = np.random.default_rng(11)
    text, parameters, inputs = scaled_program(numbers, rng, f"#cs336.loss_scaling<interval = {INTERVAL}>")
    session = open_session(compile_program(text, pipeline="dtype=fp16"))
    session.initialize(0)
    session.set_parameters(parameters)
    assert session["loss_scale"] == 65536

    expected = {name: value.astype(np.float64) for name, value in parameters.items()}
    adamw = reference.AdamW(expected, numbers)
    scaler = reference.LossScaler(interval=INTERVAL)
    seen = set()
    for step in range(12):
        values = gradients_of_step(step, inputs, rng)
        before = {name: session[name] for name in parameters}
        outputs = session.run("train", values)
        if step not in (1, 2, 3):
            terms = (before[p].astype(np.float64) * g for p, g in zip(parameters, values.values(), strict=True))
            assert_close(outputs["loss"], sum(np.sum(term) for term in terms), 1e-4, "loss")
        with np.errstate(over="ignore"):
            gradients = {p: g * np.float32(scaler.scale) for p, g in zip(expected, values.values(), strict=True)}
        applied = scaler.step(adamw, gradients)
        seen.add(applied)
        for name, value in expected.items():
            assert_close(session[name], value, 1e-6, f"{name} after step {step}")
            if not applied:
                np.testing.assert_array_equal(session[name], before[name])
        assert session["loss_scale"] == scaler.scale
        assert session["growth_tracker"] == scaler.growth_tracker
        assert session["adamw.step"] == adamw.t
        if max_norm > 0 and applied:
            assert_close(outputs["grad_norm"], scaler.norm, 1e-5, "norm of the unscaled gradients")
    assert seen == {True, False}
    assert scaler.scale != 65536


def test_the_scale_stays_finite_and_all_of_it_can_be_chosen() -> None:
    rng = np.random.default_rng(12)
    attribute = "#cs336.loss_scaling<init = 1.0e+38, growth = 4.0, backoff = 0.25, interval = 1>"
    text, parameters, inputs = scaled_program(reference.Optimizer(), rng, attribute)
    session = open_session(compile_program(text, pipeline="dtype=fp16"))
    session.initialize(0)
    session.set_parameters(parameters)
    tiny = {name: np.full(value.shape, 1e-30, np.float32) for name, value in inputs.items()}
    session.run("train", tiny)
    assert session["loss_scale"] == np.float32(1e38)
    session.run("train", {name: value * np.float32(1e31) for name, value in tiny.items()})
    assert session["loss_scale"] == np.float32(1e38) * np.float32(0.25)
    session.run("train", tiny)
    assert session["loss_scale"] == np.float32(1e38)
    assert session["adamw.step"] == 2


def test_a_step_that_is_not_skipped_is_noticed() -> None:
    """The wrong program applies the update even if gradients are not finite."""
    rng = np.random.default_rng(13)
    text, parameters, inputs = scaled_program(reference.Optimizer(), rng, "#cs336.loss_scaling<>")
    passes = "func.func(cs336-scale-loss,cs336-decompose,cs336-differentiate,cs336-optimizer)"
    lowered = str(cs336.parse(text).run_passes(passes))
    header = re.search(r"func\.func @train\(.*\{\n", lowered)
    assert header
    always = f"{header[0]}    %always = cs336.constant dense<true> : tensor<i1>\n"
    mutated = re.sub(r"apply = %\w+", "apply = %always", lowered.replace(header[0], always))

    def compare(program: str) -> None:
        session = open_session(compile_program(program))
        session.initialize(0)
        session.set_parameters(parameters)
        session.run("train", {name: np.full(value.shape, np.inf, np.float32) for name, value in inputs.items()})
        for name, value in parameters.items():
            assert_close(session[name], value, 0, name)

    compare(lowered)
    with pytest.raises(AssertionError, match="relative error"):
        compare(mutated)


def test_a_transformer_trains_in_fp16() -> None:
    """On the same tokens the loss falls as in float32, and it is not scaled."""
    config = reference.Config(
        vocab_size=31, context_length=12, d_model=24, num_layers=2, num_heads=2, d_ff=40, batch_size=4
    )
    numbers = reference.Optimizer(lr=1e-2, max_norm=1.0)
    rng = np.random.default_rng(14)
    p = reference.random_parameters(config, rng)
    tokens, targets = reference.random_batch(config, rng)
    losses = {}
    for dtype in ("fp32", "fp16"):
        module = cs336.build(transformer_config(config), "train", "f32", optimizer(numbers))
        session = open_session(compile_program(module, pipeline=f"fusion=elementwise dtype={dtype}"))
        session.initialize(0)
        session.set_parameters(p)
        losses[dtype] = [float(session.run("train", {"tokens": tokens, "targets": targets})["loss"]) for _ in range(30)]
    assert losses["fp32"][-1] < 0.2 * losses["fp32"][0]
    assert_close(losses["fp16"], losses["fp32"], 2e-2, "losses")


def test_large_gradients_are_clipped_and_checked_as_they_are_read() -> None:
    """The embedding's gradient is 2.4 MiB in float32, more than a kernel on the CPU may keep as memory of its own."""
    config = cs336.TransformerConfig(64, 64, 1, 2, vocab_size=10000, context_length=4, batch_size=2)
    module = cs336.build(config, "train", optimizer=cs336.Optimizer(max_norm=1.0))
    session = open_session(compile_program(module, dtype="fp16"))
    session.initialize(0)
    tokens = np.random.default_rng(0).integers(0, 10000, (2, 4))
    losses = [float(session.run("train", {"tokens": tokens, "targets": tokens[:, ::-1]})["loss"]) for _ in range(4)]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]

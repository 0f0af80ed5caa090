"""The compiled model computes PyTorch's numbers in float32, and the NumPy model's in float64."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from comparison import assert_close
from compiled_model import CompiledModel
from golden_file import Golden


def test_float32_forward_matches_golden(golden: Golden) -> None:
    model = CompiledModel(golden.config, "train", golden.parameters, numbers=golden.optimizer)
    assert_close(model.forward(golden.tokens), golden.logits, 1e-5, "logits")
    inputs = {"tokens": golden.tokens, "targets": golden.targets}
    assert_close(model.session.run("loss", inputs)["loss"], golden.losses[0], 1e-5, "loss")


def test_float32_gradients_match_golden(golden: Golden) -> None:
    model = CompiledModel(golden.config, "forward_backward", golden.parameters)
    loss, gradients = model.loss_and_gradients(golden.tokens, golden.targets)
    assert_close(loss, golden.losses[0], 1e-5, "loss")
    assert set(gradients) == set(golden.gradients)
    for name, gradient in golden.gradients.items():
        assert_close(gradients[name], gradient, 1e-4, name)


def test_float32_training_matches_golden(golden: Golden) -> None:
    model = CompiledModel(golden.config, "train", golden.parameters, numbers=golden.optimizer)
    for expected in golden.losses:
        assert_close(model.train(golden.tokens, golden.targets)["loss"], expected, 1e-5, "loss")
    assert int(model.session["adamw.step"]) == golden.steps
    for name, value in golden.after.items():
        assert_close(model.session[name], value, 1e-4, name)


def test_float64_forward_and_gradients_match_numpy(golden: Golden) -> None:
    p = golden.float64_parameters()
    expected_loss, expected = reference.loss_and_gradients(p, golden.tokens, golden.targets, golden.config)
    model = CompiledModel(golden.config, "forward_backward", p, "f64")
    loss, gradients = model.loss_and_gradients(golden.tokens, golden.targets)
    assert_close(loss, expected_loss, 1e-9, "loss")
    for name, gradient in expected.items():
        assert_close(gradients[name], gradient, 1e-9, name)


@pytest.mark.parametrize("form", ["pytorch", "cs336_2025", "cs336_2026"])
def test_float64_training_matches_numpy(golden: Golden, form: str) -> None:
    numbers = reference.Optimizer(
        form, lr=1e-2, beta2=0.95, weight_decay=0.1, max_norm=1.0, warmup_steps=2, cosine_steps=4, min_lr=1e-3
    )
    p = golden.float64_parameters()
    model = CompiledModel(golden.config, "train", p, "f64", numbers)
    assert_close(model.forward(golden.tokens), reference.forward(p, golden.tokens, golden.config), 1e-9, "logits")
    adamw = reference.AdamW(p, numbers)
    for _ in range(5):
        loss, gradients = reference.loss_and_gradients(p, golden.tokens, golden.targets, golden.config)
        outputs = model.train(golden.tokens, golden.targets)
        assert_close(outputs["loss"], loss, 1e-9, "loss")
        assert_close(outputs["grad_norm"], reference.gradient_norm(gradients), 1e-9, "gradient norm")
        adamw.step(gradients)
    for name, value in p.items():
        assert_close(model.session[name], value, 1e-9, name)
        assert_close(model.session[f"adamw.m.{name}"], adamw.m[name], 1e-9, f"m of {name}")
        assert_close(model.session[f"adamw.v.{name}"], adamw.v[name], 1e-9, f"v of {name}")
    assert np.array_equal(model.session["adamw.step"], 5)

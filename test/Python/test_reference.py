"""The NumPy model is correct: it agrees with PyTorch's numbers and with finite differences of itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import reference
from comparison import assert_close, relative_error
from golden_file import Golden

ROUNDED_TO_FLOAT32 = 1e-7  # The golden file's own rounding.


def test_logits_loss_and_gradients_match_golden(golden: Golden) -> None:
    p = golden.float64_parameters()
    logits = reference.forward(p, golden.tokens, golden.config)
    loss, gradients = reference.loss_and_gradients(p, golden.tokens, golden.targets, golden.config)
    assert_close(logits, golden.logits, ROUNDED_TO_FLOAT32, "logits")
    assert_close(loss, golden.losses[0], ROUNDED_TO_FLOAT32, "loss")
    for name, gradient in golden.gradients.items():
        assert_close(gradients[name], gradient, ROUNDED_TO_FLOAT32, name)
    assert_close(reference.gradient_norm(gradients), golden.grad_norm, ROUNDED_TO_FLOAT32, "gradient norm")


def test_adamw_steps_match_golden(golden: Golden) -> None:
    p = golden.float64_parameters()
    adamw = reference.AdamW(p, golden.optimizer)
    for expected_loss in golden.losses:
        loss, gradients = reference.loss_and_gradients(p, golden.tokens, golden.targets, golden.config)
        assert_close(loss, expected_loss, ROUNDED_TO_FLOAT32, "loss")
        adamw.step(gradients)
    for name, value in golden.after.items():
        assert_close(p[name], value, ROUNDED_TO_FLOAT32, name)


def test_gradients_match_finite_differences() -> None:
    config = reference.Config(
        vocab_size=11, context_length=5, d_model=12, num_layers=2, num_heads=3, d_ff=7, batch_size=2
    )
    rng = np.random.default_rng(1)
    p = reference.random_parameters(config, rng)
    tokens, targets = reference.random_batch(config, rng)
    _, gradients = reference.loss_and_gradients(p, tokens, targets, config)
    step = 1e-5
    for name, gradient in gradients.items():
        direction = rng.standard_normal(gradient.shape)

        def shifted(sign: int, name: str = name, direction: reference.Array = direction) -> float:
            return reference.loss(p | {name: p[name] + sign * step * direction}, tokens, targets, config)

        slope = (shifted(1) - shifted(-1)) / (2 * step)
        assert_close(np.sum(gradient * direction), slope, 1e-6, name)


def test_forms_of_adamw_agree_where_they_must() -> None:
    """Without decay and eps all three are one formula; with decay, 2025 differs from 2026 only in the order."""
    rng = np.random.default_rng(2)
    start, gradient = rng.standard_normal((3, 4)), rng.standard_normal((3, 4))

    def run(optimizer: reference.Optimizer) -> reference.Array:
        p = {"p": start.copy()}
        adamw = reference.AdamW(p, optimizer)
        for _ in range(4):
            adamw.step({"p": gradient})
        return p["p"]

    plain = [run(reference.Optimizer(f, eps=0.0, weight_decay=0.0)) for f in ("pytorch", "cs336_2025", "cs336_2026")]
    assert_close(plain[1], plain[0], 1e-14)
    assert_close(plain[2], plain[0], 1e-14)
    lr, decay = 1e-2, 0.3
    after, before = (run(reference.Optimizer(f, lr=lr, weight_decay=decay)) for f in ("cs336_2025", "cs336_2026"))
    assert relative_error(after, before) > 1e-6


@pytest.mark.parametrize(
    ("iteration", "expected"), [(0, 0.0), (5, 0.5), (10, 1.0), (20, 0.55), (30, 0.1), (31, 0.1), (1000, 0.1)]
)
def test_schedule(iteration: int, expected: float) -> None:
    assert_close(reference.learning_rate(iteration, 1.0, 0.1, warmup_steps=10, cosine_steps=30), expected, 1e-12)


def test_clipping_scales_the_whole_gradient() -> None:
    gradients = {"a": np.array([3.0]), "b": np.array([4.0])}
    clipped = reference.clip(gradients, 1.0)
    assert_close(reference.gradient_norm(clipped), 1.0, 1e-6)
    assert_close(clipped["b"] / clipped["a"], [4 / 3], 1e-12)
    assert reference.clip(gradients, 100.0)["a"] == 3.0


@pytest.mark.parametrize(
    "mutation", [reference.Mutation(mask_offset=1), reference.Mutation(rope_half_split=True)], ids=str
)
def test_mutations_of_the_reference_show_in_the_golden_numbers(golden: Golden, mutation: reference.Mutation) -> None:
    p = golden.float64_parameters()
    logits = reference.forward(p, golden.tokens, golden.config, mutation)
    assert relative_error(logits, golden.logits) > 1e-3


def test_wrong_decay_order_shows_in_the_golden_numbers(golden: Golden) -> None:
    p = golden.float64_parameters()
    adamw = reference.AdamW(p, dataclasses.replace(golden.optimizer, form="cs336_2025"))
    for _ in range(golden.steps):
        adamw.step(reference.loss_and_gradients(p, golden.tokens, golden.targets, golden.config)[1])
    assert max(relative_error(p[name], golden.after[name]) for name in p) > 1e-4

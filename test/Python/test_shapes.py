"""Awkward shapes: the compiled model agrees with the NumPy model for any sizes."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from comparison import assert_close, assert_gradients_close
from compiled_model import CompiledModel


def random_config(seed: int) -> reference.Config:
    """Return random sizes, none of them round."""
    rng = np.random.default_rng(seed)
    heads = int(rng.integers(1, 5))
    return reference.Config(
        vocab_size=int(rng.integers(5, 120)),
        context_length=int(rng.integers(1, 40)),
        d_model=heads * 2 * int(rng.integers(1, 14)),
        num_layers=int(rng.integers(1, 4)),
        num_heads=heads,
        d_ff=int(rng.integers(3, 150)),
        batch_size=int(rng.integers(1, 5)),
    )


SHAPES = {
    "odd context": reference.Config(50, 33, 32, 2, 4, 64, batch_size=2),
    "head_dim 80": reference.Config(40, 17, 160, 1, 2, 96, batch_size=2),
    "one head": reference.Config(61, 19, 24, 2, 1, 40, batch_size=3),
    "one layer": reference.Config(32, 16, 32, 1, 2, 48, batch_size=1),
    "context 1": reference.Config(29, 1, 16, 2, 2, 24, batch_size=5),
    "vocab and d_ff not multiples of 8": reference.Config(101, 12, 40, 2, 2, 53, batch_size=2),
    "another theta": reference.Config(30, 20, 24, 1, 3, 24, rope_theta=500.0, batch_size=2),
} | {f"random {seed}": random_config(seed) for seed in range(4)}


@pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)
def test_float32_matches_numpy(config: reference.Config) -> None:
    rng = np.random.default_rng(config.vocab_size)
    p = reference.random_parameters(config, rng)
    tokens, targets = reference.random_batch(config, rng)
    expected_loss, expected = reference.loss_and_gradients(p, tokens, targets, config)

    logits = CompiledModel(config, "forward", p).forward(tokens)
    loss, gradients = CompiledModel(config, "forward_backward", p).loss_and_gradients(tokens, targets)
    assert_close(logits, reference.forward(p, tokens, config), 1e-5, "logits")
    assert_close(loss, expected_loss, 1e-5, "loss")
    assert_gradients_close(gradients, expected, 1e-4)

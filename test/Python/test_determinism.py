"""The same seed gives the same bits."""

from __future__ import annotations

from functools import cache

import cs336
import numpy as np
import pytest
import reference
from compiled_model import optimizer, transformer_config
from device import compile_program, open_session

CONFIG = reference.Config(101, 24, 48, 2, 3, 72, batch_size=3)
NUMBERS = reference.Optimizer(max_norm=1.0)


@cache
def compiled(fusion: str, dtype: str) -> cs336.Executable:
    module = cs336.build(transformer_config(CONFIG), "train", "f32", optimizer(NUMBERS))
    return compile_program(module, fusion=fusion, dtype=dtype)


def run(seed: int, threads: int, steps: int = 3, fusion: str = "all", dtype: str = "fp32") -> dict[str, bytes]:
    """Return every variable and loss of a short training, as bytes."""
    session = open_session(compiled(fusion, dtype), num_threads=threads)
    session.initialize(seed)
    rng = np.random.default_rng(seed)
    result = {}
    for step in range(steps):
        tokens, targets = reference.random_batch(CONFIG, rng)
        result[f"loss {step}"] = session.run("train", {"tokens": tokens, "targets": targets})["loss"].tobytes()
    return result | {name: session[name].tobytes() for name in session}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["fp32", "tf32", "bf16", "fp16"])
@pytest.mark.parametrize("fusion", ["none", "all"])
def test_two_runs_are_bit_identical(fusion: str, dtype: str, threads: int) -> None:
    first, second = (run(7, threads, fusion=fusion, dtype=dtype) for _ in range(2))
    assert first == second


def test_threads_do_not_change_initial_values() -> None:
    assert run(7, 1, steps=0) == run(7, 2, steps=0)


def test_another_seed_gives_another_model() -> None:
    first, second = run(1, 1, steps=0), run(2, 1, steps=0)
    assert first["lm_head.weight"] != second["lm_head.weight"]


def test_initial_values_have_the_right_distribution() -> None:
    """Truncated normal: std √(2/(in+out)) before the cut at three of them; the embedding has 1; norms are 1."""
    session = open_session(compiled("all", "fp32"))
    session.initialize(0)
    cut_std = 0.98658  # Standard deviation of a standard normal distribution cut at ±3.
    for name, values in session.parameters().items():
        if values.ndim == 1:
            assert np.all(values == 1), name
            continue
        std = 1.0 if name == "token_embeddings.weight" else np.sqrt(2 / sum(values.shape))
        assert np.max(np.abs(values)) <= 3 * std, name
        assert abs(np.mean(values)) < 5 * std / np.sqrt(values.size), name
        assert abs(np.std(values) / (cut_std * std) - 1) < 5 / np.sqrt(values.size), name
    assert all(np.all(values == 0) for values in session.state().values())

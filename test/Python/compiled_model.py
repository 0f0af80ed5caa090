"""Compiled Transformers for the tests that compare them with NumPy."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

import cs336
import numpy as np
import reference
from device import compile_program, open_session
from numpy.typing import NDArray


def transformer_config(config: reference.Config) -> cs336.TransformerConfig:
    return cs336.TransformerConfig(**asdict(config))


def optimizer(numbers: reference.Optimizer) -> cs336.Optimizer:
    return cs336.Optimizer(**asdict(numbers))


def small_batch() -> dict[str, NDArray[np.int64]]:
    """Return tokens and targets of two rows of seven, below 16."""
    tokens = np.arange(14).reshape(2, 7)
    return {"tokens": tokens, "targets": tokens + 1}


@cache
def executable(
    config: reference.Config,
    mode: str,
    dtype: str = "f32",
    numbers: reference.Optimizer | None = None,
    fusion: Any = "all",
) -> cs336.Executable:
    """Compile once for all tests with the same arguments."""
    update = optimizer(numbers) if numbers else None
    return compile_program(cs336.build(transformer_config(config), mode, dtype, update), fusion=fusion)


class CompiledModel:
    """A session of a Transformer with given parameters.

    Parameters
    ----------
    config, mode, dtype, numbers, fusion
        The model and how to compile it.
    parameters
        Parameters by checkpoint name.
    """

    def __init__(
        self,
        config: reference.Config,
        mode: str,
        parameters: reference.Parameters,
        dtype: str = "f32",
        numbers: reference.Optimizer | None = None,
        fusion: Any = "all",
    ) -> None:
        self.session = open_session(executable(config, mode, dtype, numbers, fusion))
        self.session.initialize(0)
        self.session.set_parameters(parameters)

    def forward(self, tokens: reference.Array) -> NDArray[Any]:
        return self.session.run("forward", {"tokens": tokens})["logits"]

    def loss_and_gradients(
        self, tokens: reference.Array, targets: reference.Array
    ) -> tuple[float, dict[str, NDArray[Any]]]:
        outputs = self.session.run("forward_backward", {"tokens": tokens, "targets": targets})
        loss = float(outputs.pop("loss"))
        return loss, outputs

    def train(self, tokens: reference.Array, targets: reference.Array) -> dict[str, NDArray[np.floating[Any]]]:
        return self.session.run("train", {"tokens": tokens, "targets": targets})

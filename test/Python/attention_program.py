"""Parts of attentions that are written as primitives."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from dialect_program import Program, Value
from numpy.typing import NDArray


def split_heads(program: Program, x: Value, count: int, heads: int) -> Value:
    """Return [batch, length, count · dim] as [batch, heads, length, dim], each head repeated for its group."""
    batch, length, width = x.shape
    dim = width // count
    split = program.transpose(program.reshape(x, (batch, length, count, dim)), [0, 2, 1, 3])
    group = heads // count
    if group == 1:
        return split
    groups = program.broadcast(split, [0, 1, 3, 4], (batch, count, group, length, dim))
    return program.reshape(groups, (batch, heads, length, dim))


def minus_infinity(program: Program, dtype: str, shape: tuple[int, ...]) -> Value:
    """Return negative infinity, which MLIR reads only as bits."""
    value = program.constant(0.0, dtype, shape)
    bits = "0xFFF0000000000000" if dtype == "f64" else "0xFF800000"
    program.lines[-1] = re.sub(r"dense<[^>]*>", f"dense<{bits}>", program.lines[-1])
    value.array = np.full(shape, -np.inf)
    return value


#: The most elements of `attend`'s output: the text of a kernel has the weights of the loss as a constant.
MOST_WEIGHTS = 2**20


def loss_weights(shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the weights of `attend`'s loss, the gradient of its output. They are exact in bf16 and f16 too."""
    return np.round(np.cos(1.0 + np.arange(math.prod(shape))) * 32).reshape(shape) / 32


def attend(program: Program, scores: Value, values: Value) -> None:
    """Add the softmax of scores and its matmul with the values: "y", merged, and "loss", a weighted sum of it."""
    batch, heads, queries, _ = scores.shape
    maximum = program.broadcast(program.reduce("max", scores, [3]), [0, 1, 2], scores.shape)
    powers = program.unary("exp", program.binary("sub", scores, maximum))
    total = program.broadcast(program.reduce("sum", powers, [3]), [0, 1, 2], scores.shape)
    result = program.matmul(program.binary("div", powers, total), values)
    y = program.reshape(program.transpose(result, [0, 2, 1, 3]), (batch, queries, heads * values.shape[-1]))
    program.output("y", y)
    product = program.binary("mul", y, program.constant(loss_weights(y.shape), y.dtype))
    program.output("loss", program.reduce("sum", product, [0, 1, 2]))

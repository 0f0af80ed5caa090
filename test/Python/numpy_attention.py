"""Attention in NumPy as a peer of `cs336-bench attention` computes it: by a job and its tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import reference
from numpy.typing import NDArray

Array = NDArray[Any]


def split_heads(x: Array) -> Array:
    """Return [batch, heads, length, head_dim] of [batch, length, heads, head_dim] or [batch, length, head_dim]."""
    return x.swapaxes(1, 2) if x.ndim == 4 else x[:, None]


def make_slopes(heads: int) -> Array:
    return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)


def make_biases(heads: int, reach: int) -> Array:
    return np.sin(0.1 * np.outer(np.arange(-reach, reach + 1), np.arange(1, heads + 1)))


def make_documents(batch: int, length: int, count: int) -> Array:
    return np.tile(np.arange(count).repeat(length // count), (batch, 1))


def change(job: dict[str, Any], scores: Array) -> tuple[Array, Array | float]:
    """Return the score function of [batch, heads, length, length] scores, and its derivative."""
    number = job["score_number"]
    if job["score"] == "softcap":
        ratio = np.tanh(scores / number)
        return number * ratio, 1 - ratio**2
    if job["score"] == "alibi":
        position = np.arange(scores.shape[-1])
        return scores + make_slopes(scores.shape[1])[:, None, None] * (position - position[:, None]), 1.0
    if job["score"] == "relative":
        reach, position = int(number), np.arange(scores.shape[-1])
        distance = np.clip(position - position[:, None], -reach, reach)
        return scores + make_biases(scores.shape[1], reach)[distance + reach].transpose(2, 0, 1), 1.0
    return scores, 1.0


def find_visible(job: dict[str, Any], batch: int, length: int) -> Array:
    """Return which keys a query sees, a bool that broadcasts to [batch, heads, queries, length]."""
    if job["score"] == "cached":
        first = int(job["score_number"])
        return np.tri(length - first, length, k=first, dtype=bool)
    visible = np.tri(length, dtype=bool) if job["causal"] else np.ones((length, length), bool)
    if job["score"] == "window":
        visible = visible & ~np.tri(length, k=-int(job["score_number"]), dtype=bool)
    if job["score"] == "documents":
        numbers = make_documents(batch, length, int(job["score_number"]))
        visible = visible & (numbers[:, None, :, None] == numbers[:, None, None, :])
    return visible


def compute(job: dict[str, Any], tensors: dict[str, Array]) -> dict[str, Array]:
    """Return the output o and the gradients of Σ o·weights that the job asks for."""
    q, k, weights = tensors["q"], tensors["k"], tensors["weights"]
    merge = (lambda x: x.swapaxes(1, 2)) if q.ndim == 4 else (lambda x: x[:, 0])
    q, k = split_heads(q), split_heads(k)
    factor = 1 / np.sqrt(q.shape[-1])
    scores, derivative = change(job, q @ k.swapaxes(2, 3) * factor)
    p = reference.softmax(np.where(find_visible(job, k.shape[0], k.shape[2]), scores, -np.inf))
    if job["part"] == "whole":
        v, do = split_heads(tensors["v"]), split_heads(weights)
        values, dp = {"o": merge(p @ v), "v": merge(p.swapaxes(2, 3) @ do)}, do @ v.swapaxes(2, 3)
    else:
        values, dp = {"o": p.reshape(weights.shape)}, weights.reshape(p.shape)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * derivative * factor
    return values | {"q": merge(ds @ k), "k": merge(ds.swapaxes(2, 3) @ q)}

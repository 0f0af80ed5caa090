# ===- attention_reference.py - Attention as FlashAttention-2 rounds it ----===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""FlashAttention-2 (Dao, 2023) in NumPy, with the roundings of its kernels for tensor cores.

Operands and results have 16 bits. Matmuls accumulate in float32. The probabilities, and the gradients of scores, are
rounded to 16 bits before they become the left operand of a matmul. D is computed from the rounded output.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Keys of a tile.
TILE = 64


def attend(q: Array, k: Array, v: Array, do: Array, *, causal: bool) -> dict[str, Array]:
    """Return "o", "dq", "dk" and "dv" of operands with the shape [batch, positions, heads, head_dim]."""
    dtype, scale = q.dtype, np.float32(1 / math.sqrt(q.shape[-1]))

    def rounded(x: Array) -> Array:
        return x.astype(dtype).astype(np.float32)

    q, k, v, do = (np.moveaxis(x.astype(np.float32), 1, 2) for x in (q, k, v, do))
    queries, keys = q.shape[2], k.shape[2]
    scores = scale * (q @ np.swapaxes(k, 2, 3))
    if causal:
        scores[..., np.arange(keys)[None] > np.arange(queries)[:, None]] = -np.inf

    largest = np.full((*q.shape[:3], 1), -np.inf, np.float32)
    total, accumulated = np.zeros_like(largest), np.zeros_like(q)
    for first in range(0, keys, TILE):
        tile = scores[..., first : first + TILE]
        new = np.maximum(largest, tile.max(-1, keepdims=True))
        shrink, p = np.exp(largest - new), np.exp(tile - new)
        total = total * shrink + p.sum(-1, keepdims=True)
        accumulated = accumulated * shrink + rounded(p) @ v[:, :, first : first + TILE]
        largest = new
    o = rounded(accumulated / total)

    p = np.exp(scores - (largest + np.log(total)))
    ds = rounded(p * (do @ np.swapaxes(v, 2, 3) - (do * o).sum(-1, keepdims=True)))
    results = {
        "o": o,
        "dq": scale * (ds @ k),
        "dk": scale * (np.swapaxes(ds, 2, 3) @ q),
        "dv": np.swapaxes(rounded(p), 2, 3) @ do,
    }
    return {name: np.moveaxis(result.astype(dtype), 1, 2) for name, result in results.items()}

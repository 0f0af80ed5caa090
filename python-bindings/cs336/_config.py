"""Model descriptions: hyper-parameters of a model and of its optimizer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from cs336 import _cs336
from cs336._checks import check_integer

Mode = Literal["forward", "loss", "forward_backward", "train"]
DType = Literal["f32", "f64"]
ComputeType = Literal["fp32", "tf32", "bf16", "fp16"]
Distribute = Literal["per-parameter", "flat", "overlap", "bucket", "zero1", "fsdp"]
Fusion = Literal["none", "elementwise", "softmax", "flash", "all"]


def description_json(description: Mapping[str, Any], prefix: str = "") -> str:
    """Return a description as JSON for the command-line tools. JSON has neither NaN nor infinities.

    Numbers may be those of NumPy.

    Raises
    ------
    ValueError
        If a number is not finite; the message names the key and the number.
    """
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in description.items()}
    for key, value in plain.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"'{prefix}{key}' must be a finite number, is {value}")
        if isinstance(value, Mapping):
            plain[key] = json.loads(description_json(value, f"{prefix}{key}."))
    return json.dumps(plain)


def check_integers(description: TransformerConfig | Optimizer) -> None:
    """Convert the integer fields to Python integers, because JSON does not support NumPy's.

    Raises
    ------
    TypeError
        If a field is not an integer; the message names the field and its value.
    """
    for field in fields(description):
        if field.type == "int":
            value = check_integer(getattr(description, field.name), f"'{field.name}'")
            object.__setattr__(description, field.name, value)  # The class is frozen.


def size_names() -> list[str]:
    """Return the names that `TransformerConfig.named` accepts."""
    return _cs336.size_names()


@dataclass(frozen=True)
class TransformerConfig:
    """Hyper-parameters of a pre-norm decoder-only Transformer with RMSNorm, RoPE, causal attention and SwiGLU.

    Parameters
    ----------
    d_model, d_ff, num_layers, num_heads
        Width, inner width of the feed-forward layers, depth, and attention heads; `num_heads` divides `d_model`.
    vocab_size, context_length, batch_size
        Tokens are int64 [batch_size, context_length] in [0, vocab_size).
    rope_theta
        Base of the rotary embedding's wavelengths.

    Raises
    ------
    ValueError
        If the numbers do not describe a valid model; the message names the key and its value.
    TypeError
        If a field that must be an integer is not one, such as 32.0.
    """

    d_model: int
    d_ff: int
    num_layers: int
    num_heads: int
    vocab_size: int = 10000
    context_length: int = 256
    batch_size: int = 4
    rope_theta: float = 10000.0

    def __post_init__(self) -> None:
        check_integers(self)
        _cs336.transformer(self.to_json())

    @classmethod
    def named(cls, size: str, **changes: Any) -> TransformerConfig:
        """Return a named size (see `size_names`), with some hyper-parameters changed.

        Raises
        ------
        ValueError
            If the size is unknown, or the numbers do not describe a valid model.
        TypeError
            If a change does not name a hyper-parameter. The message lists the names.

        Examples
        --------
        >>> TransformerConfig.named("small", context_length=512).d_model
        768
        """
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(changes) - set(known)):
            raise TypeError(f"TransformerConfig has no {', '.join(unknown)}; it has {', '.join(known)}")
        return cls(**_cs336.transformer(description_json({"size": size, **changes})))

    @classmethod
    def from_json(cls, text: str) -> TransformerConfig:
        """Read a model from a JSON description, as the command-line tools do.

        The description may have more than a model, such as `mode`, `dtype` and `optimizer`. Only the model is returned:
        pass the others to `build`.
        """
        return cls(**_cs336.transformer(text))

    def to_json(self) -> str:
        """Return a JSON description that the command-line tools read."""
        return description_json(asdict(self))

    def parameter_count(self) -> int:
        """Return the number of parameters: 2Vd + L(4d² + 3·d·d_ff + 2d) + d."""
        return _cs336.parameter_count(self.to_json())


@dataclass(frozen=True)
class Optimizer:
    """AdamW, gradient clipping and the learning-rate schedule of a training step.

    Parameters
    ----------
    form
        "pytorch" (decay first; lr·m̂/(√v̂ + eps)), "cs336_2025" (bias correction in the learning rate, decay after) or
        "cs336_2026" (decay before).
    lr, beta1, beta2, eps, weight_decay
        AdamW's hyper-parameters.
    max_norm
        All gradients are scaled down together to at most this norm; 0 disables clipping.
    warmup_steps, cosine_steps, min_lr
        Linear warm-up to `lr`, then cosine decay until step `cosine_steps`, then `min_lr`. If both are 0, `lr` is
        constant.
    """

    form: Literal["pytorch", "cs336_2025", "cs336_2026"] = "pytorch"
    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.01
    max_norm: float = 0.0
    warmup_steps: int = 0
    cosine_steps: int = 0
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        check_integers(self)

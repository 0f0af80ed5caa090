"""The Transformer language model in NumPy: forward, loss, gradients by hand, clipping, schedule and AdamW.

Written from the formulas only, in the precision of the given arrays (the tests use float64, and check it in extended
precision), so that it shares no code with the compiler that it checks. `Mutation` introduces one known mistake, for the
tests that show that the comparisons would detect it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Parameters = dict[str, Array]

RMS_EPS = 1e-5


@dataclass(frozen=True)
class Config:
    """Hyper-parameters under the names that the compiler's configuration uses, and a batch size."""

    vocab_size: int
    context_length: int
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int
    rope_theta: float = 10000.0
    batch_size: int = 1

    @property
    def head_dim(self) -> int:
        return self.d_model // self.num_heads


@dataclass(frozen=True)
class Mutation:
    """A deliberate mistake. The default is none.

    Attributes
    ----------
    mask_offset
        A query at position q attends keys k ≤ q + mask_offset; 0 is right.
    rope_half_split
        Rotate (x[j], x[j + D/2]) instead of (x[2j], x[2j+1]).
    """

    mask_offset: int = 0
    rope_half_split: bool = False


CORRECT = Mutation()


def wide_type(array: Array) -> type[np.floating]:
    """Return the type of numbers that are computed beside an array's: the array's own, and at least float64."""
    return np.promote_types(array.dtype, np.float64).type


def parameter_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all parameters by checkpoint name, in checkpoint order."""
    d, ff = config.d_model, config.d_ff
    shapes: dict[str, tuple[int, ...]] = {"token_embeddings.weight": (config.vocab_size, d)}
    for i in range(config.num_layers):
        layer = f"layers.{i}."
        for name in ("q_proj", "k_proj", "v_proj", "output_proj"):
            shapes[f"{layer}attn.{name}.weight"] = (d, d)
        shapes[f"{layer}ffn.w1.weight"] = (ff, d)
        shapes[f"{layer}ffn.w2.weight"] = (d, ff)
        shapes[f"{layer}ffn.w3.weight"] = (ff, d)
        shapes[f"{layer}ln1.weight"] = (d,)
        shapes[f"{layer}ln2.weight"] = (d,)
    shapes["ln_final.weight"] = (d,)
    shapes["lm_head.weight"] = (config.vocab_size, d)
    return shapes


def random_parameters(config: Config, rng: np.random.Generator) -> Parameters:
    """Return float64 parameters of realistic size whose values float32 represents exactly."""
    parameters = {}
    for name, shape in parameter_shapes(config).items():
        values = rng.standard_normal(shape)
        if len(shape) == 1:
            values = 1 + 0.1 * values
        elif name != "token_embeddings.weight":
            values *= math.sqrt(2 / sum(shape))
        parameters[name] = values.astype(np.float32).astype(np.float64)
    return parameters


def random_batch(config: Config, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return tokens and targets, int64 [batch, context]."""
    shape = (config.batch_size, config.context_length)
    return rng.integers(0, config.vocab_size, shape), rng.integers(0, config.vocab_size, shape)


# --- Layers. Each returns its result and a function from the result's gradient to those of its arguments. ---------


def linear(x: Array, weight: Array):
    """Compute y = x Wᵀ. x: […, in], weight: [out, in]."""

    def backward(dy: Array) -> tuple[Array, Array]:
        flat_dy, flat_x = dy.reshape(-1, dy.shape[-1]), x.reshape(-1, x.shape[-1])
        return dy @ weight, flat_dy.T @ flat_x

    return x @ weight.T, backward


def rms_norm(x: Array, weight: Array):
    """Compute y = w · x / √(mean(x²) + 1e-5). x: […, d], weight: [d]."""
    r = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + RMS_EPS)

    def backward(dy: Array) -> tuple[Array, Array]:
        dn = dy * weight
        dx = r * dn - x * r**3 * np.mean(dn * x, axis=-1, keepdims=True)
        return dx, np.sum(dy * x * r, axis=tuple(range(x.ndim - 1)))

    return weight * (x * r), backward


def rope(x: Array, theta: float, half_split: bool = False):
    """Rotate pairs of x: […, S, D] by the angles t·theta^(−2j/D)."""
    length, dim = x.shape[-2:]
    wide = wide_type(x)
    angle = np.outer(np.arange(length), wide(theta) ** (-np.arange(0, dim, 2, dtype=wide) / dim))
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    first = np.s_[..., : dim // 2] if half_split else np.s_[..., 0::2]
    second = np.s_[..., dim // 2 :] if half_split else np.s_[..., 1::2]

    def rotate(value: Array, sine: Array) -> Array:
        result = np.empty_like(value)
        result[first] = value[first] * cos - value[second] * sine
        result[second] = value[first] * sine + value[second] * cos
        return result

    return rotate(x, sin), lambda dy: rotate(dy, -sin)


def softmax(x: Array) -> Array:
    """Compute softmax over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q: Array, k: Array, v: Array, visible: Array | None = None):
    """Compute softmax(q kᵀ / √D) v. q: […, M, D], k: […, N, D], v: […, N, E]; `visible` [M, N] selects keys."""
    scale = (1 / np.sqrt(wide_type(q)(q.shape[-1]))).astype(q.dtype)
    scores = (q @ k.swapaxes(-1, -2)) * scale
    p = softmax(scores if visible is None else np.where(visible, scores, -np.inf))

    def backward(do: Array) -> tuple[Array, Array, Array]:
        dp = do @ v.swapaxes(-1, -2)
        # Relative to the likeliest key, so that nothing cancels if that key has almost all of the weight.
        dp = dp - np.take_along_axis(dp, p.argmax(axis=-1, keepdims=True), axis=-1)
        ds = p * (dp - np.sum(dp * p, axis=-1, keepdims=True)) * scale
        return ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ do

    return p @ v, backward


def swiglu(gate: Array, up: Array):
    """Compute silu(gate) · up."""
    s = 1 / (1 + np.exp(-gate))

    def backward(dy: Array) -> tuple[Array, Array]:
        return dy * up * s * (1 + gate * (1 - s)), dy * gate * s

    return gate * s * up, backward


def cross_entropy(logits: Array, targets: Array):
    """Compute the mean over positions of −log softmax(logits)[target]."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    one_hot = np.arange(logits.shape[-1]) == targets[..., None]
    # Without the largest term, which is 1, so that the rest keeps its digits if it is small.
    largest = np.arange(logits.shape[-1]) == np.argmax(logits, axis=-1)[..., None]
    log_sum = np.log1p(np.sum(np.where(largest, 0, np.exp(shifted)), axis=-1))
    picked = np.take_along_axis(shifted, targets[..., None], axis=-1)[..., 0]

    def backward() -> Array:
        p = softmax(logits)
        # p - 1 of a target is minus the probability of all others.
        others = np.sum(np.where(one_hot, 0, p), axis=-1, keepdims=True)
        return np.where(one_hot, -others, p) / targets.size

    return np.mean(log_sum - picked), backward


# --- The model. ---------------------------------------------------------------------------------------------------


def _attention_layer(x: Array, p: Parameters, prefix: str, config: Config, mutation: Mutation):
    batch, length, d = x.shape
    heads = config.num_heads

    def split(value: Array) -> Array:
        return value.reshape(batch, length, heads, d // heads).swapaxes(1, 2)

    def merge(value: Array) -> Array:
        return value.swapaxes(1, 2).reshape(batch, length, d)

    names = [f"{prefix}{n}_proj.weight" for n in ("q", "k", "v", "output")]
    (q, q_back), (k, k_back), (v, v_back) = (linear(x, p[n]) for n in names[:3])
    q, q_rope_back = rope(split(q), config.rope_theta, mutation.rope_half_split)
    k, k_rope_back = rope(split(k), config.rope_theta, mutation.rope_half_split)
    position = np.arange(length)
    visible = position[:, None] + mutation.mask_offset >= position[None, :]
    o, attention_back = attention(q, k, split(v), visible)
    y, o_back = linear(merge(o), p[names[3]])

    def backward(dy: Array, gradients: Parameters) -> Array:
        do, gradients[names[3]] = o_back(dy)
        dq, dk, dv = attention_back(split(do))
        dx = np.zeros_like(x)
        for name, back, value in zip(
            names[:3], (q_back, k_back, v_back), (q_rope_back(dq), k_rope_back(dk), dv), strict=True
        ):
            part, gradients[name] = back(merge(value))
            dx += part
        return dx

    return y, backward


def _ffn_layer(x: Array, p: Parameters, prefix: str):
    names = [f"{prefix}w{n}.weight" for n in (1, 3, 2)]
    (gate, gate_back), (up, up_back) = linear(x, p[names[0]]), linear(x, p[names[1]])
    hidden, swiglu_back = swiglu(gate, up)
    y, down_back = linear(hidden, p[names[2]])

    def backward(dy: Array, gradients: Parameters) -> Array:
        dhidden, gradients[names[2]] = down_back(dy)
        dgate, dup = swiglu_back(dhidden)
        dx_gate, gradients[names[0]] = gate_back(dgate)
        dx_up, gradients[names[1]] = up_back(dup)
        return dx_gate + dx_up

    return y, backward


def _forward(p: Parameters, tokens: Array, config: Config, mutation: Mutation):
    x = p["token_embeddings.weight"][tokens]
    tape = []
    for i in range(config.num_layers):
        prefix = f"layers.{i}."
        for norm, layer in (("ln1", "attn"), ("ln2", "ffn")):
            normed, norm_back = rms_norm(x, p[f"{prefix}{norm}.weight"])
            if layer == "attn":
                y, layer_back = _attention_layer(normed, p, f"{prefix}attn.", config, mutation)
            else:
                y, layer_back = _ffn_layer(normed, p, f"{prefix}ffn.")
            tape.append((f"{prefix}{norm}.weight", norm_back, layer_back))
            x = x + y
    normed, final_back = rms_norm(x, p["ln_final.weight"])
    logits, head_back = linear(normed, p["lm_head.weight"])

    def backward(dlogits: Array) -> Parameters:
        gradients: Parameters = {}
        dnormed, gradients["lm_head.weight"] = head_back(dlogits)
        dx, gradients["ln_final.weight"] = final_back(dnormed)
        for norm_name, norm_back, layer_back in reversed(tape):
            branch, gradients[norm_name] = norm_back(layer_back(dx, gradients))
            dx = dx + branch
        table = np.zeros_like(p["token_embeddings.weight"])
        np.add.at(table, tokens, dx)
        gradients["token_embeddings.weight"] = table
        return {name: gradients[name] for name in p}

    return logits, backward


def forward(p: Parameters, tokens: Array, config: Config, mutation: Mutation = CORRECT) -> Array:
    """Return logits [batch, context, vocabulary]."""
    return _forward(p, tokens, config, mutation)[0]


def loss(p: Parameters, tokens: Array, targets: Array, config: Config) -> np.floating:
    """Return the mean cross entropy."""
    return cross_entropy(forward(p, tokens, config), targets)[0]


def loss_and_gradients(
    p: Parameters, tokens: Array, targets: Array, config: Config, mutation: Mutation = CORRECT
) -> tuple[np.floating, Parameters]:
    """Return the mean cross entropy and its gradient with respect to every parameter."""
    logits, backward = _forward(p, tokens, config, mutation)
    value, loss_back = cross_entropy(logits, targets)
    return value, backward(loss_back())


# --- Training. ----------------------------------------------------------------------------------------------------


def gradient_norm(gradients: Parameters) -> np.floating:
    """Return ‖g‖₂ over all gradients together."""
    return np.sqrt(sum(wide_type(g)(np.sum(g * g)) for g in gradients.values()))


def clip(gradients: Parameters, max_norm: float) -> Parameters:
    """Return all gradients times min(1, max_norm / (‖g‖₂ + 1e-6))."""
    norm = gradient_norm(gradients)
    factor = min(1.0, type(norm)(max_norm) / (norm + 1e-6))
    return {name: (g * factor).astype(g.dtype) for name, g in gradients.items()}


def learning_rate(
    iteration: int,
    lr: float,
    min_lr: float,
    warmup_steps: int,
    cosine_steps: int,
    wide: type[np.floating] = np.float64,
) -> np.floating:
    """Return the rate of iteration 0, 1, …, as defined by CS336, in the type `wide`.

    Linear warm-up from 0, cosine down to `min_lr` until iteration `cosine_steps`, constant after; without
    `cosine_steps`, `lr` after the warm-up.
    """
    lr, min_lr = wide(lr), wide(min_lr)
    if iteration < warmup_steps:
        return lr * iteration / warmup_steps
    if cosine_steps == 0:
        return lr
    if iteration > cosine_steps:
        return min_lr
    # ½ (1 + cos(π progress)) is sin² of a quarter turn times the remaining share, which does not cancel near the end.
    left = wide(cosine_steps - iteration) / (cosine_steps - warmup_steps)
    return min_lr + np.sin(2 * np.arctan(wide(1)) * left) ** 2 * (lr - min_lr)


def bias_correction(beta: float, step: int, wide: type[np.floating] = np.float64) -> np.floating:
    """Return 1 − βᵗ without the cancellation of this formula for β close to 1."""
    return -np.expm1(step * np.log(wide(beta))) if beta > 0 else wide(1)


@dataclass(frozen=True)
class Optimizer:
    """AdamW's hyper-parameters, under the names of the compiler's `#cs336.optimizer`."""

    form: str = "pytorch"
    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.01
    max_norm: float = 0.0
    warmup_steps: int = 0
    cosine_steps: int = 0
    min_lr: float = 0.0


class AdamW:
    """AdamW with its state, for any named tensors.

    Parameters
    ----------
    parameters
        Parameters, which `step` updates in place.
    optimizer
        Hyper-parameters. `form` is "pytorch" (decay, then lr·m̂/(√v̂ + eps)), "cs336_2025" (a·m/(√v + eps) with
        a = lr·√(1−β₂ᵗ)/(1−β₁ᵗ), then decay) or "cs336_2026" (decay, then that).
    """

    def __init__(self, parameters: Parameters, optimizer: Optimizer) -> None:
        self.parameters = parameters
        self.optimizer = optimizer
        self.m = {name: np.zeros_like(p) for name, p in parameters.items()}
        self.v = {name: np.zeros_like(p) for name, p in parameters.items()}
        self.t = 0

    def step(self, gradients: Parameters) -> None:
        """Run one update from unclipped gradients."""
        o = self.optimizer
        if o.max_norm > 0:
            gradients = clip(gradients, o.max_norm)
        self.t += 1
        for name, p in self.parameters.items():
            wide = wide_type(p)
            lr = learning_rate(self.t - 1, o.lr, o.min_lr, o.warmup_steps, o.cosine_steps, wide)
            beta1, beta2, decay = wide(o.beta1), wide(o.beta2), lr * wide(o.weight_decay)
            c1, c2 = bias_correction(o.beta1, self.t, wide), bias_correction(o.beta2, self.t, wide)
            g, m, v = gradients[name], self.m[name], self.v[name]
            # Not v + (1 − β)(g² − v), which at β = 0 loses a small g² in a large v.
            m[...] = beta1 * m + (1 - beta1) * g
            v[...] = beta2 * v + (1 - beta2) * (g * g)
            if o.form == "pytorch":
                p -= decay * p
                p -= lr * (m / c1) / (np.sqrt(v / c2) + o.eps)
            elif o.form == "cs336_2025":
                p -= lr * np.sqrt(c2) / c1 * m / (np.sqrt(v) + o.eps)
                p -= decay * p
            elif o.form == "cs336_2026":
                p -= decay * p
                p -= lr * np.sqrt(c2) / c1 * m / (np.sqrt(v) + o.eps)
            else:
                raise ValueError(f"no form of AdamW is called {o.form}")


class LossScaler:
    """Dynamic loss scaling around AdamW, like `torch.amp.GradScaler`.

    Attributes
    ----------
    scale
        The factor of the next step's loss, and so of its gradients.
    growth_tracker
        Steps since the scale last changed.
    norm
        ‖g‖₂ of the last step's gradients, without the scale.
    """

    def __init__(self, scale: float = 65536.0, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000) -> None:
        self.scale, self.growth, self.backoff, self.interval = scale, growth, backoff, interval
        self.growth_tracker = 0
        self.norm = 0.0

    def step(self, adamw: AdamW, scaled: Parameters) -> bool:
        """Run one step from scaled gradients. Return true if it was not skipped."""
        if not all(np.isfinite(g).all() for g in scaled.values()):
            self.scale *= self.backoff
            self.growth_tracker = 0
            return False
        gradients = {name: g.astype(np.float64) / self.scale for name, g in scaled.items()}
        self.norm = gradient_norm(gradients)
        adamw.step(gradients)
        self.growth_tracker += 1
        if self.growth_tracker == self.interval:
            self.scale *= self.growth
            self.growth_tracker = 0
        return True

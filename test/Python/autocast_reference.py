"""The Transformer under PyTorch's CUDA autocast, emulated: the expected distance from exact results.

Every tensor is a float32 array whose elements are rounded where autocast rounds: to the low type after each matmul and
each operation on low tensors, forward and backward, never in between. A gradient has the type of its tensor. Matmuls
accumulate in float32. `reference` has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import reference
from reference import Array, Config, Parameters

LOW_TYPES = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}


class Autocast:
    """The model in one low type, "bf16" or "fp16".

    Parameters
    ----------
    dtype
        The low type.
    loss_scale
        The factor of the loss before differentiation; gradients are divided by it in float32.
    """

    def __init__(self, dtype: str, loss_scale: float = 1.0) -> None:
        self.low = LOW_TYPES[dtype]
        self.loss_scale = np.float32(loss_scale)

    def round(self, value: Array) -> Array:
        """Round to the low type."""
        return np.asarray(value, np.float32).astype(self.low).astype(np.float32)

    def linear(self, x: Array, weight: Array, x_is_low: bool = False):
        """Multiply low operands into a low result. Gradients are low, as matmuls compute them."""
        y, back = reference.linear(x if x_is_low else self.round(x), self.round(weight))
        return self.round(y), lambda dy: tuple(self.round(g) for g in back(dy))

    def rope(self, x: Array, theta: float):
        """Rotate a low tensor by float32 tables, so that the result is float32; the gradient is low again."""
        y, back = reference.rope(x, theta)
        return y, lambda dy: self.round(back(dy))

    def attention(self, q: Array, k: Array, v: Array, visible: Array):
        """Attend with q and k in float32, v low. Scores are low, the softmax is float32, its matmul with v is low."""
        q, k = self.round(q), self.round(k)
        scale = np.float32(1 / math.sqrt(q.shape[-1]))
        scores = self.round(self.round(q @ k.swapaxes(-1, -2)) * scale)
        p = reference.softmax(np.where(visible, scores, np.float32(-np.inf)))
        low_p = self.round(p)

        def backward(do: Array) -> tuple[Array, Array, Array]:
            dp = self.round(do @ v.swapaxes(-1, -2))
            ds = self.round(p * (dp - np.sum(dp * p, axis=-1, keepdims=True)))
            ds = self.round(ds * scale)
            dk = self.round(ds.swapaxes(-1, -2) @ q)
            return self.round(ds @ k), dk, self.round(low_p.swapaxes(-1, -2) @ do)

        return self.round(low_p @ v), backward

    def swiglu(self, gate: Array, up: Array):
        """Compute silu(gate) · up of low tensors; silu rounds once."""
        s = 1 / (1 + np.exp(-gate))
        activated = self.round(gate * s)

        def backward(dy: Array) -> tuple[Array, Array]:
            dactivated = self.round(dy * up)
            return self.round(dactivated * s * (1 + gate * (1 - s))), self.round(dy * activated)

        return self.round(activated * up), backward

    def _attention_layer(self, x: Array, p: Parameters, prefix: str, config: Config):
        batch, length, d = x.shape
        heads = config.num_heads

        def split(value: Array) -> Array:
            return value.reshape(batch, length, heads, d // heads).swapaxes(1, 2)

        def merge(value: Array) -> Array:
            return value.swapaxes(1, 2).reshape(batch, length, d)

        names = [f"{prefix}{n}_proj.weight" for n in ("q", "k", "v", "output")]
        (q, q_back), (k, k_back), (v, v_back) = (self.linear(x, p[n]) for n in names[:3])
        q, q_rope_back = self.rope(split(q), config.rope_theta)
        k, k_rope_back = self.rope(split(k), config.rope_theta)
        visible = np.tri(length, dtype=bool)
        o, attention_back = self.attention(q, k, split(v), visible)
        y, o_back = self.linear(merge(o), p[names[3]], x_is_low=True)

        def backward(dy: Array, gradients: Parameters) -> Array:
            do, gradients[names[3]] = o_back(dy)
            dq, dk, dv = attention_back(split(do))
            dx = np.zeros_like(x)
            parts = (q_rope_back(dq), k_rope_back(dk), dv)
            for name, back, value in zip(names[:3], (q_back, k_back, v_back), parts, strict=True):
                part, gradients[name] = back(merge(value))
                dx = dx + part
            return dx

        return y, backward

    def _ffn_layer(self, x: Array, p: Parameters, prefix: str):
        names = [f"{prefix}w{n}.weight" for n in (1, 3, 2)]
        (gate, gate_back), (up, up_back) = self.linear(x, p[names[0]]), self.linear(x, p[names[1]])
        hidden, swiglu_back = self.swiglu(gate, up)
        y, down_back = self.linear(hidden, p[names[2]], x_is_low=True)

        def backward(dy: Array, gradients: Parameters) -> Array:
            dhidden, gradients[names[2]] = down_back(dy)
            dgate, dup = swiglu_back(dhidden)
            dx_gate, gradients[names[0]] = gate_back(dgate)
            dx_up, gradients[names[1]] = up_back(dup)
            return dx_gate + dx_up

        return y, backward

    def _forward(self, p: Parameters, tokens: Array, config: Config) -> tuple[Array, Callable[[Array], Parameters]]:
        x = p["token_embeddings.weight"][tokens]
        tape = []
        for i in range(config.num_layers):
            prefix = f"layers.{i}."
            for norm, layer in (("ln1", "attn"), ("ln2", "ffn")):
                normed, norm_back = reference.rms_norm(x, p[f"{prefix}{norm}.weight"])
                if layer == "attn":
                    y, layer_back = self._attention_layer(normed, p, f"{prefix}attn.", config)
                else:
                    y, layer_back = self._ffn_layer(normed, p, f"{prefix}ffn.")
                tape.append((f"{prefix}{norm}.weight", norm_back, layer_back))
                x = x + y
        normed, final_back = reference.rms_norm(x, p["ln_final.weight"])
        logits, head_back = self.linear(normed, p["lm_head.weight"])

        def backward(dlogits: Array) -> Parameters:
            gradients: Parameters = {}
            dnormed, gradients["lm_head.weight"] = head_back(self.round(dlogits))
            dx, gradients["ln_final.weight"] = final_back(dnormed)
            for norm_name, norm_back, layer_back in reversed(tape):
                # The residual stream is float32, the branch's result is low.
                branch, gradients[norm_name] = norm_back(layer_back(self.round(dx), gradients))
                dx = dx + branch
            table = np.zeros_like(p["token_embeddings.weight"])
            np.add.at(table, tokens, dx)
            gradients["token_embeddings.weight"] = table
            return {name: gradients[name] for name in p}

        return logits, backward

    def run(
        self, parameters: Parameters, tokens: Array, targets: Array, config: Config
    ) -> tuple[Array, float, Parameters]:
        """Return logits, loss and gradients."""
        p = {name: value.astype(np.float32) for name, value in parameters.items()}
        logits, backward = self._forward(p, tokens, config)
        loss, loss_back = reference.cross_entropy(logits, targets)
        gradients = backward(loss_back() * self.loss_scale)
        return logits, float(loss), {name: g / self.loss_scale for name, g in gradients.items()}

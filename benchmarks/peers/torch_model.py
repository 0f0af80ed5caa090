#!/usr/bin/env python3
"""The Transformer of this project in eager PyTorch, timed on given weights and tokens.

Reads the parameters (safetensors, under the state_dict names) and one batch (npz with `tokens` and `targets`) that the
other side used, so that loss and gradient norm can be compared before any time is. Prints one JSON object.

python3 torch_model.py --config config.json --params params.safetensors --batch batch.npz --mode train --steps 5
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch.nn import functional

Parameters = dict[str, torch.Tensor]


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """w · x · rsqrt(mean(x²) + 1e-5) over the last axis."""
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotates the interleaved pairs of the last axis of x: [batch, heads, positions, head_dim]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


class Transformer:
    """A function of named parameters, as eager PyTorch code writes it: naive attention, library softmax and silu.

    Parameters
    ----------
    config
        The keys of a model configuration: `d_model`, `num_heads`, `num_layers`, `context_length`, `rope_theta`, …
    """

    def __init__(self, config: dict) -> None:
        self.config = config
        head_dim = config["d_model"] // config["num_heads"]
        frequency = config.get("rope_theta", 10000.0) ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        angle = torch.outer(torch.arange(config["context_length"], dtype=torch.float64), frequency)
        self.cos, self.sin = angle.cos().float(), angle.sin().float()
        self.mask = torch.ones(config["context_length"], config["context_length"], dtype=torch.bool).tril()

    def logits(self, p: Parameters, tokens: torch.Tensor) -> torch.Tensor:
        """tokens: [batch, positions] → logits: [batch, positions, vocab_size]."""
        x = p["token_embeddings.weight"][tokens]
        for i in range(self.config["num_layers"]):
            x = x + self.attention(p, f"layers.{i}.attn", rms_norm(x, p[f"layers.{i}.ln1.weight"]))
            h = rms_norm(x, p[f"layers.{i}.ln2.weight"])
            w1, w2, w3 = (p[f"layers.{i}.ffn.w{n}.weight"] for n in (1, 2, 3))
            x = x + (functional.silu(h @ w1.T) * (h @ w3.T)) @ w2.T
        return rms_norm(x, p["ln_final.weight"]) @ p["lm_head.weight"].T

    def attention(self, p: Parameters, name: str, x: torch.Tensor) -> torch.Tensor:
        batch, positions, d_model = x.shape
        heads = self.config["num_heads"]
        q, k, v = (
            (x @ p[f"{name}.{n}_proj.weight"].T).view(batch, positions, heads, -1).transpose(1, 2) for n in "qkv"
        )
        q, k = rope(q, self.cos, self.sin), rope(k, self.cos, self.sin)
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(d_model // heads)
        weights = torch.softmax(torch.where(self.mask, scores, float("-inf")), dim=-1)
        return (weights @ v).transpose(1, 2).reshape(batch, positions, d_model) @ p[f"{name}.output_proj.weight"].T

    def loss(self, p: Parameters, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.logits(p, tokens).flatten(0, 1), targets.flatten())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--config", type=Path, required=True, help="model configuration, JSON")
    arguments.add_argument("--params", type=Path, required=True, help="safetensors with every parameter")
    arguments.add_argument("--batch", type=Path, required=True, help="npz with tokens and targets")
    arguments.add_argument("--mode", choices=["forward", "forward_backward", "train"], default="train")
    arguments.add_argument("--warmup", type=int, default=2)
    arguments.add_argument("--steps", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=0, help="0: PyTorch's own choice")
    args = arguments.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)

    model = Transformer(json.loads(args.config.read_text()))
    parameters = {name: value.requires_grad_() for name, value in load_file(args.params).items()}
    batch = np.load(args.batch)
    tokens, targets = (torch.from_numpy(batch[name]).long() for name in ("tokens", "targets"))
    optimizer = torch.optim.AdamW(parameters.values(), lr=1e-3)

    loss = model.loss(parameters, tokens, targets)
    loss.backward()
    grad_norm = math.sqrt(sum(p.grad.double().pow(2).sum().item() for p in parameters.values()))

    def step() -> None:
        if args.mode == "forward":
            with torch.no_grad():
                model.logits(parameters, tokens)
            return
        optimizer.zero_grad()
        model.loss(parameters, tokens, targets).backward()
        if args.mode == "train":
            optimizer.step()

    times = []
    for i in range(args.warmup + args.steps):
        start = time.perf_counter()
        step()
        if i >= args.warmup:
            times.append(1e3 * (time.perf_counter() - start))
    print(
        json.dumps(
            {
                "peer": f"torch {torch.__version__} eager, float32, CPU",
                "threads": torch.get_num_threads(),
                "mode": args.mode,
                "loss": loss.item(),
                "grad_norm": grad_norm,
                "mean_ms": statistics.fmean(times),
                "std_ms": statistics.pstdev(times),
                "median_ms": statistics.median(times),
                "min_ms": min(times),
            }
        )
    )


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The Transformer of this project in PyTorch, timed on given weights and tokens.

Reads one job per line of standard input, in JSON, and answers each with one line of JSON, so that a sweep imports
PyTorch once. A job names the files of the other side, so that loss and gradient norm can be compared before the times:

    config   the model's configuration, an object: `d_model`, `num_heads`, …
    optimizer   lr, beta1, beta2, eps, weight_decay, max_norm, warmup_steps, cosine_steps, min_lr of AdamW, an object
    params   a safetensors file with every parameter under its state_dict name
    batch    an npz file with `tokens` and `targets`: [batch, positions]
    mode     forward, loss, forward_backward or train (AdamW)
    dtype    fp32, tf32 (float32 with rounded matmuls), bf16 or fp16 (autocast)
    device   cpu or cuda[:N]
    variant  eager      naive attention; softmax, silu and cross entropy of the library
             primitive  as eager, but softmax, silu and cross entropy written in primitive operations
             sdpa       as eager, but attention by scaled_dot_product_attention
             compile    torch.compile of sdpa
             graphs     torch.compile of sdpa in mode reduce-overhead, which replays CUDA graphs
             graphs-cudnn   graphs, with cuDNN's attention, which PyTorch does not choose by itself; only on a GPU
             graphs-bf16w   graphs of a model whose parameters are bf16 themselves, without autocast, as a server
             would run it; only for mode forward and dtype bf16
    warmup, steps, threads   numbers; threads 0 stands for PyTorch's default

A job of mode curve trains instead: the arrays of `batch` have an additional first axis, the steps. It also has the keys

    held_out        an npz file with more batches: [batches, batch, positions]
    held_out_every  steps between their evaluations, which also happen before the first and after the last step

The answer has `losses`, `held_out` (pairs of the steps done and the mean loss) and `seconds` of the steps. In fp16 a
GradScaler scales the loss.

The answer to other jobs has `loss`, `grad_norm` (after clipping; null if the mode has none), `step_ms`, `first_call_s`
and, on a GPU, `device_mib`: the memory that is in use after the steps and was not before the job, by the device's own
count, so that neither side's CUDA context counts. If memory does not suffice, it is {"error": "out of memory"}.

echo '{"config": …}' | python3 torch_model.py
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable

import numpy as np
import torch
from answer_jobs import Job, answer_jobs
from safetensors.torch import load_file
from torch.nn import functional

Parameters = dict[str, torch.Tensor]

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
BF16_WEIGHTS, CUDNN_ATTENTION = "graphs-bf16w", "graphs-cudnn"
GRAPHS = ("graphs", BF16_WEIGHTS, CUDNN_ATTENTION)


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Compute w · x · rsqrt(mean(x²) + 1e-5) over the last axis, in float32."""
    wide = x.float()
    return (weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5))).to(x.dtype)


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate the interleaved pairs of the last axis of x: [batch, heads, positions, head_dim]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2).to(x.dtype)


def primitive_softmax(x: torch.Tensor) -> torch.Tensor:
    """Compute exp(x − max) / Σ over the last axis."""
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def primitive_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Compute the mean over rows of log Σ exp(logits) − logits[target]."""
    z = logits - logits.amax(-1, keepdim=True)
    return (torch.log(torch.exp(z).sum(-1)) - z.gather(-1, targets[:, None])[:, 0]).mean()


class Transformer:
    """A function of named parameters, in the usual PyTorch style.

    Parameters
    ----------
    config
        The keys of a model configuration: `d_model`, `num_heads`, `num_layers`, `context_length`, `rope_theta`, …
    variant
        Variant of attention, softmax, silu and cross entropy; see the module's documentation.
    device
        Device of the tables for RoPE and the mask.
    """

    def __init__(self, config: dict, variant: str, device: torch.device) -> None:
        self.config = config
        self.is_primitive = variant == "primitive"
        self.uses_sdpa = variant in ("sdpa", "compile", *GRAPHS)
        head_dim = config["d_model"] // config["num_heads"]
        frequency = config.get("rope_theta", 10000.0) ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        angle = torch.outer(torch.arange(config["context_length"], dtype=torch.float64), frequency)
        self.cos, self.sin = angle.cos().float().to(device), angle.sin().float().to(device)
        self.mask = torch.ones(
            config["context_length"], config["context_length"], dtype=torch.bool, device=device
        ).tril()

    def logits(self, p: Parameters, tokens: torch.Tensor) -> torch.Tensor:
        """Map tokens [batch, positions] to logits [batch, positions, vocab_size]."""
        x = functional.embedding(tokens, p["token_embeddings.weight"])
        for i in range(self.config["num_layers"]):
            x = self.layer(p, i, x)
        return functional.linear(rms_norm(x, p["ln_final.weight"]), p["lm_head.weight"])

    def layer(self, p: Parameters, i: int, x: torch.Tensor) -> torch.Tensor:
        """Compute layer i of the residual stream x: [batch, positions, d_model]."""
        x = x + self.attention(p, f"layers.{i}.attn", rms_norm(x, p[f"layers.{i}.ln1.weight"]))
        h = rms_norm(x, p[f"layers.{i}.ln2.weight"])
        w1, w2, w3 = (p[f"layers.{i}.ffn.w{n}.weight"] for n in (1, 2, 3))
        gate = functional.linear(h, w1)
        gate = gate * torch.sigmoid(gate) if self.is_primitive else functional.silu(gate)
        return x + functional.linear(gate * functional.linear(h, w3), w2)

    def attention(self, p: Parameters, name: str, x: torch.Tensor) -> torch.Tensor:
        """Compute causal self-attention of x: [batch, positions, d_model]."""
        batch, positions, d_model = x.shape
        heads = self.config["num_heads"]
        q, k, v = (
            functional.linear(x, p[f"{name}.{n}_proj.weight"]).view(batch, positions, heads, -1).transpose(1, 2)
            for n in "qkv"
        )
        q, k = rope(q, self.cos, self.sin), rope(k, self.cos, self.sin)
        if self.uses_sdpa:
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-1, -2)) / math.sqrt(d_model // heads)
            softmax = primitive_softmax if self.is_primitive else lambda s: torch.softmax(s, dim=-1)
            mixed = softmax(torch.where(self.mask, scores, float("-inf"))).to(v.dtype) @ v
        return functional.linear(
            mixed.transpose(1, 2).reshape(batch, positions, d_model), p[f"{name}.output_proj.weight"]
        )

    def loss(self, p: Parameters, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean cross entropy, in float32."""
        logits = self.logits(p, tokens).flatten(0, 1).float()
        cross_entropy = primitive_cross_entropy if self.is_primitive else functional.cross_entropy
        return cross_entropy(logits, targets.flatten())


def compiled(function: Callable, variant: str) -> Callable:
    """Return the function under torch.compile, if the variant requires it."""
    if variant in GRAPHS:
        return torch.compile(function, mode="reduce-overhead")
    return torch.compile(function) if variant == "compile" else function


def gradient_norm(parameters: Parameters) -> float:
    """Return the norm of all gradients together, summed in float64."""
    return math.sqrt(sum(p.grad.double().pow(2).sum().item() for p in parameters.values()))


def used_mib(device: torch.device) -> float:
    """Return the memory in use by all processes, by the device's own count."""
    free, total = torch.cuda.mem_get_info(device)
    return (total - free) / 2**20


def read_batches(path: str, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return tokens and targets."""
    batch = np.load(path)
    return tuple(torch.from_numpy(batch[name]).long().to(device) for name in ("tokens", "targets"))


def learning_rate(iteration: int, optimizer: dict[str, float]) -> float:
    """Return linear warm-up to `lr`, then cosine to `min_lr`, then `min_lr`. `iteration` counts from 0."""
    warmup, cosine = optimizer["warmup_steps"], optimizer["cosine_steps"]
    if iteration < warmup:
        return optimizer["lr"] * iteration / warmup
    if cosine == 0:
        return optimizer["lr"]
    done = min((iteration - warmup) / (cosine - warmup), 1.0)
    return optimizer["min_lr"] + (optimizer["lr"] - optimizer["min_lr"]) * (1 + math.cos(math.pi * done)) / 2


class Trainer:
    """Updates by AdamW, with the schedule and the clipping of the settings. `loss` is a function of a batch.

    Parameters
    ----------
    parameters
        The parameters to update.
    settings
        The keys of a job's `optimizer`.
    scale
        True if a GradScaler scales the loss.
    """

    def __init__(self, parameters: Parameters, settings: dict[str, float], loss: Callable, scale: bool) -> None:
        device = next(iter(parameters.values())).device
        self.parameters, self.settings, self.loss = list(parameters.values()), settings, loss
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            betas=(settings["beta1"], settings["beta2"]),
            eps=settings["eps"],
            weight_decay=settings["weight_decay"],
            fused=device.type == "cuda",
        )
        self.scaler = torch.amp.GradScaler(device.type, enabled=scale)
        self.iteration = 0

    def step(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Run one step. Return the loss before it, which the next step may overwrite."""
        self.optimizer.param_groups[0]["lr"] = learning_rate(self.iteration, self.settings)
        self.iteration += 1
        self.optimizer.zero_grad(set_to_none=True)
        value = self.loss(tokens, targets)
        self.scaler.scale(value).backward()
        if self.settings["max_norm"] > 0:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.parameters, self.settings["max_norm"])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return value.detach()


def train_curve(job: Job, parameters: Parameters, loss: Callable) -> dict[str, object]:
    """Train on every batch of the job, and evaluate the held-out batches at intervals."""
    device = torch.device(job["device"])
    batches = list(zip(*read_batches(job["batch"], device), strict=True))
    held_out_batches = list(zip(*read_batches(job["held_out"], device), strict=True))
    trainer = Trainer(parameters, job["optimizer"], loss, scale=job["dtype"] == "fp16")

    def evaluate() -> float:
        # Copies, because the next replay of a CUDA graph overwrites its results.
        with torch.no_grad():
            values = [loss(tokens, targets).clone() for tokens, targets in held_out_batches]
        return torch.stack(values).double().mean().item()

    losses, held_out, seconds = [], [(0, evaluate())], 0.0
    every = job["held_out_every"]
    for begin in range(0, len(batches), every):
        start = time.perf_counter()
        part = [trainer.step(*batch).clone() for batch in batches[begin : begin + every]]
        losses += torch.stack(part).tolist()
        seconds += time.perf_counter() - start
        held_out.append((len(losses), evaluate()))
    return {"torch": torch.__version__, "losses": losses, "held_out": held_out, "seconds": seconds}


def measure(job: Job) -> dict[str, object]:
    """Compute values first, then times."""
    device = torch.device(job["device"])
    used_before = used_mib(device) if device.type == "cuda" else 0
    variant, mode = job["variant"], job["mode"]
    if job["threads"]:
        torch.set_num_threads(job["threads"])
    torch.set_float32_matmul_precision("highest" if job["dtype"] == "fp32" else "high")
    others = variant != CUDNN_ATTENTION
    torch.backends.cuda.enable_flash_sdp(others)
    torch.backends.cuda.enable_mem_efficient_sdp(others)
    torch.backends.cuda.enable_math_sdp(others)

    model = Transformer(job["config"], variant, device)
    loaded = load_file(job["params"], device=str(device))
    if variant == BF16_WEIGHTS:
        loaded = {name: value.bfloat16() for name, value in loaded.items()}
    parameters = {name: value.requires_grad_() for name, value in loaded.items()}
    # CUDA graphs copy their inputs to memory of their own, except values with a static address: the parameters of a
    # torch.nn.Module, and marked tensors.
    for value in [*parameters.values(), model.cos, model.sin, model.mask]:
        torch._dynamo.mark_static_address(value)

    def autocast() -> contextlib.AbstractContextManager:
        low = AUTOCAST.get(job["dtype"]) if variant != BF16_WEIGHTS else None
        return torch.autocast(device.type, dtype=low) if low else contextlib.nullcontext()

    def compute_logits(tokens: torch.Tensor) -> torch.Tensor:
        with autocast():
            return model.logits(parameters, tokens)

    def compute_loss(tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        with autocast():
            return model.loss(parameters, tokens, targets)

    logits, loss = compiled(compute_logits, variant), compiled(compute_loss, variant)

    if mode == "curve":
        return train_curve(job, parameters, loss)

    tokens, targets = read_batches(job["batch"], device)
    trainer = Trainer(parameters, job["optimizer"], loss, scale=False)

    def synchronize() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    def step() -> torch.Tensor:
        if mode == "forward":
            with torch.no_grad():
                return logits(tokens)
        if mode == "loss":
            with torch.no_grad():
                return loss(tokens, targets)
        if mode == "train":
            return trainer.step(tokens, targets)
        for value in parameters.values():
            value.grad = None
        value = loss(tokens, targets)
        value.backward()
        return value

    start = time.perf_counter()
    first = step()
    synchronize()
    answer: dict[str, object] = {"torch": torch.__version__, "first_call_s": time.perf_counter() - start}
    if mode == "forward":
        answer["loss"] = functional.cross_entropy(first.float().flatten(0, 1), targets.flatten()).item()
        answer["grad_norm"] = None
    else:
        answer["loss"], answer["grad_norm"] = first.item(), None if mode == "loss" else gradient_norm(parameters)
    del first
    for _ in range(job["warmup"]):
        step()
    synchronize()
    times = []
    for _ in range(job["steps"]):
        start = time.perf_counter()
        step()
        synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    if device.type == "cuda":
        answer["device_mib"] = used_mib(device) - used_before
    return answer | {"step_ms": times, "threads": torch.get_num_threads()}


if __name__ == "__main__":
    answer_jobs(measure)

#!/usr/bin/env python3
"""Peaks of memory of a Transformer in PyTorch, without anything to compare values with.

Reads one job per line of standard input, in JSON, and answers each with one line of JSON. The keys of a job are those
of torch_model.py: config, optimizer, mode (forward or train), dtype, device, variant and steps. Parameters and tokens
are random, and made on the device. The answer has, in MiB:

    allocated_mib  the largest sum of PyTorch's own allocations during the steps (max_memory_allocated)
    reserved_mib   the largest sum of the memory that its allocator held (max_memory_reserved)
    device_mib     the memory that is in use after the steps and was not before, by the device's own count
    step_ms        the time of each step

If memory does not suffice, it is {"error": "out of memory"}.

echo '{"config": …}' | python3 torch_memory.py
"""

from __future__ import annotations

import contextlib
import time

import torch
from answer_jobs import Job, answer_jobs
from torch_model import AUTOCAST, Trainer, Transformer, compiled, used_mib

MEBI = 1 << 20


def make_parameters(config: dict, device: torch.device) -> dict[str, torch.Tensor]:
    """Return random parameters under their state_dict names."""
    width, inner, vocabulary = config["d_model"], config["d_ff"], config["vocab_size"]
    shapes: dict[str, tuple[int, ...]] = {"token_embeddings.weight": (vocabulary, width)}
    for layer in (f"layers.{index}" for index in range(config["num_layers"])):
        shapes |= {f"{layer}.attn.{name}_proj.weight": (width, width) for name in ("q", "k", "v", "output")}
        shapes |= {f"{layer}.ffn.w{name}.weight": (inner, width) for name in "13"}
        shapes |= {f"{layer}.ffn.w2.weight": (width, inner)}
        shapes |= {f"{layer}.ln{name}.weight": (width,) for name in "12"}
    shapes |= {"ln_final.weight": (width,), "lm_head.weight": (vocabulary, width)}
    return {
        name: torch.empty(shape, device=device).normal_(std=0.02).requires_grad_() for name, shape in shapes.items()
    }


def measure(job: Job) -> dict[str, object]:
    """Run steps, and return the peaks."""
    device, config = torch.device(job["device"]), job["config"]
    torch.set_float32_matmul_precision("highest" if job["dtype"] == "fp32" else "high")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = used_mib(device)
    parameters = make_parameters(config, device)
    model = Transformer(config, job["variant"], device)
    shape = (config["batch_size"], config["context_length"])
    tokens, targets = (torch.randint(config["vocab_size"], shape, device=device) for _ in range(2))

    def autocast() -> contextlib.AbstractContextManager:
        low = AUTOCAST.get(job["dtype"])
        return torch.autocast(device.type, dtype=low) if low else contextlib.nullcontext()

    def compute_logits() -> torch.Tensor:
        with autocast():
            return model.logits(parameters, tokens)

    def compute_loss(tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        with autocast():
            return model.loss(parameters, tokens, targets)

    logits, loss = compiled(compute_logits, job["variant"]), compiled(compute_loss, job["variant"])
    trainer = Trainer(parameters, job["optimizer"], loss, scale=False)
    times = []
    for _ in range(job["steps"]):
        start = time.perf_counter()
        if job["mode"] == "forward":
            with torch.no_grad():
                logits()
        else:
            trainer.step(tokens, targets)
        torch.cuda.synchronize(device)
        times.append(1e3 * (time.perf_counter() - start))
    return {
        "torch": torch.__version__,
        "allocated_mib": torch.cuda.max_memory_allocated(device) / MEBI,
        "reserved_mib": torch.cuda.max_memory_reserved(device) / MEBI,
        "device_mib": used_mib(device) - before,
        "step_ms": times,
    }


if __name__ == "__main__":
    answer_jobs(measure)

#!/usr/bin/env python3
"""Training steps of the Transformer of torch_model.py on several ranks of this host.

Reads one job per line of standard input, in JSON, and answers each with one line of JSON:

    ranks    number of processes; on GPUs each has the GPU of its number alone, and NCCL connects them; gloo on the CPU
    config, optimizer, params   as in torch_model.py
    batches  an npz file per rank with `tokens` and `targets`: [batch, positions]
    dtype    fp32, tf32 (float32 with rounded matmuls), bf16 or fp16 (autocast)
    device   cuda or cpu
    variant  ddp        DistributedDataParallel
             ddp-compile   the same, compiled by torch.compile
             graphs-flat   the loss and its gradients compiled in mode reduce-overhead, which replays CUDA graphs, then
             one all-reduce of all gradients in a flat float32 buffer
             graphs-flat-bf16   the same with a bfloat16 buffer
             zero       ddp-compile with ZeroRedundancyOptimizer
             fsdp       fully_shard (FSDP2) of every compiled layer and of the rest; bf16 parameters for dtype bf16
    warmup, steps, threads   numbers; threads 0 stands for the cores divided by the ranks

Every variant updates with the fused AdamW. The answer has `loss` and `grad_norm` (after clipping) of the first step,
means over ranks, `step_ms` of the slowest rank, `first_call_s` and, on a GPU, `device_mib` as in torch_model.py, of
rank 0. If memory does not suffice, it is {"error": "out of memory"}.

echo '{"ranks": 2, …}' | python3 torch_parallel.py
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from answer_jobs import Job, answer_jobs
from run_ranks import mean_over_ranks, run_ranks
from safetensors.torch import load_file
from torch.nn import Module, Parameter, functional
from torch.nn.parallel import DistributedDataParallel
from torch_model import AUTOCAST, Transformer, learning_rate, read_batches, rms_norm, used_mib


def add_parameter(module: Module, name: str, value: torch.Tensor) -> None:
    """Register a parameter under a name with dots, in modules that are created for its parts."""
    *path, last = name.split(".")
    for part in path:
        if part not in dict(module.named_children()):
            module.add_module(part, Module())
        module = module.get_submodule(part)
    module.register_parameter(last, Parameter(value))


class Layer(Module):
    """One layer of the Transformer, with its own parameters, so that it can be sharded."""

    def __init__(self, transformer: Transformer, index: int, parameters: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.transformer = transformer
        prefix = f"layers.{index}."
        for name, value in parameters.items():
            if name.startswith(prefix):
                add_parameter(self, name.removeprefix(prefix), value)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map the residual stream to that after this layer."""
        # Every layer has the names of the first one here: torch.compile would compile a function for each other name,
        # and none after the eighth.
        return self.transformer.layer({f"layers.0.{n}": p for n, p in self.named_parameters()}, 0, x)


class Model(Module):
    """The loss of the Transformer as a module, whose parameters have their state_dict names."""

    def __init__(self, config: dict, parameters: dict[str, torch.Tensor], device: torch.device) -> None:
        super().__init__()
        transformer = Transformer(config, "sdpa", device)
        self.layers = torch.nn.ModuleList(Layer(transformer, i, parameters) for i in range(config["num_layers"]))
        for name, value in parameters.items():
            if not name.startswith("layers."):
                add_parameter(self, name, value)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean cross entropy, in float32."""
        x = functional.embedding(tokens, self.token_embeddings.weight)
        for layer in self.layers:
            x = layer(x)
        logits = functional.linear(rms_norm(x, self.ln_final.weight), self.lm_head.weight)
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def distribute(model: Model, job: Job, device: torch.device) -> Module:
    """Return the model with the exchange of the variant, apart from that of graphs-flat."""
    variant = job["variant"]
    if variant == "fsdp":
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        is_bf16 = job["dtype"] == "bf16"
        policy = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16 if is_bf16 else None, reduce_dtype=torch.float32 if is_bf16 else None
        )
        for layer in model.layers:
            layer.compile()
            fully_shard(layer, mp_policy=policy)
        return fully_shard(model, mp_policy=policy)
    if variant.startswith("graphs"):
        # CUDA graphs copy their inputs to memory of their own, except values with a static address.
        return torch.compile(model, mode="reduce-overhead")
    ids = [device.index] if device.type == "cuda" else None
    wrapped = DistributedDataParallel(model, device_ids=ids, gradient_as_bucket_view=True)
    return wrapped if variant == "ddp" else torch.compile(wrapped)


def make_optimizer(parameters: list[Parameter], job: Job, device: torch.device) -> torch.optim.Optimizer:
    """Return AdamW with the job's settings."""
    settings = job["optimizer"]
    options = {
        "lr": settings["lr"],
        "betas": (settings["beta1"], settings["beta2"]),
        "eps": settings["eps"],
        "weight_decay": settings["weight_decay"],
        "fused": device.type == "cuda",
    }
    if job["variant"] == "zero":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        return ZeroRedundancyOptimizer(parameters, optimizer_class=torch.optim.AdamW, **options)
    return torch.optim.AdamW(parameters, **options)


def make_exchange(parameters: list[Parameter], job: Job) -> Callable[[], None]:
    """Return the exchange after the backward pass, which does nothing unless the variant is graphs-flat."""
    if not job["variant"].startswith("graphs-flat") or job["ranks"] == 1:
        return lambda: None
    dtype = torch.bfloat16 if job["variant"].endswith("bf16") else torch.float32
    flat = torch.empty(sum(p.numel() for p in parameters), dtype=dtype, device=parameters[0].device)
    parts = [part.view_as(p) for part, p in zip(flat.split([p.numel() for p in parameters]), parameters, strict=True)]

    def exchange() -> None:
        gradients = [p.grad for p in parameters]
        torch._foreach_copy_(parts, gradients)
        dist.all_reduce(flat)
        flat.div_(job["ranks"])
        torch._foreach_copy_(gradients, parts)

    return exchange


def gradient_norm(parameters: Iterable[Parameter], is_sharded: bool) -> float:
    """Return the norm of all gradients together, summed in float64. Ranks add those of their shards."""
    gradients = [p.grad.to_local() if is_sharded else p.grad for p in parameters]
    total = torch.stack([g.double().pow(2).sum() for g in gradients]).sum()
    if is_sharded:
        dist.all_reduce(total)
    return math.sqrt(total.item())


def measure_rank(job: Job, rank: int, device: torch.device) -> dict[str, object]:
    """Compute values first, then times, as one rank."""
    is_on_gpu = device.type == "cuda"
    used_before = used_mib(device) if is_on_gpu else 0
    torch.set_float32_matmul_precision("highest" if job["dtype"] == "fp32" else "high")
    # Otherwise PyTorch would run layers without compiling them, after a warning.
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    model = Model(job["config"], load_file(job["params"], device=str(device)), device)
    if job["variant"].startswith("graphs"):
        for value in model.parameters():
            torch._dynamo.mark_static_address(value)
    loss = distribute(model, job, device)
    parameters = list(model.parameters())
    optimizer, exchange = make_optimizer(parameters, job, device), make_exchange(parameters, job)
    tokens, targets = read_batches(job["batches"][rank], device)
    low, settings = AUTOCAST.get(job["dtype"]), job["optimizer"]

    def step(iteration: int) -> torch.Tensor:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(iteration, settings)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=low) if low else contextlib.nullcontext():
            value = loss(tokens, targets)
        value.backward()
        exchange()
        if settings["max_norm"] > 0:
            torch.nn.utils.clip_grad_norm_(parameters, settings["max_norm"])
        optimizer.step()
        return value.detach()

    def synchronize() -> None:
        if is_on_gpu:
            torch.cuda.synchronize(device)

    start = time.perf_counter()
    first = step(0)
    synchronize()
    answer: dict[str, object] = {"torch": torch.__version__, "first_call_s": time.perf_counter() - start}
    answer["loss"] = mean_over_ranks(first)
    answer["grad_norm"] = gradient_norm(parameters, job["variant"] == "fsdp")
    times = torch.zeros(job["steps"], dtype=torch.float64, device=device)
    for iteration in range(job["warmup"] + job["steps"]):
        dist.barrier()
        synchronize()
        start = time.perf_counter()
        step(iteration + 1)
        synchronize()
        if iteration >= job["warmup"]:
            times[iteration - job["warmup"]] = 1e3 * (time.perf_counter() - start)
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    if is_on_gpu:
        answer["device_mib"] = used_mib(device) - used_before
    return answer | {"step_ms": times.tolist()}


def measure(job: Job) -> dict[str, object]:
    """Start the ranks of a job."""
    return run_ranks(measure_rank, job)


if __name__ == "__main__":
    answer_jobs(measure)

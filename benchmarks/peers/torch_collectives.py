#!/usr/bin/env python3
"""Collectives of torch.distributed between ranks of this host.

Reads one job per line of standard input, in JSON, and answers each with one line of JSON:

    ranks    number of processes; on GPUs each has the GPU of its number alone, and NCCL connects them; gloo on the CPU
    device   cuda or cpu
    variant  plain or graph: calls from Python, or a replayed CUDA graph of as many
    cases    objects with collective, dtype (fp32, bf16, fp16), op (sum, mean, max), count and chain: elements of all
             parts together, and the calls per timed run
    warmup, steps, threads   numbers; threads 0 stands for the cores divided by the ranks

The answer has `cases`: for each of them `times_ms`, per call, on rank 0 and by the GPU's clock if there is one, and
`wrong`, the number of wrong elements over all ranks. If memory does not suffice, it is {"error": "out of memory"}.

echo '{"ranks": 2, …}' | python3 torch_collectives.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from answer_jobs import Job, answer_jobs
from run_ranks import run_ranks

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
OPERATIONS = {"sum": dist.ReduceOp.SUM, "mean": dist.ReduceOp.AVG, "max": dist.ReduceOp.MAX}


def element(rank: int, positions: torch.Tensor) -> torch.Tensor:
    """Return the elements of a rank's operand at these positions."""
    return (positions + rank) % 3


def reduced(op: str, ranks: int, positions: torch.Tensor) -> torch.Tensor:
    """Return the reduced elements of all ranks' operands at these positions, in float32."""
    result = element(0, positions).float()
    for rank in range(1, ranks):
        value = element(rank, positions).float()
        result = torch.maximum(result, value) if op == "max" else result + value
    return result / ranks if op == "mean" else result


def expected(case: dict[str, object], rank: int, ranks: int, device: torch.device) -> torch.Tensor:
    """Return the result of the collective on one rank, in float32."""
    count, kind = case["count"], case["collective"]
    part = count // ranks
    if kind == "all_reduce":
        return reduced(case["op"], ranks, torch.arange(count, device=device))
    if kind == "reduce_scatter":
        return reduced(case["op"], ranks, torch.arange(rank * part, (rank + 1) * part, device=device))
    if kind == "broadcast":
        return element(0, torch.arange(count, device=device)).float()
    begin = rank * part if kind == "all_to_all" else 0
    positions = torch.arange(begin, begin + part, device=device)
    return torch.cat([element(source, positions) for source in range(ranks)]).float()


def make_call(case: dict[str, object], rank: int, ranks: int, device: torch.device) -> tuple[Callable, torch.Tensor]:
    """Return a function that runs the collective, and its result."""
    kind, dtype, count = case["collective"], TYPES[case["dtype"]], case["count"]
    size = count // ranks if kind == "all_gather" else count
    source = element(rank, torch.arange(size, device=device)).to(dtype)
    op = OPERATIONS.get(case.get("op"))
    if kind == "all_reduce":
        return lambda: dist.all_reduce(source, op=op), source
    if kind == "broadcast":
        return lambda: dist.broadcast(source, src=0), source
    target = torch.empty(count // ranks if kind == "reduce_scatter" else count, dtype=dtype, device=device)
    if kind == "all_gather":
        return lambda: dist.all_gather_into_tensor(target, source), target
    if kind == "reduce_scatter":
        return lambda: dist.reduce_scatter_tensor(target, source, op=op), target
    return lambda: dist.all_to_all_single(target, source), target


def count_wrong(case: dict[str, object], result: torch.Tensor, right: torch.Tensor) -> int:
    """Return the number of wrong elements on all ranks. A mean may be off by one unit in the last place."""
    tolerance = torch.finfo(result.dtype).eps if case.get("op") == "mean" else 0.0
    exact = right.to(result.dtype).float()
    wrong = (~((result.float() - exact).abs() <= tolerance * exact)).sum()
    dist.all_reduce(wrong)
    return int(wrong.item())


def time_runs(call: Callable, chain: int, job: Job, device: torch.device) -> list[float]:
    """Return the milliseconds per call of each run of `chain` calls."""

    def run() -> None:
        for _ in range(chain):
            call()

    if job["variant"] == "graph":
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(device)
        with torch.cuda.graph(graph):
            run()
        run = graph.replay
    times = []
    for step in range(job["warmup"] + job["steps"]):
        if device.type == "cuda":
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            end.synchronize()
            milliseconds = start.elapsed_time(end)
        else:
            begin = time.perf_counter()
            run()
            milliseconds = 1e3 * (time.perf_counter() - begin)
        if step >= job["warmup"]:
            times.append(milliseconds / chain)
    return times


def measure_rank(job: Job, rank: int, device: torch.device) -> dict[str, object]:
    """Measure every case as one rank."""
    answers = []
    for case in job["cases"]:
        call, result = make_call(case, rank, job["ranks"], device)
        call()
        wrong = count_wrong(case, result, expected(case, rank, job["ranks"], device))
        answers.append({"wrong": wrong, "times_ms": time_runs(call, case["chain"], job, device)})
    return {"torch": torch.__version__, "cases": answers}


def measure(job: Job) -> dict[str, object]:
    """Start the ranks of a job."""
    return run_ranks(measure_rank, job)


if __name__ == "__main__":
    answer_jobs(measure)

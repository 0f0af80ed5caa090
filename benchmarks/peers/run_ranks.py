"""Ranks of a job: processes of this host that share a torch.distributed group."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from answer_jobs import Job
from torch.multiprocessing import spawn

Measure = Callable[[Job, int, torch.device], dict[str, object]]


def choose_gpu(rank: int) -> torch.device:
    """Make the GPU of this rank the only one of its process, before the process uses CUDA.

    It is then device 0 on every rank, so all ranks compile the same programs, and torch.compile's cache on disk serves
    them all.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = visible.split(",")[rank] if visible else str(rank)
    return torch.device("cuda", 0)


def run_rank(rank: int, measure: Measure, job: Job, folder: str) -> None:
    """Run the job as one rank. Rank 0 writes the answer; a rank without enough memory writes that error instead."""
    ranks, answer = job["ranks"], Path(folder, "answer.json")
    is_on_gpu = job["device"] == "cuda"
    device = choose_gpu(rank) if is_on_gpu else torch.device("cpu")
    if is_on_gpu:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(job["threads"] or max(1, (os.cpu_count() or 1) // ranks))
    dist.init_process_group(
        "nccl" if is_on_gpu else "gloo",
        init_method=f"file://{folder}/rendezvous",
        rank=rank,
        world_size=ranks,
        device_id=device if is_on_gpu else None,
    )
    try:
        result = measure(job, rank, device)
    except torch.OutOfMemoryError:
        answer.write_text(json.dumps({"error": "out of memory"}))
        raise  # Ends the other ranks.
    if rank == 0:
        answer.write_text(json.dumps(result))
    dist.destroy_process_group()


def run_ranks(measure: Measure, job: Job) -> dict[str, object]:
    """Run `measure` on `job["ranks"]` new processes, each with a device of its own, and return rank 0's answer."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        try:
            spawn(run_rank, args=(measure, job, folder), nprocs=job["ranks"])
        except Exception:
            if not answer.exists():
                raise
        return json.loads(answer.read_text())


def mean_over_ranks(value: torch.Tensor) -> float:
    """Return the mean of a number over all ranks, which all call this."""
    total = value.detach().double().clone()
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()

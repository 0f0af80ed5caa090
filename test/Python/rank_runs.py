"""Runs of a program on several ranks, by cs336-run."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import reference
from numpy.typing import NDArray

Tensors = dict[str, NDArray[Any]]


@cache
def draw_parameters(config: reference.Config) -> Tensors:
    """Return random parameters, the same for every batch size."""
    drawn = reference.random_parameters(config, np.random.default_rng(5))
    return {name: value.astype(np.float32) for name, value in drawn.items()}


@cache
def draw_batch(config: reference.Config) -> Tensors:
    """Return random rows for all ranks."""
    tokens, targets = reference.random_batch(config, np.random.default_rng(6))
    return {"tokens": tokens, "targets": targets}


def split_batch(batch: Tensors, ranks: int) -> list[Tensors]:
    """Return the rows of each rank: consecutive, of equal number, disjoint."""
    parts = {name: np.split(value, ranks) for name, value in batch.items()}
    return [{name: rows[rank] for name, rows in parts.items()} for rank in range(ranks)]


def run_ranks(
    folder: Path,
    executable: cs336.Executable,
    inputs: Sequence[Tensors],
    parameters: Tensors,
    steps: int = 1,
    flag: str = "--ranks",
    device: str = "cpu",
    exchange: str | None = None,
) -> list[Tensors]:
    """Run the first training entry, on the inputs of each rank, and return each rank's outputs and variables.

    The flag is `--ranks` for threads and `--nproc` for processes. Variables are called "after <name>". Every rank has
    one thread, so that GEMMs add in one order. Memory that is read before it is written is NaN.
    """
    executable.save(folder / "program.cs336x")
    np.savez(folder / "parameters.npz", **parameters)
    for rank, tensors in enumerate(inputs):
        np.savez(folder / f"in-{rank}.npz", **tensors)
    flags = ["--poison-memory", "--num-threads", "1", "--steps", str(steps), "--params", f"{folder}/parameters.npz"]
    flags += ["--inputs", f"{folder}/in-{{rank}}.npz", "--outputs", f"{folder}/out-{{rank}}.npz"]
    flags += ["--save-state", f"{folder}/state-{{rank}}.npz", "--device", device]
    flags += ["--exchange", exchange] if exchange else []
    command = ["cs336-run", str(folder / "program.cs336x"), flag, str(len(inputs)), *flags]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise RuntimeError(run.stderr)
    results = []
    for rank in range(len(inputs)):
        state = np.load(folder / f"state-{rank}.npz")
        outputs = np.load(folder / f"out-{rank}.npz")
        results.append({**outputs, **{f"after {name}": value for name, value in state.items()}})
    return results


def assert_ranks_equal(results: Sequence[Tensors]) -> None:
    """Assert that all ranks have the same bits."""
    for rank, other in enumerate(results[1:], start=1):
        assert other.keys() == results[0].keys()
        for name, value in results[0].items():
            assert value.tobytes() == other[name].tobytes(), f"{name} of rank {rank}"

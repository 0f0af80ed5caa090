"""Ranks on several GPUs: the steps of one GPU with the whole batch, and an end in time after faults.

These tests need as many GPUs as ranks: `CS336_TEST_DEVICE=cuda python -m pytest test/Python/test_gpu_ranks.py`. The
number of ranks is 2, or that of `CS336_TEST_RANKS`.

Sums of two values have the same bits in every exchange and in every mode. For more ranks, this holds for `peers`, which
adds in the order of ranks and in float32. NCCL adds in an order that depends on the position in a buffer, and rounds
16-bit types after each rank, so its results differ by these roundings.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
from device import DEVICE, RANKS
from numpy.typing import NDArray
from rank_runs import Tensors, assert_ranks_equal, run_ranks, split_batch
from test_data_parallel import MODES, batch, program
from test_rank_processes import LIMIT, Run, is_running
from test_sharded_parameters import LR, config, parameters
from test_sharded_parameters import program as divisible_program

RANK_TESTS = Path(__file__).parents[1] / "Tools/Inputs/ranks.py"


def count_gpus() -> int:
    """Return the number of GPUs that CUDA finds, without CUDA in this process."""
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return len(visible.split(","))
    return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


pytestmark = pytest.mark.skipif(
    DEVICE == "cpu" or count_gpus() < RANKS, reason=f"requires {RANKS} GPUs and CS336_TEST_DEVICE=cuda"
)


@pytest.fixture(params=["nccl", "peers"])
def exchange(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def compile_ranks(distribute: str, mode: str = "train", **options: Any) -> cs336.Executable:
    return cs336.compile(divisible_program(mode, RANKS), device=DEVICE, ranks=RANKS, distribute=distribute, **options)


def run(
    folder: Path, executable: cs336.Executable, exchange: str, steps: int = 1, flag: str = "--nproc"
) -> list[Tensors]:
    batches = split_batch(batch_of(), RANKS)
    return run_ranks(folder, executable, batches, parameters(), steps, flag, DEVICE, exchange)


def train(
    folder: Path, distribute: str, exchange: str, steps: int, flag: str = "--nproc", **options: Any
) -> list[Tensors]:
    return run(folder, compile_ranks(distribute, **options), exchange, steps, flag)


@cache
def batch_of() -> Tensors:
    rng = np.random.default_rng(6)
    shape = config(8).batch_size, config(8).context_length
    return {name: rng.integers(0, config(8).vocab_size, shape) for name in ("tokens", "targets")}


def run_alone(mode: str, steps: int = 1, **options: Any) -> Tensors:
    """Return the outputs of one GPU for the whole batch, and the parameters after the steps."""
    session = cs336.Session(cs336.compile(divisible_program(mode, 1), device=DEVICE, **options), device=DEVICE)
    session.initialize(0)
    session.set_parameters(parameters())
    for _ in range(steps):
        outputs = session.run(mode, batch_of())
    return {**outputs, **{f"after {name}": session[name] for name in session.parameters()}}


@cache
def gradients_of_parts(dtype: Any) -> dict[str, list[NDArray[Any]]]:
    """Return the gradients that one GPU has for the batch of each rank."""
    executable = cs336.compile(divisible_program("forward_backward", RANKS), device=DEVICE, dtype=dtype)
    session = cs336.Session(executable, device=DEVICE)
    session.initialize(0)
    session.set_parameters(parameters())
    results = [session.run("forward_backward", part) for part in split_batch(batch_of(), RANKS)]
    return {name: [result[name] for result in results] for name in results[0]}


def assert_close(actual: Tensors, expected: Tensors, dtype: str = "fp32") -> None:
    """Compare losses and parameters after at most five steps.

    AdamW divides by a gradient's magnitude: the rounding of one close to 0 changes its update by up to 2·lr.
    """
    np.testing.assert_allclose(actual["loss"], expected["loss"], rtol=1e-5 if dtype == "fp32" else 1e-2)
    names = [f"after {name}" for name in parameters()]
    differences = np.concatenate([np.abs(actual[name] - expected[name]).ravel() for name in names])
    assert differences.max() <= 5 * 2 * LR
    assert np.quantile(differences, 0.95) <= (1e-5 if dtype == "fp32" else LR)


def assert_runs_equal(first: list[Tensors], second: list[Tensors], exchange: str, dtype: str = "fp32") -> None:
    """Assert that two runs have the same bits, or are close where NCCL may add in different orders."""
    if RANKS == 2 or exchange == "peers":
        assert_ranks_equal([*first, *second])
        return
    assert_ranks_equal(first)
    assert_ranks_equal(second)
    assert_close(first[0], second[0], dtype)


#: Steps.


TYPES = ("f32", "f64", "bf16", "f16", "i64", "i32")
#: Parts of vectors, a few vectors, and more than peers reduce with one kernel: 24 MiB, in 2 rows per rank.
LARGE = [("f32", (3 << 20) // RANKS), ("bf16", (3 << 21) // RANKS)]
SIZES = [*((dtype, columns) for dtype in TYPES for columns in (3, 72)), *LARGE]


@pytest.mark.parametrize(("dtype", "columns"), SIZES)
def test_collectives(tmp_path: Path, dtype: str, columns: int, exchange: str) -> None:
    """Every kind, reduction and type, on inputs of each rank, against NumPy."""
    folder = str(tmp_path)
    arguments = [folder, str(RANKS), dtype, str(columns), "gpu"]
    subprocess.run([sys.executable, RANK_TESTS, "write", *arguments], check=True)
    flags = ["--device", "cuda", "--nproc", str(RANKS), "--poison-memory", "--exchange", exchange]
    flags += ["--inputs", f"{folder}/in-{{rank}}.npz", "--outputs", f"{folder}/out-{{rank}}.npz"]
    subprocess.run(["cs336-run", f"{folder}/exchange.mlir", *flags], check=True, timeout=LIMIT)
    subprocess.run([sys.executable, RANK_TESTS, "check", *arguments], check=True)


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_those_of_the_whole_batch(tmp_path: Path, mode: str, dtype: Any, exchange: str) -> None:
    """Compare with the bound of ranks on CPUs: 16-bit GEMMs round each part's gradient and the whole batch's.

    There is one more rounding per rank: of the sum after each rank but the first, and of the mean.
    """
    results = run(tmp_path, compile_ranks(mode, "forward_backward", dtype=dtype), exchange)
    assert_ranks_equal(results)
    parts = gradients_of_parts(dtype) if RANKS > 2 else {}
    for name, expected in run_alone("forward_backward", dtype=dtype).items():
        if name.startswith("after "):
            continue
        magnitude = float(np.abs(expected).max())
        if RANKS > 2:
            magnitude = max(magnitude, float(np.mean(np.abs(parts[name]), axis=0).max()))
        bound = 1e-5 if dtype == "fp32" else 1e-5 + (2 + RANKS) * 2.0**-8 * magnitude
        assert np.abs(results[0][name].astype(np.float64) - expected).max() <= bound, name


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "bucket"])
def test_modes_have_equal_bits(tmp_path: Path, mode: str, dtype: Any, exchange: str) -> None:
    """The sum of two numbers does not depend on the exchange, nor an update on the rank that computes it."""
    expected = train(tmp_path, "bucket", "nccl" if RANKS == 2 else exchange, steps=5, dtype=dtype)
    actual = train(tmp_path, mode, exchange, steps=5, dtype=dtype)
    assert_runs_equal(expected, actual, exchange, dtype)


@pytest.mark.parametrize("mode", ["overlap", "fsdp"])
def test_threads_have_the_bits_of_processes(tmp_path: Path, mode: str, exchange: str) -> None:
    results = [train(tmp_path, mode, exchange, steps=3, flag=flag) for flag in ("--nproc", "--ranks")]
    assert_runs_equal(*results, exchange)


@pytest.mark.parametrize("mode", ["bucket", "zero1", "fsdp"])
def test_five_steps_train_like_one_gpu(tmp_path: Path, mode: str, exchange: str) -> None:
    results = train(tmp_path, mode, exchange, steps=5)
    assert_close(results[0], run_alone("train", 5))


#: Faults.


TIMEOUT = 10.0
ENDLESS = ["--random-inputs", "--steps", "1000000000", "--rank-timeout", str(TIMEOUT), "--device", "cuda"]


@pytest.fixture(params=["bucket", "fsdp"])
def endless(request: pytest.FixtureRequest, tmp_path: Path, exchange: str) -> Iterator[Run]:
    path = str(tmp_path / "program.cs336x")
    compile_ranks(request.param, dtype="bf16").save(path)
    started = Run(tmp_path, ["cs336-run", path, "--nproc", str(RANKS), "--exchange", exchange, *ENDLESS], TIMEOUT)
    for rank in range(RANKS):
        started.wait_for(f"rank {rank}: step 3")
    pids = [started.process.pid, *started.ranks()]
    yield started
    for pid in pids:
        assert not is_running(pid)


def find_error(text: str, rank: int) -> str:
    """Return the first error that a rank printed."""
    errors = [line for line in text.splitlines() if f"rank {rank}: cs336-run: error" in line]
    assert errors, f"rank {rank} printed no error:\n{text}"
    return errors[0]


@pytest.mark.parametrize("rank", [0, RANKS - 1])
def test_killed_rank(endless: Run, rank: int) -> None:
    text = endless.inject(lambda: os.kill(endless.ranks()[rank], signal.SIGKILL))
    assert endless.process.returncode == 1
    assert f"rank {rank} ended with signal 9 (Killed)" in text.splitlines()[-1]
    assert f"rank {rank}" in find_error(text, (rank + 1) % RANKS)


@pytest.mark.parametrize("rank", [0, RANKS - 1])
def test_stopped_rank(endless: Run, rank: int) -> None:
    text = endless.inject(lambda: os.kill(endless.ranks()[rank], signal.SIGSTOP))
    assert endless.process.returncode == 1
    line = find_error(text, (rank + 1) % RANKS)
    assert f"no heartbeat from rank {rank} for 5s" in line or f"rank {rank} is behind by" in line


def test_more_ranks_than_gpus(tmp_path: Path) -> None:
    ranks = count_gpus() + 1
    executable = cs336.compile(program("train", 8), device=DEVICE, ranks=ranks, distribute="bucket")
    with pytest.raises(RuntimeError, match=f"there is no device cuda:{ranks - 1}: the CUDA driver finds {ranks - 1}"):
        run_ranks(tmp_path, executable, [split_batch(batch(), 8)[0]] * ranks, {}, flag="--nproc", device=DEVICE)

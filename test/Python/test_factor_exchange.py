"""Ranks that exchange the factors of gradients compute the gradients of the whole batch.

On GPUs, these tests need as many of them as ranks, as test_gpu_ranks.py does.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from compiled_model import optimizer, transformer_config
from device import DEVICE, RANKS
from rank_runs import Tensors, assert_ranks_equal, draw_batch, draw_parameters, run_ranks, split_batch
from test_gpu_ranks import count_gpus

pytestmark = pytest.mark.skipif(DEVICE != "cpu" and count_gpus() < RANKS, reason=f"requires {RANKS} GPUs")

BATCH = 8
ROUNDING = 2.0**-8
"""Half the distance of 1 to the next larger number of bf16."""
BETA1 = 0.9
FACTORS = "factors=1000"
SPLIT = "extra-after-lowering=exec-split-updates"
FUSED = f"{SPLIT},exec-fuse-updates{{always=true}}"
SIZES = {
    "small": reference.Config(64, 16, 32, 2, 2, 64, batch_size=BATCH),
    # The rows of a rank are multiples of 64, as the kernel that computes a gradient and updates by it requires.
    "tiles": reference.Config(512, 32, 256, 1, 4, 512, batch_size=BATCH),
}
CASES = (
    [("small", 2, None), ("small", 4, None)]
    if DEVICE == "cpu"
    else [(size, RANKS, exchange) for size in SIZES for exchange in ("nccl", "peers")]
)


def program(size: str, ranks: int) -> cs336.Module:
    config = replace(SIZES[size], batch_size=BATCH // ranks)
    return cs336.build(transformer_config(config), "train", optimizer=optimizer(reference.Optimizer(beta1=BETA1)))


def compile_ranks(size: str, ranks: int, mode: Any) -> cs336.Executable:
    options = f"{FACTORS} {SPLIT if DEVICE == 'cpu' else FUSED}"
    return cs336.compile(
        program(size, ranks), device=DEVICE, dtype="bf16", ranks=ranks, distribute=mode, pipeline=options
    )


def train(folder: Path, size: str, executable: cs336.Executable, exchange: str | None = None) -> list[Tensors]:
    """Return what each rank has after one step."""
    config, ranks = SIZES[size], executable.ranks
    flag = "--ranks" if exchange is None else "--nproc"
    batches = split_batch(draw_batch(config), ranks)
    return run_ranks(folder, executable, batches, draw_parameters(config), 1, flag, DEVICE, exchange)


def check_gradients(results: list[Tensors], alone: Tensors) -> None:
    """Compare the gradients of the first step, which the first moments are 1 - β₁ times.

    A GEMM rounds the gradient of the whole batch once, in either program. Gradients of activations are those of the
    whole batch times the number of ranks, a power of 2. On GPUs, GEMMs of other sizes add in another order, so that
    other activations are rounded, up or down.
    """
    assert_ranks_equal(results)
    names = [name for name in alone if name.startswith("after adamw.m.")]
    assert len(names) > 8
    for name in names:
        actual, expected = (each[name].astype(np.float64) / (1 - BETA1) for each in (results[0], alone))
        bound = 1e-5 + ROUNDING * (np.abs(actual) + np.abs(expected))
        if DEVICE != "cpu":
            bound += 2 * ROUNDING * np.abs(expected).max()
        difference = np.abs(actual - expected)
        assert np.all(difference <= bound), f"{name}: {difference.max()}"


def run_alone(folder: Path, size: str) -> Tensors:
    executable = cs336.compile(program(size, 1), device=DEVICE, dtype="bf16")
    (result,) = run_ranks(folder, executable, [draw_batch(SIZES[size])], draw_parameters(SIZES[size]), device=DEVICE)
    return result


@pytest.mark.parametrize(("size", "ranks", "exchange"), CASES)
@pytest.mark.parametrize("mode", ["bucket", "zero1", "fsdp"])
def test_gradients_are_those_of_the_whole_batch(
    tmp_path: Path, mode: str, size: str, ranks: int, exchange: str | None
) -> None:
    results = train(tmp_path, size, compile_ranks(size, ranks, mode), exchange)
    check_gradients(results, run_alone(tmp_path, size))


def planned_text(size: str) -> str:
    options = f"world-size=2 distribute=zero1 dtype=bf16 {FACTORS}"
    return str(program(size, 2).run_passes(f"cs336-pipeline{{{options}}}"))


@pytest.mark.skipif(DEVICE != "cpu", reason="compiles for the CPU")
def test_sums_in_place_of_means_are_found(tmp_path: Path) -> None:
    text, alone = planned_text("small"), run_alone(tmp_path, "small")
    check_gradients(train(tmp_path, "small", cs336.compile(text)), alone)
    half = "cs336.constant dense<5.000000e-01> : tensor<"
    assert half in text
    with pytest.raises(AssertionError, match="after adamw"):
        check_gradients(train(tmp_path, "small", cs336.compile(text.replace(half, half.replace("5", "10")))), alone)


@pytest.mark.skipif(DEVICE != "cpu", reason="only plans programs")
def test_all_matrices_of_layers_have_factors() -> None:
    text = planned_text("small")
    exchanged = [line for line in text.splitlines() if "exec.collective all_to_all" in line]
    assert len([line for line in exchanged if "outs(%token_embeddings.weight" in line]) == 1
    assert any("outs(%factors" in line for line in exchanged)
    assert "reduce_scatter" not in text


@pytest.mark.skipif(DEVICE != "cpu", reason="compiles for GPUs without one")
@pytest.mark.parametrize("ranks", [2, 4])
def test_kernels_on_gpus_compute_gradients_and_update(tmp_path: Path, ranks: int) -> None:
    executable = cs336.compile(
        program("tiles", ranks),
        device="cuda",
        architectures=["sm_90a"],
        dtype="bf16",
        ranks=ranks,
        distribute="zero1",
        pipeline=f"{FACTORS} {FUSED}",
    )
    executable.save(tmp_path / "program.cs336x")
    assert b"matmul_cast_mul_adamw" in (tmp_path / "program.cs336x").read_bytes()

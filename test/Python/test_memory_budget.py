"""A memory budget selects the least recomputation that fits."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
from device import DEVICE, compile_program, open_session

CONFIG = cs336.TransformerConfig(
    vocab_size=50, context_length=128, d_model=64, num_layers=3, num_heads=4, d_ff=256, batch_size=16
)


@cache
def module() -> cs336.Module:
    return cs336.build(CONFIG, "train")


def session_bytes(**options: object) -> int:
    """Return the planned bytes that a session of the program allocates on its device."""
    memory = open_session(compile_program(module(), **options)).memory()
    return memory["allocated_bytes"] - memory["workspace_bytes"]


@cache
def extremes() -> tuple[int, int]:
    """Return the bytes of the program with all activations recomputed, and with none."""
    return session_bytes(pipeline="selective-checkpoint=1"), session_bytes()


def test_ten_budgets_are_kept() -> None:
    """Each session allocates at most its budget. On the CPU its memory grows with the budget.

    A memory plan may need less for more activations: on GPUs, this small model has such steps.
    """
    least, most = extremes()
    assert least < 0.8 * most
    previous = least
    for budget in np.linspace(least, most, 10).astype(int).tolist():
        needed = session_bytes(memory_budget=budget)
        assert needed <= budget
        assert previous <= needed or DEVICE != "cpu"
        previous = needed
    assert previous == most


def plan_for_cuda(*flags: str) -> dict[str, Any]:
    """Return the plan of a training step for a GPU. It needs no GPU."""
    command = [
        "cs336-bench",
        "plan",
        "--size",
        "tiny",
        "--num-layers",
        "4",
        "--context-length",
        "128",
        "--mode",
        "train",
    ]
    command += ["--vocab-size", "50", "--batch-size", "16", "--device", "cuda", "--format", "json", *flags]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    (row,) = json.loads(process.stdout)["results"]
    return row


def test_more_memory_never_predicts_a_longer_step() -> None:
    """Each of ten budgets is kept, and the predicted time falls, or stays, as the budget grows."""
    least, most = plan_for_cuda("--pipeline-options", "selective-checkpoint=1"), plan_for_cuda()
    assert least["total_mib"] < 0.8 * most["total_mib"] and least["predicted_ms"] > most["predicted_ms"]
    previous = float("inf")
    for budget in np.linspace(least["total_mib"], most["total_mib"], 10).tolist():
        row = plan_for_cuda("--memory-budget", str(round(budget * 2**20)))
        assert row["total_mib"] * 2**20 <= round(budget * 2**20)
        assert least["predicted_ms"] >= row["predicted_ms"] >= most["predicted_ms"]
        assert row["predicted_ms"] <= previous
        previous = row["predicted_ms"]
    assert previous == most["predicted_ms"]


def test_a_budget_is_met_to_the_byte() -> None:
    """A session that needs the whole budget fits, and a budget of one byte less selects more recomputation."""
    _, most = extremes()
    assert session_bytes(memory_budget=most) == most
    assert session_bytes(memory_budget=most - 1) < most


def test_losses_are_those_without_a_budget() -> None:
    least, _ = extremes()
    rng = np.random.default_rng(3)
    batches = rng.integers(0, CONFIG.vocab_size, (3, 2, CONFIG.batch_size, CONFIG.context_length))
    curves = []
    for options in ({}, {"memory_budget": least}):
        session = open_session(compile_program(module(), **options))
        session.initialize(5)
        curves.append(
            [float(session.run("train", {"tokens": tokens, "targets": targets})["loss"]) for tokens, targets in batches]
        )
    if DEVICE == "cpu":
        assert curves[0] == curves[1]
    else:
        # Fused kernels of a GPU may add in another order.
        assert np.allclose(curves[0], curves[1], rtol=1e-4)


def test_units_are_understood() -> None:
    _, most = extremes()
    assert session_bytes(memory_budget=f"{most / 1e6 + 1:.3f}MB") == most
    assert session_bytes(memory_budget="auto") == most


def test_a_budget_that_nothing_meets_says_what_is_needed() -> None:
    least, _ = extremes()
    message = rf"memory budget {least // 2}: the smallest budget that works is {least} bytes \("
    with pytest.raises(ValueError, match=message):
        compile_program(module(), memory_budget=least // 2)


@pytest.mark.parametrize("budget", ["much", "-1", 0, "nan"])
def test_other_values_are_errors(budget: str | int) -> None:
    with pytest.raises(ValueError, match="must be a size such as 30GiB, or auto"):
        cs336.compile(module(), memory_budget=budget)


@pytest.mark.parametrize("budget", ["1 GB", "1TB fusion=none", ""])
def test_a_budget_is_one_option(budget: str) -> None:
    message = f"memory_budget is '{budget}', must be a size such as '30GiB', or 'auto'"
    with pytest.raises(ValueError, match=message):
        cs336.compile(module(), memory_budget=budget)


def test_recomputation_has_one_source() -> None:
    with pytest.raises(ValueError, match="conflicts with the pipeline's options checkpoint and selective-checkpoint"):
        cs336.compile(module(), memory_budget="1GiB", checkpoint=1)
    with pytest.raises(ValueError, match="conflicts with 'memory-budget=1GiB' in pipeline"):
        cs336.compile(module(), "memory-budget=1GiB", memory_budget="2GiB")


def test_a_planned_program_has_no_budget(tmp_path: Path) -> None:
    planned = module().run_passes("cs336-pipeline")
    with pytest.raises(ValueError, match="the module is exec IR, past the passes that recompute"):
        cs336.compile(planned, memory_budget="1GiB")
    path = tmp_path / "model.mlir"
    path.write_text(str(module()))
    done = subprocess.run(["cs336-opt", path, "--cs336-pipeline=memory-budget=1GiB"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "the option memory-budget of the pipeline takes several compilations" in done.stderr

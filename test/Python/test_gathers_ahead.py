"""Parts that the step before has gathered are those that a step would gather itself."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from compiled_model import optimizer, transformer_config
from device import DEVICE
from rank_runs import Tensors, assert_ranks_equal, draw_batch, draw_parameters, run_ranks, split_batch
from test_distributed import launch

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="ranks run on the CPU")

BATCH = 8
#: So many layers that the first ones are gathered while the last ones are updated.
LAYERS = 8


def config(batch: int) -> reference.Config:
    return reference.Config(64, 16, 32, LAYERS, 2, 64, batch_size=batch)


@cache
def program(ranks: int, max_norm: float = 0.0) -> cs336.Module:
    numbers = reference.Optimizer(lr=1e-3, max_norm=max_norm)
    return cs336.build(transformer_config(config(BATCH // ranks)), "train", optimizer=optimizer(numbers))


def parameters() -> Tensors:
    return draw_parameters(config(BATCH))


def batch() -> Tensors:
    return draw_batch(config(BATCH))


def pipeline(percent: int) -> str:
    return f"gather-ahead={percent}"


def test_gathers_move() -> None:
    """Otherwise the tests below would compare a program with itself."""
    options = "cs336-pipeline{{world-size=2 distribute=zero1 dtype=bf16 {}}}"
    assert " kept" in str(program(2).run_passes(options.format(pipeline(50))))
    assert " kept" not in str(program(2).run_passes(options.format(pipeline(0))))


@pytest.mark.parametrize("max_norm", [0.0, 0.1])
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_bits_are_those_of_gathers_in_the_same_step(tmp_path: Path, ranks: int, dtype: Any, max_norm: float) -> None:
    def steps(percent: int) -> list[Tensors]:
        executable = cs336.compile(
            program(ranks, max_norm), ranks=ranks, distribute="zero1", dtype=dtype, pipeline=pipeline(percent)
        )
        return run_ranks(tmp_path, executable, split_batch(batch(), ranks), parameters(), 4)

    assert_ranks_equal([steps(0)[0], *steps(50)])


SEQUENCE = """
import cs336, numpy as np
with cs336.distributed.init() as group:
    inputs = dict(np.load(f"FOLDER/in-{group.rank}.npz"))

    def run(name):
        session = cs336.Session(cs336.Executable.load(f"FOLDER/{name}.cs336x"), num_threads=1, group=group)
        losses = []

        def step(count):
            losses.extend(float(session.run("train", inputs)["loss"]) for _ in range(count))

        session.initialize(3)
        step(2)
        session.save(f"FOLDER/{name}-{group.rank}.npz")
        losses.append(float(session.run("loss", inputs)["loss"]))
        step(1)
        session["token_embeddings.weight"] = np.full((64, 32), 0.5, np.float32)
        session["layers.0.ffn.w2.weight"] = np.full((32, 64), 2, np.float32)
        step(1)
        session.load(f"FOLDER/{name}-{group.rank}.npz")
        step(2)
        return losses

    ahead, later = run("ahead"), run("later")
    assert ahead == later, (ahead, later)
    assert len(set(ahead)) >= 5, ahead
    group.barrier()
"""


def test_values_that_callers_set_are_gathered(tmp_path: Path) -> None:
    """After initializing, setting parameters, and loading."""
    for name, percent in (("ahead", 50), ("later", 0)):
        executable = cs336.compile(program(2), ranks=2, distribute="zero1", dtype="bf16", pipeline=pipeline(percent))
        executable.save(tmp_path / f"{name}.cs336x")
    for rank, inputs in enumerate(split_batch(batch(), 2)):
        np.savez(tmp_path / f"in-{rank}.npz", **inputs)
    done = launch(tmp_path, 2, SEQUENCE.replace("FOLDER", str(tmp_path)))
    assert done.returncode == 0, done.stderr

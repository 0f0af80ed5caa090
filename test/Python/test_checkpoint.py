"""Recomputed layers need less memory and give the same numbers."""

from __future__ import annotations

import cs336
import numpy as np
import pytest
import reference
from comparison import assert_close
from compiled_model import optimizer, transformer_config
from device import DEVICE, compile_program, open_session
from planned_ir import Entry, read_entries

CONFIG = reference.Config(61, 19, 48, 4, 3, 80, batch_size=2)
RECOMPUTATIONS = (
    "checkpoint=1",
    "checkpoint=3",
    "recompute-pointwise=1",
    "checkpoint=2 recompute-pointwise=1",
    # Element-wise operations of two layers; all GEMMs of one layer and some of the others; everything.
    "selective-checkpoint=0.05",
    "selective-checkpoint=0.6",
    "selective-checkpoint=1",
)
MODES = {
    "unfused": {"fusion": "none"},
    "unfused bf16": {"fusion": "none", "dtype": "bf16"},
    "softmax": {"fusion": "softmax"},
    "all": {},
    "all bf16": {"dtype": "bf16"},
}


def run_step(mode: str, **options: object) -> dict[str, np.ndarray]:
    """Return all outputs of a step, and all variables after it."""
    rng = np.random.default_rng(7)
    p = reference.random_parameters(CONFIG, rng)
    tokens, targets = reference.random_batch(CONFIG, rng)
    module = cs336.build(transformer_config(CONFIG), mode, optimizer=optimizer(reference.Optimizer(max_norm=0.1)))
    executable = compile_program(module, **options)
    session = open_session(executable)
    session.initialize(0)
    session.set_parameters(p)
    outputs = session.run(mode, {"tokens": tokens, "targets": targets})
    return {**outputs, **{f"after {name}": session[name] for name in executable.variables}}


@pytest.mark.parametrize("options", MODES.values(), ids=MODES)
@pytest.mark.parametrize("mode", ["forward_backward", "train"])
def test_numbers_are_the_same(mode: str, options: dict[str, str]) -> None:
    """Bits agree, except in fused programs on GPUs.

    There a recomputed value shares its kernel with other operations, and the kernel determines the order of a sum.
    """
    is_exact = DEVICE == "cpu" or options.get("fusion") == "none"
    kept = run_step(mode, **options)
    assert np.all(np.isfinite(kept["loss"]))
    for recomputation in RECOMPUTATIONS:
        recomputed = run_step(mode, pipeline=recomputation, **options)
        assert set(recomputed) == set(kept)
        for name, value in kept.items():
            if is_exact:
                assert np.array_equal(recomputed[name], value), f"{name} with {recomputation}"
            else:
                tolerance = 5e-2 if "dtype" in options else 1e-4
                assert_close(recomputed[name], value, tolerance, f"{name} with {recomputation}")


def plan(every: int, num_layers: int, fusion: str = "none") -> Entry:
    """Return a model whose activations are most of its memory."""
    config = cs336.TransformerConfig(
        vocab_size=97, context_length=128, d_model=64, num_layers=num_layers, num_heads=4, d_ff=176, batch_size=4
    )
    module = cs336.build(config, "forward_backward")
    pipeline = f"cs336-pipeline{{checkpoint={every} recompute-pointwise=0 fusion={fusion}}}"
    return read_entries(str(module.run_passes(pipeline)))["forward_backward"]


@pytest.mark.parametrize(("fusion", "activations", "overhead"), [("none", 20, 1.0), ("all", 15, 1.02)])
def test_memory_shrinks_as_the_blocks_say(fusion: str, activations: int, overhead: float) -> None:
    """Compare all activations of L layers with those of one layer and L inputs, or of k layers and L/k inputs.

    All layers as one checkpoint keep as much as without checkpoints, and in fused programs the little that kernels must
    not share across the end of the checkpoint.
    """
    entries = {every: plan(every, 8, fusion) for every in (0, 1, 2, 4, 8)}
    live = {every: entry.largest_live_set() for every, entry in entries.items()}
    assert live[1] < live[2] < live[4] < live[8] <= overhead * live[0]
    assert live[1] < 0.3 * live[0]
    for every, entry in entries.items():
        assert live[every] <= entry.arena_bytes <= 1.1 * live[every]

    # One more layer costs all of its activations, or only its input.
    layer_input = 4 * 4 * 128 * 64
    more = plan(0, 9, fusion).largest_live_set() - live[0]
    more_recomputed = plan(1, 9, fusion).largest_live_set() - live[1]
    parameters = 4 * (4 * 64 * 64 + 3 * 64 * 176 + 2 * 64)
    assert more > activations * layer_input
    assert more_recomputed <= layer_input + parameters


def test_what_is_live_together_does_not_overlap() -> None:
    for every in (1, 3):
        allocations = sorted(plan(every, 4).allocations.values(), key=lambda allocation: allocation.offset)
        for index, allocation in enumerate(allocations):
            for other in allocations[index + 1 :]:
                if other.offset >= allocation.end:
                    break
                assert not allocation.is_live_with(other), f"{allocation.name} and {other.name} overlap"


def test_programs_without_layers_compile_as_they_are() -> None:
    text = """
    func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<f32> {
      %z = cs336.mul %x, %y : tensor<4x8xf32>
      %e = cs336.exp %z : tensor<4x8xf32>
      %loss = cs336.reduce sum %e axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
      return %loss : tensor<f32>
    }"""
    parsed = cs336.parse(text)
    pipeline = "cs336-pipeline{{mode=forward_backward checkpoint={}}}"
    assert str(parsed.run_passes(pipeline.format(1))) == str(parsed.run_passes(pipeline.format(0)))


@pytest.mark.parametrize("every", ["-1", "one"])
def test_what_is_no_number_of_layers_is_refused(every: str) -> None:
    module = cs336.build(transformer_config(CONFIG), "forward_backward")
    with pytest.raises(ValueError, match="checkpoint"):
        cs336.compile(module, f"checkpoint={every}")

"""The memory plan, checked by an independent reader of the printed IR."""

from __future__ import annotations

import re
from functools import cache

import cs336
import pytest
from planned_ir import Entry, read_entries

PIPELINE = "cs336-pipeline"


@cache
def entries(size: str, mode: str) -> dict[str, Entry]:
    config = cs336.TransformerConfig.named(size, context_length=256)
    return read_entries(str(cs336.build(config, mode).run_passes(PIPELINE)))


@pytest.mark.parametrize("mode", ["forward", "train"])
def test_arena_is_within_a_tenth_of_the_largest_live_set(mode: str) -> None:
    entry = entries("small", mode)[mode]
    live = entry.largest_live_set()
    assert len(entry.commands) > 100
    assert live > 30 << 20
    assert live <= entry.arena_bytes <= 1.10 * live, f"{entry.arena_bytes / live:.3f} of {live} bytes"


@pytest.mark.parametrize("size", ["tiny", "small"])
@pytest.mark.parametrize("mode", ["forward", "forward_backward", "train"])
def test_what_is_live_together_does_not_overlap(size: str, mode: str) -> None:
    for entry in entries(size, mode).values():
        allocations = sorted(entry.allocations.values(), key=lambda allocation: allocation.offset)
        for index, allocation in enumerate(allocations):
            assert allocation.first is not None, f"{entry.name}: {allocation.name} is never used"
            assert allocation.end <= entry.arena_bytes
            assert allocation.offset % 64 == 0
            for other in allocations[index + 1 :]:
                if other.offset >= allocation.end:
                    break
                assert not allocation.is_live_with(other), f"{entry.name}: {allocation.name} and {other.name} overlap"


def test_gradients_lie_where_activations_were() -> None:
    """The backward pass frees activations while it writes gradients: both fit into less than their sum."""
    entry = entries("small", "forward_backward")["forward_backward"]
    outputs = [allocation for name, allocation in entry.allocations.items() if name in entry.outputs]
    others = [allocation for name, allocation in entry.allocations.items() if name not in entry.outputs]
    gradients = sum(allocation.size for allocation in outputs)
    alone = Entry("", 0, {allocation.name: allocation for allocation in others}, entry.commands).largest_live_set()
    assert gradients > 400 << 20
    assert alone > 400 << 20
    assert entry.arena_bytes < 0.75 * (gradients + alone)


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_the_gradient_of_logits_takes_their_place(dtype: str, target: str) -> None:
    config = cs336.TransformerConfig(32, 64, 1, 2, vocab_size=997, context_length=8, batch_size=2)
    text = str(cs336.build(config, "train").run_passes(f"{PIPELINE}{{dtype={dtype} target={target} fusion=all}}"))
    train = text[text.index("exec.entry @train") :]
    train = train[: train.index("exec.entry", 1)] if "exec.entry" in train[1:] else train
    losses = re.findall(r"exec\.launch @\S+ ins\((%\S+), %targets : memref<2x8x997.*outs\((.*) : ", train)
    assert len(losses) == 1
    logits, outs = losses[0]
    assert logits in outs.split(", ")


def test_the_reader_finds_an_overlap() -> None:
    """The check above can fail."""
    text = """
      exec.entry @forward mode<forward> arena_bytes = 64 alignment = 64 {
        %a = exec.alloc offset = 0 : memref<4xf32>
        %b = exec.alloc offset = 0 : memref<4xf32>
        %y = exec.output "y" gradient offset = 16 {views = [#cs336.view<"u", 4>]} : memref<4xf32>
        %v = exec.view %a : memref<4xf32> to memref<2x2xf32>
        exec.launch @k outs(%a : memref<4xf32>)
        exec.launch @k outs(%y : memref<4xf32>)
        exec.launch @k outs(%b : memref<4xf32>)
        exec.launch @k outs(%v : memref<2x2xf32>)
      }
    """
    entry = read_entries(text)["forward"]
    assert entry.allocations["%a"].is_live_with(entry.allocations["%b"])
    assert entry.largest_live_set() == 48
    assert (entry.allocations["%a"].first, entry.allocations["%a"].last) == (0, 3)
    assert (entry.allocations["%y"].first, entry.allocations["%y"].last) == (1, 3)


def test_plan_of_the_executable_agrees_with_the_ir() -> None:
    config = cs336.TransformerConfig.named("tiny", context_length=32)
    module = cs336.build(config, "train")
    executable = cs336.compile(module)
    for name, entry in read_entries(str(module.run_passes(PIPELINE))).items():
        plan = executable.plan(name)
        assert plan.arena_bytes == entry.arena_bytes
        assert plan.commands == len(entry.commands)
        assert plan.parameter_bytes == 4 * config.parameter_count()
        assert (sum(size for _, _, size in plan.largest) > 0) == (entry.arena_bytes > 0)
    session = cs336.Session(executable)
    assert session.allocated_bytes >= executable.plan("train").total_bytes

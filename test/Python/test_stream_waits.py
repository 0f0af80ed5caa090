"""Every wait between the streams of a program for GPUs is necessary.

Each test removes one wait after another from a planned program. The memory plan then rejects the program, because two
commands race. The exception are waits that hold back a gather until the layer before its first use: without them, the
gathered parameters of more layers exist at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import cs336
import pytest
import reference
from compiled_model import optimizer, transformer_config

PLAN = "exec.entry(exec-plan-memory{alignment=256})"


def planned(mode: str) -> str:
    """Return the planned program of one of two ranks whose collectives run on a stream of their own."""
    config = reference.Config(64, 16, 32, 3, 2, 64, batch_size=2)
    module = cs336.build(transformer_config(config), "train", optimizer=optimizer(reference.Optimizer(max_norm=1)))
    options = f"target=cuda world-size=2 distribute={mode} bucket-mib=0.01 dtype=bf16"
    return str(module.run_passes(f"cs336-pipeline{{{options}}}"))


def without_each_wait(text: str) -> Iterator[tuple[str, str]]:
    """Yield each wait, with the command after it, and the program that lacks the wait."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if line.lstrip().startswith("exec.wait"):
            yield "\n".join(lines[index : index + 2]), "\n".join(lines[:index] + lines[index + 1 :])


def arena_bytes(text: str) -> int:
    """Return the bytes of all entries' arenas together."""
    return sum(int(size) for size in re.findall(r"^ *exec\.entry @.* arena_bytes = (\d+)", text, re.MULTILINE))


@pytest.mark.parametrize("mode", ["overlap", "bucket", "zero1", "fsdp"])
def test_no_wait_can_be_removed(mode: str) -> None:
    text = planned(mode)
    assert arena_bytes(str(cs336.parse(text).run_passes(PLAN))) == arena_bytes(text), "the plan itself is accepted"
    rejected = 0
    for wait, changed in without_each_wait(text):
        try:
            replanned = str(cs336.parse(changed).run_passes(PLAN))
        except ValueError as error:
            assert "may still be using" in str(error), wait
            rejected += 1
        else:
            assert "exec.collective all_gather" in wait, f"redundant: {wait}"
            assert arena_bytes(replanned) >= arena_bytes(text), wait
    assert rejected > 0

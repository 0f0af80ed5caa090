"""Compile time grows with depth only if it must, and large models are planned in little time and memory."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cs336
import pytest

# VmHWM is the peak of this program alone. ru_maxrss also counts the parent's peak, which fork() shares until exec().
PLAN = r"""
import json, re, sys, time
import cs336
begin = time.perf_counter()
config = cs336.TransformerConfig.named(sys.argv[1])
module = cs336.build(config, "train").run_passes("cs336-pipeline")
seconds = time.perf_counter() - begin
peak = int(re.search(r"VmHWM:\s*(\d+) kB", open("/proc/self/status").read())[1])
print(json.dumps({"seconds": seconds, "peak_kib": peak, "parameters": config.parameter_count()}))
"""


def kernels(num_layers: int) -> set[str]:
    config = cs336.TransformerConfig(64, 96, num_layers, 2, vocab_size=50, context_length=16, batch_size=2)
    text = str(cs336.build(config, "train").run_passes("cs336-pipeline"))
    return set(re.findall(r"exec\.kernel @(\S+?)\(", text))


def test_layers_share_kernels() -> None:
    two, twelve = kernels(2), kernels(12)
    assert two
    assert two == twelve


def chain(length: int) -> cs336.Module:
    """Return a chain of `length` pointwise operations."""
    lines = [f"%{i} = cs336.tanh {f'%{i - 1}' if i else '%x'} : tensor<64xf32>" for i in range(length)]
    return cs336.parse(
        "func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
        + "\n".join(lines)
        + f"\nreturn %{length - 1} : tensor<64xf32>\n}}"
    )


@pytest.mark.parametrize("length", [128, 130, 2000])
def test_long_chains_become_kernels_of_bounded_length(length: int) -> None:
    """A compiler takes more than twice as long for a kernel of twice the length."""
    fused = str(chain(length).run_passes("func.func(cs336-fuse-elementwise)"))
    groups = [text.count("cs336.tanh") for text in fused.split("cs336.fused")[1:]]
    assert sum(groups) == length
    assert max(groups) == 128
    assert len(groups) == -(-length // 128)
    # All full groups share one kernel.
    planned = str(chain(length).run_passes("cs336-pipeline"))
    assert planned.count("exec.kernel @") == (1 if length == 128 else 2)


def test_long_chains_of_tables_are_hoisted() -> None:
    """Computing @prepare in any number of steps needs no stack of that depth."""
    length = 50_000
    lines = [f"%{i} = cs336.tanh {f'%{i - 1}' if i else '%x'} : tensor<4xf32>" for i in range(length)]
    text = "\n".join(["%x = cs336.iota axis = 0 : tensor<4xf32>", *lines])
    module = cs336.parse(f"func.func @f() -> tensor<4xf32> {{\n{text}\nreturn %{length - 1} : tensor<4xf32>\n}}")
    hoisted = str(module.run_passes("cs336-name-ports,cs336-hoist-invariants"))
    prepare = hoisted.split("func.func @prepare")[1]
    assert prepare.count("cs336.tanh") == length


def steps(length: int, first: str, *operations: str) -> list[str]:
    """Return lines that apply the operations in turn, each to the previous result; the last result is ``%last``."""
    names = [first, *(f"%{i}" for i in range(length - 1)), "%last"]
    pairs = zip(itertools.pairwise(names), itertools.cycle(operations), strict=False)
    return [f"{result} = cs336.{operation.format(operand)}" for (operand, result), operation in pairs]


# Longer than a thread's stack allows if a function recurses for each.
DEEP = 100_000
BROADCAST = "broadcast {} dims = [0, 1] : tensor<8x8xf32> -> tensor<8x8xf32>"


def test_long_chains_are_computed_again() -> None:
    lines = [
        "%y = cs336.matmul %x, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>",
        *steps(DEEP, "%y", "tanh {} : tensor<8x8xf32>"),
        "%loss = cs336.reduce sum %last axes = [0, 1] : tensor<8x8xf32> -> tensor<f32>",
    ]
    ports = [f'%{name}: tensor<8x8xf32> {{cs336.kind = "parameter", cs336.name = "{name}"}}' for name in "xw"]
    module = cs336.parse(
        f'func.func @f({", ".join(ports)}) -> (tensor<f32> {{cs336.kind = "output", cs336.name = "loss"}}) '
        "attributes {cs336.mode = #cs336.mode<forward_backward>} {\n"
        + "\n".join(lines)
        + "\nreturn %loss : tensor<f32>\n}"
    )
    passes = "cs336-differentiate,cs336-recompute-pointwise{min-bytes=0}"
    text = str(module.run_passes(f"func.func({passes})"))
    # The first is behind a barrier; each but the last is computed from the previous one.
    assert text.count("cs336.barrier") == 1
    assert 2 * DEEP - 1 <= text.count("cs336.tanh") <= 2 * DEEP


@pytest.mark.parametrize(
    "lines",
    [
        [
            "%y = cs336.tanh %x : tensor<8x8xf32>",
            *steps(
                DEEP,
                "%y",
                "reshape {} : tensor<8x8xf32> -> tensor<64xf32>",
                "reshape {} : tensor<64xf32> -> tensor<8x8xf32>",
            ),
        ],
        ["%y = cs336.iota axis = 0 : tensor<8x8xf32>", *steps(DEEP, "%y", BROADCAST)],
    ],
    ids=["layouts", "indices"],
)
@pytest.mark.parametrize(
    "passes", ["func.func(cs336-move-layouts,cs336-fuse-elementwise)", "cs336-name-ports,cs336-hoist-invariants"]
)
def test_long_chains_without_arithmetic(lines: list[str], passes: str) -> None:
    # With two uses, %y stays before the chain.
    sums = ["%end = cs336.add %last, %y : tensor<8x8xf32>", "%z = cs336.add %end, %x : tensor<8x8xf32>"]
    text = "\n".join([*lines, *sums, "return %z : tensor<8x8xf32>"])
    module = cs336.parse(f"func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {{\n{text}\n}}")
    assert "cs336.add" in str(module.run_passes(passes))


WIDEN = "%y = cs336.cast %x : tensor<8x8xbf16> -> tensor<8x8xf32>"
FLATTEN = "reshape {} : tensor<8x8xf32> -> tensor<64xf32>"


@pytest.mark.parametrize(
    "lines",
    [
        [WIDEN, *steps(DEEP, "%y", "tanh {} : tensor<8x8xf32>"), f"%flat = cs336.{FLATTEN.format('%last')}"],
        [
            WIDEN,
            *steps(DEEP, "%y", FLATTEN, "reshape {} : tensor<64xf32> -> tensor<8x8xf32>"),
            f"%flat = cs336.{FLATTEN.format('%last')}",
        ],
    ],
    ids=["arithmetic", "layouts"],
)
def test_layouts_move_past_long_chains(lines: list[str]) -> None:
    text = "\n".join([*lines, "%z = cs336.exp %flat : tensor<64xf32>", "return %z : tensor<64xf32>"])
    module = cs336.parse(f"func.func @f(%x: tensor<8x8xbf16>) -> tensor<64xf32> {{\n{text}\n}}")
    moved = str(module.run_passes("func.func(cs336-move-layouts)")).splitlines()
    layouts = [i for i, line in enumerate(moved) if "cs336.reshape" in line]
    arithmetic = [i for i, line in enumerate(moved) if "cs336.cast" in line or "cs336.tanh" in line]
    assert layouts
    assert max(layouts) < min(arithmetic)


def test_many_layouts_of_one_value_move() -> None:
    """Each of the readers of a conversion looks at another part of it."""
    size = 30_000
    parts = [
        f"%p{i} = cs336.slice %y offsets = [{i}] : tensor<{size}xf32> -> tensor<1xf32>\n"
        f"%e{i} = cs336.exp %p{i} : tensor<1xf32>"
        for i in range(size)
    ]
    text, types = "\n".join(parts), ", ".join(["tensor<1xf32>"] * size)
    module = cs336.parse(
        f"func.func @f(%x: tensor<{size}xbf16>) -> ({types}) {{\n"
        f"%y = cs336.cast %x : tensor<{size}xbf16> -> tensor<{size}xf32>\n{text}\n"
        f"return {', '.join(f'%e{i}' for i in range(size))} : {types}\n}}"
    )
    moved = str(module.run_passes("func.func(cs336-move-layouts)"))
    assert moved.count("tensor<1xbf16> -> tensor<1xf32>") == size


def attention(mask: list[str]) -> cs336.Module:
    """Attention whose mask is ``%last``."""
    lines = [
        *mask,
        "%s = cs336.matmul %q, %k {transpose_b} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>",
        "%hidden = cs336.constant dense<0xFF800000> : tensor<8x8xf32>",
        "%masked = cs336.select %last, %s, %hidden : tensor<8x8xf32>",
        "%p = cs336.softmax %masked : tensor<8x8xf32>",
        "%o = cs336.matmul %p, %v : tensor<8x8xf32>, tensor<8x4xf32> -> tensor<8x4xf32>",
    ]
    text = "\n".join(lines)
    ports = "%q: tensor<8x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x4xf32>"
    return cs336.parse(f"func.func @f({ports}) -> tensor<8x4xf32> {{\n{text}\nreturn %o : tensor<8x4xf32>\n}}")


INDICES = [
    "%zero = cs336.constant dense<0> : tensor<8x8xi32>",
    "%i = cs336.iota axis = 0 : tensor<8x8xi32>",
    "%j = cs336.iota axis = 1 : tensor<8x8xi32>",
]
CAUSAL = [*INDICES, "%y = cs336.compare ge %i, %j : tensor<8x8xi32>"]
COMPARE = "%last = cs336.compare ge %end, %j : tensor<8x8xi32>"


@pytest.mark.parametrize(
    "mask",
    [
        # Each value is used two or three times: 2^64 or 3^64 paths lead through the mask.
        [*CAUSAL, *steps(64, "%y", "select {0}, {0}, {0} : tensor<8x8xi1>")],
        [*INDICES, *steps(64, "%i", "sub {0}, {0} : tensor<8x8xi32>")],
        [*CAUSAL, *steps(DEEP, "%y", "transpose {} perm = [1, 0] : tensor<8x8xi1> -> tensor<8x8xi1>")],
        [*INDICES, *steps(DEEP, "%i", "sub {}, %zero : tensor<8x8xi32>")],
    ],
    ids=["selects", "differences", "layouts", "numbers"],
)
def test_masks_of_many_operations(mask: list[str]) -> None:
    if "i32" in mask[-1]:
        mask = [line.replace("%last", "%end") for line in mask] + [COMPARE]
    text = str(attention(mask).run_passes("func.func(cs336-fuse-softmax,cs336-flash-attention)"))
    assert "cs336.softmax" in text or "cs336.attention" in text


def test_long_sums_of_pads_stay() -> None:
    """At most as many pads as the result has rows can be side by side in it."""
    length = 20_000
    lines = [f"%{i} = cs336.add {f'%{i - 1}' if i else '%p'}, %p : tensor<8xf32>" for i in range(length)]
    text = "\n".join(["%p = cs336.pad %x offsets = [0] : tensor<1xf32> -> tensor<8xf32>", *lines])
    module = cs336.parse(
        f"func.func @f(%x: tensor<1xf32>) -> tensor<8xf32> {{\n{text}\nreturn %{length - 1} : tensor<8xf32>\n}}"
    )
    assert str(module.run_passes("func.func(canonicalize)")).count("cs336.add") == length


@pytest.mark.parametrize(
    ("size", "parameters"), [("small", 128_625_408), ("2.7B", 3_406_809_600)], ids=["small", "2.7B"]
)
def test_planning_a_training_step_is_small(size: str, parameters: int, record_property) -> None:
    """Time is recorded (the targets are 0.5 s and 3 s on an idle machine), memory is asserted."""
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", PLAN, size], capture_output=True, text=True, check=True, env=environment
    )
    result = json.loads(done.stdout)
    record_property("seconds", result["seconds"])
    record_property("peak_mib", result["peak_kib"] >> 10)
    print(f"{size}: {result['seconds']:.2f} s, {result['peak_kib'] >> 10} MiB")
    assert result["parameters"] == parameters
    assert result["peak_kib"] < 1 << 20
    assert result["seconds"] < 60

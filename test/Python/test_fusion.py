"""Fused programs compute the same as unfused ones: models and random graphs, on the CPU and as generated CUDA text."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from comparison import assert_close
from compiled_model import optimizer, transformer_config
from cuda_on_host import run_opt
from cuda_on_host.entries import HostProgram
from device import compile_program, open_session
from golden_file import Golden
from numpy.typing import NDArray
from random_graphs import random_program
from test_random_graphs import DTYPES, TOLERANCES, check, check_graphs

# The level that is tested on random graphs, which contain nothing for higher levels.
FUSION = "elementwise"
LEVELS = ["elementwise", "softmax", "flash", "all"]
GRAPHS = range(1000, 1080)
GRAPHS_PER_MODULE = 40
# Graphs whose kernels also run as text, which takes a C++ compiler seconds. The last one has a GEMM with an activation.
TEXT_GRAPHS = [*range(1200, 1216), 9064]


def run_model(
    config: reference.Config,
    parameters: reference.Parameters,
    inputs: dict[str, NDArray[Any]],
    mode: str,
    entry: str,
    **options: Any,
) -> dict[str, NDArray[Any]]:
    """Return outputs of an entry of the Transformer."""
    module = cs336.build(transformer_config(config), mode, "f32", None)
    session = open_session(compile_program(module, **options))
    session.initialize(0)
    session.set_parameters(parameters)
    return session.run(entry, inputs)


@pytest.mark.parametrize("fusion", LEVELS)
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_fused_model_matches_unfused_and_golden(golden: Golden, heads: int, fusion: str) -> None:
    config = dataclasses.replace(golden.config, num_heads=heads)
    inputs = {"tokens": golden.tokens, "targets": golden.targets}
    fused, plain = (
        run_model(config, golden.parameters, inputs, "forward_backward", "forward_backward", fusion=level)
        for level in (fusion, "none")
    )
    assert set(fused) == set(plain)
    assert_close(fused["loss"], plain["loss"], 1e-5, "loss")
    for name, value in plain.items():
        assert_close(fused[name], value, 1e-4, name)
    if heads != golden.config.num_heads:
        return
    assert_close(fused["loss"], golden.losses[0], 1e-5, "loss")
    for name, gradient in golden.gradients.items():
        assert_close(fused[name], gradient, 1e-4, name)


@pytest.mark.parametrize("fusion", LEVELS)
def test_fused_logits_match_unfused_and_golden(golden: Golden, fusion: str) -> None:
    fused, plain = (
        run_model(golden.config, golden.parameters, {"tokens": golden.tokens}, "forward", "forward", fusion=level)
        for level in (fusion, "none")
    )
    assert_close(fused["logits"], plain["logits"], 1e-5, "logits")
    assert_close(fused["logits"], golden.logits, 1e-5, "logits")


@pytest.mark.parametrize("fusion", ["none", *LEVELS])
def test_rows_wider_than_a_stack(fusion: str) -> None:
    """Large vocabularies: the values that a fused kernel keeps of a row still have room."""
    rows, columns = 3, 140001
    wide, row = f"tensor<{rows}x{columns}xf32>", f"tensor<{columns}xf32>"
    text = f"""
    func.func @f(%x: {wide} {{cs336.kind = "input", cs336.name = "x"}},
                 %w: {row} {{cs336.kind = "input", cs336.name = "w"}},
                 %b: {row} {{cs336.kind = "input", cs336.name = "b"}})
        -> ({wide} {{cs336.kind = "output", cs336.name = "y"}}) attributes {{cs336.mode = #cs336.mode<forward>}} {{
      %n = cs336.layer_norm %x, %w, %b eps = 1.0e-5 : {wide}, {row}
      %s = cs336.silu %n : {wide}
      %y = cs336.softmax %s : {wide}
      return %y : {wide}
    }}"""
    rng = np.random.default_rng(7)
    x, w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, columns), columns, columns))
    session = open_session(compile_program(text, fusion=fusion))
    y = session.run("f", {"x": x, "w": w, "b": b})["y"]

    x64 = x.astype(np.float64)
    normalized = (x64 - x64.mean(-1, keepdims=True)) / np.sqrt(x64.var(-1, keepdims=True) + 1e-5) * w + b
    scores = normalized / (1 + np.exp(-normalized))
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    assert_close(y, exponentials / exponentials.sum(-1, keepdims=True), 1e-5, "y")


@pytest.mark.parametrize("fusion", LEVELS)
def test_fused_training_matches_golden(golden: Golden, fusion: str) -> None:
    module = cs336.build(transformer_config(golden.config), "train", "f32", optimizer(golden.optimizer))
    session = open_session(compile_program(module, fusion=fusion))
    session.initialize(0)
    session.set_parameters(golden.parameters)
    for expected in golden.losses:
        loss = session.run("train", {"tokens": golden.tokens, "targets": golden.targets})["loss"]
        assert_close(loss, expected, 1e-5, "loss")
    for name, value in golden.after.items():
        assert_close(session[name], value, 1e-4, name)


def test_fused_bfloat16_is_as_far_from_float64_as_unfused(golden: Golden) -> None:
    """The same operations round at the same points, so the distance to exact gradients does not change."""
    exact = golden.float64_parameters()
    _, expected = reference.loss_and_gradients(exact, golden.tokens, golden.targets, golden.config)
    inputs = {"tokens": golden.tokens, "targets": golden.targets}

    def distance(fusion: str) -> float:
        outputs = run_model(
            golden.config,
            golden.parameters,
            inputs,
            "forward_backward",
            "forward_backward",
            fusion=fusion,
            dtype="bf16",
        )
        squares = sum(float(np.sum((outputs[name].astype(np.float64) - g) ** 2)) for name, g in expected.items())
        return float(np.sqrt(squares / sum(float(np.sum(g**2)) for g in expected.values())))

    fused, plain = distance(FUSION), distance("none")
    assert 0 < fused <= 1.1 * plain + 1e-6, (fused, plain)


@pytest.mark.parametrize("first", range(GRAPHS.start, GRAPHS.stop, GRAPHS_PER_MODULE))
def test_fused_random_graphs_match_numpy(first: int) -> None:
    check_graphs(range(first, first + GRAPHS_PER_MODULE), fusion=FUSION)


def test_a_second_run_changes_nothing() -> None:
    programs = (random_program(f"g{seed}", seed, DTYPES[seed % len(DTYPES)]) for seed in range(2000, 2040))
    text = "\n".join(program.text("forward_backward") for program in programs)
    passes = ("--cs336-decompose", "--canonicalize", "--cse", "--cs336-differentiate", "--canonicalize", "--cse")
    fusion = ("--cs336-move-layouts", "--cs336-fuse-elementwise")
    once = run_opt(text, *passes, *fusion)
    assert "cs336.fused" in once
    assert run_opt(once, *fusion) == once


def test_generated_text_of_fused_random_graphs_matches_numpy(tmp_path: pathlib.Path) -> None:
    programs = {seed: random_program(f"g{seed}", seed, "f32") for seed in TEXT_GRAPHS}
    text = "\n".join(program.text("forward_backward") for program in programs.values())
    options = f"mode=forward_backward fusion={FUSION} hoist-invariants=false"
    host = HostProgram(run_opt(text, f"--cs336-pipeline={options}", "--mlir-print-debuginfo=false"), tmp_path)
    for program in programs.values():
        outputs = host.run(program.name, program.inputs, program.parameters)
        expected = {name: value.array for name, value in program.outputs} | program.gradients()
        for name, value in expected.items():
            check(name, outputs[name], value, TOLERANCES["f32"], program)

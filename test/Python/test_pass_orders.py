"""Passes alone, in order, without each other, and in other orders: all verify, and compute the same.

A test enables the passes that it names, and no other optional pass. The reference is the program without any.

Bounds: sums are added in other orders, in float32. With autocast, values are rounded at other points, to 8 bits in bf16
or to 11 in fp16: fp16's unit roundoff is an eighth of bf16's, and so are its bounds. Matmuls in tf32 round their
operands to 11 bits on a GPU; on the CPU they are computed in float32.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

import cs336
import numpy as np
import pytest
import reference
from comparison import assert_close, assert_gradients_close
from compiled_model import transformer_config
from device import DEVICE, compile_program, open_session
from pass_pipelines import CLEANUP, NO_OTHERS, flags_of, pass_names, rounds, run_passes

CONFIG = reference.Config(31, 8, 16, 2, 2, 24, batch_size=2)
# AdamW's first steps have the size of the learning rate even if a gradient is only rounding error: an epsilon above the
# rounding of most gradients, and below most gradients, keeps such elements in place.
NUMBERS = reference.Optimizer(lr=1e-2, max_norm=1.0, eps=1e-4)
LEVELS = ["elementwise", "softmax", "flash", "all"]
DTYPES = ["fp32", "tf32", "bf16", "fp16"]
# Bounds of logits, the loss and the norm of gradients; bounds of gradients and parameters.
FP32, BF16, FP16 = (1e-5, 1e-4), (2e-2, 6e-2), (2e-2 / 8, 6e-2 / 8)
BOUNDS = {"fp32": FP32, "tf32": FP32 if DEVICE == "cpu" else FP16, "bf16": BF16, "fp16": FP16}
NAMES = pass_names()
Outputs = dict[str, np.ndarray]


@cache
def program(mode: str) -> str:
    """Return the model as the frontend writes it."""
    module = cs336.build(transformer_config(CONFIG), mode, optimizer=cs336.Optimizer(**asdict(NUMBERS)))
    return module.text()


def run(text: str, mode: str, dtype: str = "fp32", fusion: str = "none", pipeline: str = NO_OTHERS) -> Outputs:
    """Return outputs of a step and, in training, the parameters after two steps."""
    executable = compile_program(cs336.parse(text), dtype=dtype, fusion=fusion, pipeline=pipeline)
    session = open_session(executable)
    session.initialize(0)
    session.set_parameters(reference.random_parameters(CONFIG, np.random.default_rng(1)))
    tokens, targets = reference.random_batch(CONFIG, np.random.default_rng(2))
    inputs = {"tokens": tokens, "targets": targets}
    outputs = session.run(mode, {name: inputs[name] for name in executable.inputs(mode)})
    if mode == "train":
        session.run(mode, inputs)
        outputs |= session.parameters()
    return {name: np.array(value, np.float64) for name, value in outputs.items()}


@cache
def unfused(mode: str, dtype: str = "fp32") -> Outputs:
    return run(program(mode), mode, dtype=dtype)


def check(outputs: Outputs, expected: Outputs, values: float, gradients: float) -> None:
    """Check scalars and logits within `values`, gradients and parameters within `gradients`."""
    assert set(outputs) == set(expected)
    for name in ("loss", "logits", "grad_norm"):
        if name in expected:
            assert_close(outputs[name], expected[name], values, name)
    arrays = [name for name in expected if name not in ("loss", "logits", "grad_norm")]
    assert_gradients_close({n: outputs[n] for n in arrays}, {n: expected[n] for n in arrays}, gradients)


def check_in(dtype: str, outputs: Outputs, mode: str) -> None:
    check(outputs, unfused(mode, dtype), *BOUNDS[dtype])


@pytest.mark.parametrize("mode", ["forward", "forward_backward", "train"])
@pytest.mark.parametrize("name", NAMES)
def test_each_pass_alone(name: str, mode: str) -> None:
    flags = flags_of(name)
    if "--cs336-differentiate" in flags and mode == "forward":
        pytest.skip("there is nothing to differentiate")
    check_in("bf16" if rounds(name) else "fp32", run(run_passes(program(mode), *flags), mode), mode)


@pytest.mark.parametrize("name", NAMES)
def test_a_second_run_changes_nothing(name: str) -> None:
    once = run_passes(program("train"), *flags_of(name))
    assert run_passes(once, f"--{name}") == run_passes(once)


@pytest.mark.parametrize("mode", ["forward", "forward_backward", "train"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fusion", LEVELS)
def test_levels_in_order(fusion: str, dtype: str, mode: str) -> None:
    check_in(dtype, run(program(mode), mode, dtype, fusion, pipeline=""), mode)


@pytest.mark.parametrize("pipeline", ["merge-gemms=false", "hoist-invariants=false"])
@pytest.mark.parametrize("fusion", ["none", *LEVELS])
def test_levels_without_other_passes(fusion: str, pipeline: str) -> None:
    outputs = run(program("forward_backward"), "forward_backward", "fp32", fusion, pipeline)
    check_in("fp32", outputs, "forward_backward")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["cs336-fuse-softmax", "cs336-flash-attention"])
def test_one_recognition_without_the_others(name: str, dtype: str) -> None:
    """Softmax without elementwise, flash without softmax, each with and without autocast after it."""
    if name not in NAMES:
        pytest.skip("there is no such pass yet")
    text = run_passes(program("forward_backward"), f"--{name}")
    assert text != run_passes(program("forward_backward"))
    check_in(dtype, run(text, "forward_backward", dtype), "forward_backward")


@pytest.mark.parametrize("fusion", ["none", *LEVELS])
def test_decompose_then_everything(fusion: str) -> None:
    text = run_passes(program("train"), "--cs336-decompose", *CLEANUP)
    check_in("fp32", run(text, "train", "fp32", fusion, pipeline=""), "train")


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("fusion", ["none", *LEVELS])
def test_autocast_before_everything(fusion: str, dtype: str) -> None:
    """The order of a user's own pipeline; recognition then sees casts between the primitives."""
    text = run_passes(program("forward_backward"), f"--cs336-autocast=dtype={dtype}")
    check_in(dtype, run(text, "forward_backward", "fp32", fusion, pipeline=""), "forward_backward")


BIASED = """
func.func @forward(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %bias: tensor<2x4x6xf32>,
                   %residual: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %0 = cs336.matmul %q, %k {transpose_b} : tensor<2x4x8xf32>, tensor<2x6x8xf32> -> tensor<2x4x6xf32>
  %1 = cs336.add %0, %bias : tensor<2x4x6xf32>
  %2 = cs336.softmax %1 : tensor<2x4x6xf32>
  %3 = cs336.matmul %2, %v : tensor<2x4x6xf32>, tensor<2x6x8xf32> -> tensor<2x4x8xf32>
  %4 = cs336.add %3, %residual : tensor<2x4x8xf32>
  %5 = cs336.matmul %q, %k {transpose_b} : tensor<2x4x8xf32>, tensor<2x6x8xf32> -> tensor<2x4x6xf32>
  %6 = cs336.softmax %5 : tensor<2x4x6xf32>
  %7 = cs336.matmul %6, %v : tensor<2x4x6xf32>, tensor<2x6x8xf32> -> tensor<2x4x8xf32>
  %8 = cs336.relu %7 : tensor<2x4x8xf32>
  return %4, %8 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}
"""


@pytest.mark.parametrize("more", [[], ["--cs336-fuse-softmax"]])
@pytest.mark.parametrize("fusion", ["none", *LEVELS])
def test_epilogues_before_attention(fusion: str, more: list[str]) -> None:
    """GEMMs that already have epilogues, before attention is recognised."""
    epilogues = run_passes(BIASED, "--cs336-decompose", *CLEANUP, *more, "--cs336-fuse-epilogues")
    assert " add " in epilogues and "relu}" in epilogues

    def compute(text: str, fusion: str) -> Outputs:
        executable = compile_program(text, fusion=fusion)
        generator = np.random.default_rng(5)
        shapes = {name: port.shape for name, port in executable.inputs("forward").items()}
        inputs = {name: generator.standard_normal(shape, np.float32) for name, shape in shapes.items()}
        return open_session(executable).run("forward", inputs)

    expected = compute(BIASED, "none")
    for name, value in compute(run_passes(epilogues, "--cs336-flash-attention"), fusion).items():
        assert_close(value, expected[name], 1e-6, name)


def test_the_reference_is_right() -> None:
    """The reference of all comparisons above agrees with NumPy."""
    parameters = reference.random_parameters(CONFIG, np.random.default_rng(1))
    wide = {name: value.astype(np.float64) for name, value in parameters.items()}
    tokens, targets = reference.random_batch(CONFIG, np.random.default_rng(2))
    loss, gradients = reference.loss_and_gradients(wide, tokens, targets, CONFIG)
    check(unfused("forward_backward"), {"loss": np.array(loss), **gradients}, 1e-5, 1e-4)

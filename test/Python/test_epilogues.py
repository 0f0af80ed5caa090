"""GEMMs with epilogues, compared with the same program without them and with NumPy in float64."""

from __future__ import annotations

import re
from functools import cache

import cs336
import numpy as np
import pytest
from comparison import assert_close
from device import DEVICE, compile_program, open_session
from dialect_program import Array, Program, Value

# By the result's type: float32 sums a few dozen terms; tf32 keeps 10 bits of operands, like fp16; bf16 keeps 7.
TOLERANCES = {"fp32": 2e-6, "tf32": 2e-3, "fp16": 2e-3, "bf16": 2e-2}


def layer(program: Program, x: Value, w: Value, b: Value) -> Value:
    y = program.matmul(x, w, transpose_b=True)
    return program.binary("add", y, program.broadcast(b, [len(y.shape) - 1], y.shape))


def relu(program: Program, x: Value) -> Value:
    zero = program.constant(0.0, x.dtype, x.shape)
    return program.select(program.compare("le", x, zero), zero, x)


@cache
def two_layers(is_biased: bool) -> Program:
    """Linear, ReLU, linear and a residual, of odd sizes; without biases, whose sums autocast keeps separate."""
    rng = np.random.default_rng(11)

    def parameter(*shape: int) -> Value:
        return program.parameter(rng.uniform(-1, 1, shape) / np.sqrt(shape[-1]), "f32")

    program = Program("net")
    x, w1, b1, w2, b2 = parameter(3, 7, 33), parameter(17, 33), parameter(17), parameter(33, 17), parameter(33)
    if is_biased:
        hidden = relu(program, layer(program, x, w1, b1))
        y = program.binary("add", x, layer(program, hidden, w2, b2))
    else:
        y = program.matmul(relu(program, program.matmul(x, w1, transpose_b=True)), w2, transpose_b=True)
    weights = program.constant(np.cos(np.arange(y.array.size)).reshape(y.shape), "f32")
    program.output("y", y)
    program.output("loss", program.reduce("sum", program.binary("mul", y, weights), [0, 1, 2]))
    return program


def run(program: Program, dtype: str, fuses: bool) -> dict[str, Array]:
    pipeline = f"fusion=elementwise dtype={dtype} fuse-epilogues={str(fuses).lower()}"
    session = open_session(compile_program(program.text("forward_backward"), pipeline=pipeline))
    session.initialize(0)
    for name, array in program.parameters.items():
        session[name] = array
    return dict(session.run("net", {}))


@pytest.mark.parametrize("is_biased", [False, True])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_values_and_gradients(dtype: str, is_biased: bool) -> None:
    program = two_layers(is_biased)
    fused, apart = (run(program, dtype, fuses) for fuses in (True, False))
    exact = {name: value.array for name, value in program.outputs} | program.gradients()
    assert set(fused) == set(apart) >= set(exact) - {"loss"}
    for name, expected in exact.items():
        # A sum of terms of both signs is only as exact as its terms.
        scale = 10 if name == "loss" else 1
        assert_close(fused[name], expected, scale * TOLERANCES[dtype], f"{name}, fused")
        assert_close(apart[name], expected, scale * TOLERANCES[dtype], f"{name}, apart")


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU's library may choose other algorithms")
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_relu_rounds_nothing_anew(dtype: str) -> None:
    """ReLU of a rounded sum equals the rounded ReLU of the sum, bitwise."""
    fused, apart = (run(two_layers(False), dtype, fuses) for fuses in (True, False))
    for name, value in fused.items():
        np.testing.assert_array_equal(value, apart[name], err_msg=name)


@pytest.mark.parametrize(
    ("is_biased", "dtype", "epilogues"),
    [(True, "fp32", [" bias relu", " add bias"]), (False, "bf16", [" relu", ""]), (True, "bf16", ["", ""])],
)
def test_gemms_with_epilogues(is_biased: bool, dtype: str, epilogues: list[str]) -> None:
    """Autocast rounds a matmul before a sum, so it keeps sums and a ReLU of them separate."""
    module = cs336.parse(two_layers(is_biased).text("forward"))
    text = str(module.run_passes(f"cs336-pipeline{{fusion=elementwise dtype={dtype}}}"))
    gemms = [line for line in text.splitlines() if "exec.gemm" in line]
    assert len(gemms) == 2
    for gemm, expected in zip(gemms, epilogues, strict=True):
        words = re.findall(r"\b(add|bias)\(", gemm) + ["relu"] * ("{relu" in gemm)
        assert words == expected.split()


def test_nan_stays() -> None:
    program = Program("net")
    x = program.parameter(np.ones((5, 8)), "f32")
    w = program.parameter(np.ones((3, 8)), "f32")
    program.output("y", relu(program, program.matmul(x, w, transpose_b=True)))
    session = open_session(compile_program(program.text("forward"), pipeline="fusion=elementwise"))
    session.initialize(0)
    values = np.ones((5, 8), np.float32)
    values[1, 2], values[2] = np.nan, -1
    session["net.p0"], session["net.p1"] = values, np.ones((3, 8), np.float32)
    expected = np.full((5, 3), 8.0)
    expected[1], expected[2] = np.nan, 0
    np.testing.assert_array_equal(session.run("net", {})["y"], expected)

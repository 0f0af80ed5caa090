"""Attention as one operation: recognised in programs of primitives, equal to NumPy's and to its primitives'."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from attention_program import MOST_WEIGHTS, attend, minus_infinity, split_heads
from comparison import assert_close, assert_gradients_close, relative_error
from compiled_model import transformer_config
from device import DEVICE, compile_program, open_session
from dialect_program import Program
from golden_file import Golden
from numpy.typing import NDArray
from operation_cases import finite_differences

FUSE = "func.func(cs336-flash-attention)"


@dataclass(frozen=True)
class Shape:
    """Shape of one attention; `keys` and `key_heads` default to those of queries."""

    batch: int
    queries: int
    heads: int
    dim: int
    causal: bool = True
    keys: int = 0
    key_heads: int = 0

    def __str__(self) -> str:
        keys = f"x{self.keys}" if self.keys else ""
        groups = f"on{self.key_heads}" if self.key_heads else ""
        return f"{self.batch}x{self.queries}{keys}x{self.heads}{groups}x{self.dim}{'-causal' if self.causal else ''}"

    def program(self, dtype: str = "f32", seed: int = 0, arrays: list[NDArray[Any]] | None = None) -> Program:
        """Return attention between a head split and a merge, its output "y", and "loss", a weighted sum of it."""
        keys, key_heads = self.keys or self.queries, self.key_heads or self.heads
        rng = np.random.default_rng(seed)
        sizes = [(self.batch, self.queries, self.heads), *[(self.batch, keys, key_heads)] * 2]
        if arrays is None:
            # Numbers that are exact in bf16 and f16 too.
            arrays = [np.round(rng.standard_normal((b, s, h * self.dim)) * 32) / 32 for b, s, h in sizes]
        program = Program("attention")
        q, k, v = (
            split_heads(program, program.parameter(array, dtype), heads, self.heads)
            for array, (_, _, heads) in zip(arrays, sizes, strict=True)
        )
        shape = (self.batch, self.heads, self.queries, keys)
        scale = program.constant(self.dim**-0.5, dtype, shape)
        scores = program.binary("mul", program.matmul(q, k, transpose_b=True), scale)
        if self.causal:
            query, key = (program.iota(axis, (self.queries, keys), "i32") for axis in (0, 1))
            visible = program.broadcast(program.compare("ge", query, key), [2, 3], shape)
            scores = program.select(visible, scores, minus_infinity(program, dtype, shape))
        attend(program, scores, v)
        return program


def run(program: Program, **options: Any) -> dict[str, NDArray[Any]]:
    session = open_session(compile_program(program.text("forward_backward"), **options))
    session.initialize(0)
    for name, array in program.parameters.items():
        session[name] = array
    return session.run("attention", {})


SHAPES = [
    Shape(2, 1, 2, 8),
    Shape(1, 17, 3, 16),
    Shape(2, 65, 2, 40),
    Shape(1, 130, 2, 64),
    Shape(1, 65, 1, 80),
    Shape(1, 33, 2, 128),
    Shape(1, 34, 1, 256),
    Shape(2, 17, 2, 24, causal=False),
    Shape(1, 130, 1, 64, causal=False),
    Shape(2, 17, 2, 16, causal=False, keys=65),
    Shape(1, 65, 2, 16, causal=False, keys=1),
    Shape(1, 17, 2, 16, keys=130),
    Shape(1, 130, 2, 16, keys=17),
    Shape(2, 65, 4, 16, key_heads=2),
    Shape(1, 33, 6, 8, key_heads=1, causal=False, keys=70),
    Shape(1, 65, 2, 20),
    Shape(1, 33, 2, 100, causal=False, keys=20),
    Shape(2, 17, 1, 7),
]
# Long enough for the kernels of GPUs that only take long sequences; none is a multiple of their tiles.
LONG_SHAPES = [
    Shape(1, 601, 2, 64),
    Shape(2, 530, 2, 48, key_heads=1, keys=777),
    Shape(1, 777, 4, 80, key_heads=2, causal=False, keys=530),
    Shape(1, 777, 2, 96, keys=513),
    Shape(1, 577, 2, 128),
    Shape(1, 1025, 4, 80, key_heads=1, causal=False, keys=1090),
    Shape(2, 1111, 2, 96),
]
# Shapes with something in common; the gradient of the last one has one pass on GPUs.
COMMON_SHAPES = [
    Shape(1, 130, 2, 64),
    Shape(1, 130, 2, 80, causal=False),
    Shape(1, 530, 2, 64),
    Shape(1, 530, 1, 128),
    Shape(1, 1100, 2, 64),
]
#: The first length takes many tiles per block of a GPU, and at the others the gradient of wide heads has one pass. The
#: CPU has the same kernels for all lengths, and each test takes up to half a minute on it.
LONGEST = Shape(1, 577 if DEVICE == "cpu" else 4133, 1, 64)
GPU_SHAPES = [
    LONGEST,
    Shape(2, 1024, 2, 64),
    Shape(1, 2048, 2, 80),
    Shape(1, 2048, 1, 128),
    # With many heads, GPUs of compute capability 9.0 have tiles of 192 queries (warpgroup-attention.mlir). The first
    # one begins 64 or 128 rows before the first query.
    Shape(1, 300, 54, 64, key_heads=27),
    Shape(1, 420, 54, 40),
    Shape(1, 260, 53, 72),
    Shape(1, 260, 53, 72, causal=False),
    Shape(1, 2049, 2, 128, key_heads=1, keys=2113),
    Shape(1, 2130, 1, 104, causal=False, keys=2050),
]
if DEVICE == "cpu":
    del LONG_SHAPES[3:], COMMON_SHAPES[3:]
else:
    LONG_SHAPES += GPU_SHAPES


@pytest.mark.parametrize("shape", GPU_SHAPES, ids=str)
def test_shapes_of_gpus_fit_into_kernels(shape: Shape) -> None:
    assert shape.batch * shape.queries * shape.heads * shape.dim <= MOST_WEIGHTS


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fused_matches_numpy_and_primitives(shape: Shape) -> None:
    program = shape.program()
    text = str(cs336.parse(program.text("forward_backward")).run_passes(FUSE))
    assert text.count("cs336.attention") == 1
    assert ("causal" in text) == (shape.causal and (shape.keys or shape.queries) > 1)
    fused, unfused = run(program, fusion="flash"), run(program, fusion="none")
    outputs = {name: value.array for name, value in program.outputs}
    gradients = program.gradients()
    for other in (outputs | gradients, unfused):
        assert_close(fused["y"], other["y"], 1e-5, "y")
        assert_close(fused["loss"], other["loss"], 1e-4, "loss")
        assert_gradients_close({n: fused[n] for n in gradients}, {n: other[n] for n in gradients}, 1e-4)


@pytest.mark.parametrize("shape", COMMON_SHAPES, ids=str)
@pytest.mark.parametrize("common", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_what_is_in_common_does_not_matter(shape: Shape, common: float, dtype: Any) -> None:
    """Keys and values share a component of this many standard deviations, as those of trained models do.

    Gradients are at most as far from float64 as those of the primitives, in root mean squares over seeds.
    """
    errors: dict[str, dict[str, float]] = {"flash": {}, "none": {}}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        arrays = []
        for offset in (0, common, common):
            sizes = (shape.batch, shape.queries, shape.heads * shape.dim)
            array = rng.standard_normal(sizes) + offset * rng.standard_normal(sizes[2:])
            arrays.append(np.round(array * 32) / 32)
        program = shape.program(arrays=arrays)
        exact = program.gradients()
        for fusion, of_fusion in errors.items():
            found = run(program, fusion=fusion, dtype=dtype)
            for name, gradient in exact.items():
                of_fusion[name] = of_fusion.get(name, 0) + relative_error(found[name], gradient) ** 2
    for name, error in errors["flash"].items():
        assert error**0.5 <= 1.2 * errors["none"][name] ** 0.5, name


@pytest.mark.parametrize("shape", SHAPES[2:4] + SHAPES[-7:] + LONG_SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_low_precision_rounds_operands_and_results_only(shape: Shape, dtype: Any) -> None:
    """Operands are exact in both types. The output rounds once; gradients read that output, and round once more."""
    program = shape.program()
    outputs = run(program, fusion="flash", dtype=dtype)
    rounding = 2.0**-9 if dtype == "bf16" else 2.0**-12
    assert_close(outputs["y"], dict(program.outputs)["y"].array, 1.5 * rounding, "y")
    assert_gradients_close({n: outputs[n] for n in program.gradients()}, program.gradients(), 4 * rounding)
    # The result was rounded.
    assert relative_error(outputs["y"], dict(program.outputs)["y"].array) > 0.1 * rounding


@pytest.mark.parametrize("shape", [Shape(2, 1100, 4, 64, key_heads=2), Shape(1, 2100, 2, 128)], ids=str)
def test_two_runs_of_long_sequences_agree_to_the_bit(shape: Shape) -> None:
    """Where several blocks of a GPU add to one gradient, they do so in one order."""
    program = shape.program()
    session = open_session(compile_program(program.text("forward_backward"), fusion="flash", dtype="bf16"))
    session.initialize(0)
    for name, array in program.parameters.items():
        session[name] = array
    first = session.run("attention", {})
    for _ in range(3):
        again = session.run("attention", {})
        assert all(again[name].tobytes() == value.tobytes() for name, value in first.items())


@pytest.mark.parametrize("shape", [Shape(1, 1100, 1, 64, causal=False), LONGEST], ids=str)
@pytest.mark.parametrize("size", [0.0, 5.0], ids=["equal scores", "large scores"])
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_extreme_scores_of_long_sequences(shape: Shape, size: float, dtype: Any) -> None:
    """The keys past the last one, which tiles contain, have a score of 0: e^0 is many times all probabilities.

    With a causal mask, some queries of a tile see no key of the tile that comes first.
    """
    rng = np.random.default_rng(3)
    arrays = [np.round(rng.standard_normal((1, shape.queries, 64)) * 32) / 32 * factor for factor in (size, 1, 1)]
    # All scores are far below 0.
    arrays[0][..., 0], arrays[1][..., 0] = -80 * size, 16
    program = shape.program(arrays=arrays)
    found, unfused = (run(program, fusion=fusion, dtype=dtype) for fusion in ("flash", "none"))
    for name, gradient in program.gradients().items():
        assert np.isfinite(found[name]).all(), name
        if np.linalg.norm(gradient) > 0:
            assert relative_error(found[name], gradient) <= 1.2 * relative_error(unfused[name], gradient), name


@pytest.mark.parametrize(
    "shape",
    [Shape(1, 5, 2, 8), Shape(1, 3, 1, 16, causal=False, keys=4), Shape(1, 3, 4, 8, keys=4, key_heads=2)],
    ids=str,
)
def test_fused_gradient_matches_finite_differences(shape: Shape) -> None:
    program = shape.program("f64")
    session = open_session(compile_program(program.text("forward_backward"), fusion="flash"))
    session.initialize(0)
    names = list(program.parameters)

    def outputs(arrays: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
        for name, array in zip(names, arrays, strict=True):
            session[name] = array
        return session.run("attention", {})

    arrays = list(program.parameters.values())
    result = outputs(arrays)
    assert_close(result["y"], dict(program.outputs)["y"].array, 1e-12, "y")
    expected = finite_differences(lambda moved: float(outputs(moved)["loss"]), arrays, 1e-5)
    for name, difference in zip(names, expected, strict=True):
        assert_close(result[name], program.gradients()[name], 1e-11, name)
        assert_close(result[name], difference, 1e-7, name)


def test_large_scores_do_not_overflow() -> None:
    """Scores in the thousands, whose maximum moves from block to block of keys."""
    shape = Shape(1, 200, 1, 8, causal=False)
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal((1, 200, 8)) * size for size in (40, 40, 1)]
    arrays[1] *= np.linspace(0.1, 2, 200)[:, None]
    program = shape.program(arrays=arrays)
    outputs = run(program, fusion="flash")
    # Scores of 10⁴ have errors of 10⁻³, and so do the probabilities of those that are close to the largest.
    assert_close(outputs["y"], dict(program.outputs)["y"].array, 1e-3, "y")


@pytest.mark.parametrize("fusion", ["flash", "all"])
def test_models_agree_with_golden(golden: Golden, fusion: Any) -> None:
    def outputs(mode: str, **inputs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        module = cs336.build(transformer_config(golden.config), mode)
        assert str(module.run_passes(FUSE)).count("cs336.attention") == golden.config.num_layers
        session = open_session(compile_program(module, fusion=fusion))
        session.initialize(0)
        session.set_parameters(golden.parameters)
        return session.run(mode, {"tokens": golden.tokens, **inputs})

    assert_close(outputs("forward")["logits"], golden.logits, 1e-5, "logits")
    trained = outputs("forward_backward", targets=golden.targets)
    assert_close(trained.pop("loss"), golden.losses[0], 1e-5, "loss")
    assert_gradients_close(trained, golden.gradients, 1e-4)


@pytest.mark.parametrize(
    "passes",
    [
        "canonicalize,cse",
        "cs336-fuse-softmax",
        "cs336-decompose",
        "cs336-decompose,canonicalize,cse,cs336-fuse-softmax",
    ],
)
def test_found_after_other_passes(golden: Golden, passes: str) -> None:
    module = cs336.build(transformer_config(golden.config), "forward_backward")
    fused = module.run_passes(f"func.func({passes},cs336-flash-attention)")
    text = str(fused)
    assert text.count("cs336.attention") == golden.config.num_layers
    assert "cs336.softmax" not in text
    session = open_session(compile_program(fused))
    session.initialize(0)
    session.set_parameters(golden.parameters)
    outputs = session.run("forward_backward", {"tokens": golden.tokens, "targets": golden.targets})
    assert_close(outputs.pop("loss"), golden.losses[0], 1e-5, "loss")
    assert_gradients_close(outputs, golden.gradients, 1e-4)


def score_buffers(mode: str, fusion: str, length: int = 88) -> list[str]:
    """Return the buffers of a planned model that have positions on both of their last axes."""
    config = transformer_config(reference.Config(50, length, 32, 2, 2, 40))
    planned = str(cs336.build(config, mode).run_passes(f"cs336-pipeline{{fusion={fusion}}}"))
    assert "exec.entry" in planned
    return re.findall(rf"memref<(?:\d+x)*{length}x{length}x", planned)


@pytest.mark.parametrize("mode", ["forward", "train"])
def test_no_scores_are_stored(mode: str) -> None:
    assert score_buffers(mode, "flash") == []
    assert score_buffers(mode, "none") != []


def test_scores_that_are_not_fused_are_said_to_be() -> None:
    """An attention with a head_dim without a kernel runs unfused, with the same numbers."""
    program = Shape(1, 9, 2, 264).program()
    assert "cs336.attention" not in str(cs336.parse(program.text("forward_backward")).run_passes(FUSE))
    outputs = run(program, fusion="flash")
    assert_close(outputs["y"], dict(program.outputs)["y"].array, 1e-5, "y")

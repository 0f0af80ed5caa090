"""Softmax as one operation: equal to NumPy's and to its primitives', alone, in models, in every type."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from comparison import assert_close, assert_gradients_close
from compiled_model import transformer_config
from device import compile_program, open_session
from golden_file import Golden
from numpy.typing import NDArray

FUSE = "func.func(cs336-fuse-softmax)"
FUSE_LATE = "func.func(cs336-differentiate,canonicalize,cse,cs336-fuse-softmax)"

SIZES = [(1,), (9,), (3, 1), (5, 7), (2, 3, 17), (1, 4, 63), (2, 129), (3, 1000), (2, 70001)]
# Half a unit in the last place, and half the smallest number of f16.
ROUNDING = {"f64": 1e-15, "f32": 6e-8, "bf16": 2.0**-8, "f16": 2.0**-11}
SMALLEST = 2.0**-25


def tensor(shape: tuple[int, ...], dtype: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"


def softmax(x: NDArray[Any], mask: NDArray[Any] | None = None, scale: float = 1.0) -> NDArray[Any]:
    z = scale * x if mask is None else np.where(mask, scale * x, -np.inf)
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(z - z.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def port(kind: str, name: str) -> str:
    return f'{{cs336.kind = "{kind}", cs336.name = "{name}"}}'


@pytest.mark.parametrize("fusion", ["none", "all"])
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_operations_match_numpy(shape: tuple[int, ...], dtype: str, fusion: str) -> None:
    """Inputs are exact in every type, so only the operation rounds, alone and in a kernel with the casts."""
    rng = np.random.default_rng(len(shape) + shape[-1])
    x, dy = (rng.integers(-32, 33, shape) / 8.0 for _ in range(2))
    mask = rng.random(shape[-2:]) < 0.7
    mask[..., 0] = True
    outer = "f64" if dtype == "f64" else "f32"
    wide, own, visible = tensor(shape, outer), tensor(shape, dtype), tensor(shape[-2:], "i1")

    def cast(value: str, source: str, target: str) -> str:
        return f"cs336.cast {value} : {source} -> {target}"

    text = f"""
    func.func @f(%x: {wide} {port("input", "x")}, %dy: {wide} {port("input", "dy")}, %m: {visible} {port("input", "m")})
        -> ({wide} {port("output", "y")}, {wide} {port("output", "dx")})
        attributes {{cs336.mode = #cs336.mode<forward>}} {{
      %a = {cast("%x", wide, own)}
      %g = {cast("%dy", wide, own)}
      %y = cs336.softmax %a mask %m {{scale = 0.5 : f64}} : {own}, {visible}
      %d = cs336.softmax_backward %y, %g mask %m {{scale = 0.5 : f64}} : {own}, {visible}
      %yw = {cast("%y", own, wide)}
      %dw = {cast("%d", own, wide)}
      return %yw, %dw : {wide}, {wide}
    }}"""
    number = np.float64 if outer == "f64" else np.float32
    session = open_session(compile_program(text, fusion=fusion))
    outputs = session.run("f", {"x": x.astype(number), "dy": dy.astype(number), "m": mask})
    y = softmax(x, mask, 0.5)
    rounding = 4 * ROUNDING[dtype] * max(1.0, np.log2(shape[-1])) if dtype in ("f32", "f64") else 1.01 * ROUNDING[dtype]
    assert np.all(np.abs(outputs["y"] - y) <= rounding * y + SMALLEST)

    # From the rounded y, so that only the gradient's own rounding shows.
    y = outputs["y"].astype(np.float64)
    terms = y * dy
    dx = np.where(mask, 0.5 * (terms - y * terms.sum(-1, keepdims=True)), 0)
    cancelled = 0.5 * (np.abs(terms) + y * np.abs(terms).sum(-1, keepdims=True))
    own_rounding = 1.01 * ROUNDING[dtype] * np.abs(dx) if dtype in ("bf16", "f16") else 0
    sums = (4e-15 if dtype == "f64" else 4e-7) * max(1.0, np.log2(shape[-1]))
    assert np.all(np.abs(outputs["dx"] - dx) <= own_rounding + sums * cancelled + SMALLEST)


def primitives(
    shape: tuple[int, ...], dtype: str, scale: str, mask: str, maximum_has_gradient: bool, reciprocal: bool = False
) -> str:
    """Return a loss of a softmax written as primitives: Σ w·softmax(…)."""
    x, row, bits = tensor(shape, dtype), tensor(shape[:-1], dtype), tensor(shape, "i1")
    rank = len(shape)
    rows, last, every = list(range(rank - 1)), [rank - 1], list(range(rank))
    visible = tensor(shape[-2:], "i1")
    scaled = {
        "none": "",
        "mul": f"%s = cs336.mul %x, %c : {x}",
        "reversed mul": f"%s = cs336.mul %c, %x : {x}",
        "div": f"%s = cs336.div %x, %c : {x}",
    }[scale]
    source = "%x" if scale == "none" else "%s"
    hidden = f"%h = cs336.constant dense<{'0xFFF0000000000000' if dtype == 'f64' else '0xFF800000'}> : {x}"
    spread = f"%mb = cs336.broadcast %m dims = {list(range(rank - min(rank, 2), rank))} : {visible} -> {bits}"
    masked = {
        "none": "",
        "select": f"{hidden}\n{spread}\n%z = cs336.select %mb, {source}, %h : {x}",
        "inverted": f"""{hidden}\n{spread}
            %no = cs336.constant dense<false> : {bits}
            %yes = cs336.constant dense<true> : {bits}
            %hides = cs336.select %mb, %no, %yes : {bits}
            %z = cs336.select %hides, %h, {source} : {x}""",
        "added": f"""{hidden}\n{spread}
            %zero = cs336.constant dense<0.0> : {x}
            %b = cs336.select %mb, %zero, %h : {x}
            %z = cs336.add {source}, %b : {x}""",
    }[mask]
    z = source if mask == "none" else "%z"
    stop = "" if maximum_has_gradient else "{stop_gradient}"
    quotient = f"%y = cs336.div %e, %tb : {x}"
    if reciprocal:
        quotient = f"""%one = cs336.constant dense<1.0> : {x}
            %r = cs336.div %one, %tb : {x}
            %y = cs336.mul %r, %e : {x}"""
    return f"""
    func.func @f(%x: {x} {port("parameter", "x")}, %w: {x} {port("input", "w")}, %m: {visible} {port("input", "m")})
        -> (tensor<{dtype}> {port("output", "loss")}, {x} {port("output", "y")})
        attributes {{cs336.mode = #cs336.mode<forward_backward>}} {{
      %c = cs336.constant dense<0.37> : {x}
      {scaled}
      {masked}
      %max = cs336.reduce max {z} axes = {last} {stop} : {x} -> {row}
      %maxb = cs336.broadcast %max dims = {rows} : {row} -> {x}
      %d = cs336.sub {z}, %maxb : {x}
      %e = cs336.exp %d : {x}
      %t = cs336.reduce sum %e axes = {last} : {x} -> {row}
      %tb = cs336.broadcast %t dims = {rows} : {row} -> {x}
      {quotient}
      %p = cs336.mul %y, %w : {x}
      %loss = cs336.reduce sum %p axes = {every} : {x} -> tensor<{dtype}>
      return %loss, %y : tensor<{dtype}>, {x}
    }}"""


def run_program(program: cs336.Module | str, x: NDArray[Any], inputs: Mapping[str, Any], **options: Any) -> Any:
    session = open_session(compile_program(program, **options))
    session.initialize(0)
    session["x"] = x
    return session.run("f", inputs)


@pytest.mark.parametrize("seed", range(24))
def test_fused_primitives_match_numpy(seed: int) -> None:
    """Random shapes and forms; fused before differentiation, after it, not at all, and with all other passes."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(size) for size in rng.integers(2, 9, rng.integers(1, 5)))
    dtype = ("f64", "f32")[seed % 2]
    scale = ("none", "mul", "reversed mul", "div")[rng.integers(4)]
    mask = ("none", "select", "inverted", "added")[rng.integers(4)]
    text = primitives(shape, dtype, scale, mask, maximum_has_gradient=bool(rng.integers(2)))

    number = np.dtype({"f64": np.float64, "f32": np.float32}[dtype])
    x, w = (rng.standard_normal(shape).astype(number) for _ in range(2))
    visible = rng.random(shape[-2:]) < 0.6
    visible[..., -1] = True
    factor = {"none": 1.0, "mul": 0.37, "reversed mul": 0.37, "div": 1 / 0.37}[scale]
    y = softmax(x.astype(np.float64), None if mask == "none" else visible, factor)
    terms = y * w
    dx = factor * (terms - y * terms.sum(-1, keepdims=True))
    values, gradients = (1e-13, 1e-12) if dtype == "f64" else (1e-6, 1e-5)

    early, late = (cs336.parse(text).run_passes(passes) for passes in (FUSE, FUSE_LATE))
    assert "cs336.softmax " in str(early)
    assert "cs336.exp" not in str(early)
    assert "cs336.softmax_backward" in str(late)
    assert "cs336.exp" not in str(late)
    for program, fusion in ((early, "none"), (late, "none"), (text, "none"), (text, "all")):
        outputs = run_program(program, x, {"w": w, "m": visible}, fusion=fusion)
        assert_close(outputs["y"], y, values, "y")
        assert_close(outputs["x"], dx, gradients, "dx")


def test_rows_without_a_visible_element_are_nan_as_before() -> None:
    """The primitives compute 0/0; the gradient of masked elements is still 0."""
    text = primitives((2, 4, 5), "f32", "mul", "select", maximum_has_gradient=False)
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal((2, 4, 5)).astype(np.float32) for _ in range(2))
    visible = rng.random((4, 5)) < 0.6
    visible[1] = False
    visible[0, 0] = visible[2, 0] = visible[3, 0] = True
    inputs = {"w": w, "m": visible}
    unfused = run_program(text, x, inputs, fusion="none")
    for passes, fusion in product((FUSE, FUSE_LATE), ("none", "all")):
        fused = run_program(cs336.parse(text).run_passes(passes), x, inputs, fusion=fusion)
        for name in ("y", "x"):
            assert np.array_equal(np.isnan(fused[name]), np.isnan(unfused[name]))
            assert_close(np.nan_to_num(fused[name]), np.nan_to_num(unfused[name]), 1e-6, name)
        assert np.all(np.isnan(fused["y"][:, 1])) and not np.any(np.isnan(fused["y"][:, [0, 2, 3]]))
        assert np.all(fused["x"][:, ~visible] == 0)


@pytest.mark.parametrize("fusion", ["none", "all"])
def test_scores_that_overflow_without_the_maximum(fusion: str) -> None:
    text = primitives((3, 6), "f32", "none", "none", maximum_has_gradient=False)
    x = np.array([[1e4, -1e4, 1e4, 0, 1, 2], [-3e38, 3e38, 0, 0, 0, 0], [88, 89, 90, 91, 92, 93]], np.float32)
    inputs = {"w": np.ones_like(x), "m": np.ones((3, 6), bool)}
    outputs = run_program(cs336.parse(text).run_passes(FUSE), x, inputs, fusion=fusion)
    assert_close(outputs["y"], softmax(x.astype(np.float64)), 1e-6)


def run_model(module: cs336.Module, parameters: reference.Parameters, entry: str, inputs: Any, fusion: str) -> Any:
    session = open_session(compile_program(module, fusion=fusion))
    session.initialize(0)
    session.set_parameters(parameters)
    return session.run(entry, inputs)


CONFIGS = {
    "odd": reference.Config(50, 33, 32, 2, 4, 64, batch_size=2),
    "one head": reference.Config(61, 19, 24, 2, 1, 40, batch_size=3),
    "context 1": reference.Config(29, 1, 16, 2, 2, 24, batch_size=5),
    "head_dim 80": reference.Config(40, 17, 160, 1, 2, 96, batch_size=2),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_fused_models_match_numpy_and_unfused_ones(config: reference.Config) -> None:
    rng = np.random.default_rng(config.vocab_size)
    p = reference.random_parameters(config, rng)
    tokens, targets = reference.random_batch(config, rng)
    forward = cs336.build(transformer_config(config), "forward")
    backward = cs336.build(transformer_config(config), "forward_backward")
    assert str(forward.run_passes(FUSE)).count("cs336.softmax ") == config.num_layers
    # Canonicalization removes rows of one element.
    if config.context_length > 1:
        assert str(backward.run_passes(FUSE_LATE)).count("softmax_backward ") == config.num_layers

    inputs = {"tokens": tokens, "targets": targets}
    logits = [run_model(forward, p, "forward", {"tokens": tokens}, f)["logits"] for f in ("none", "softmax")]
    assert_close(logits[1], logits[0], 1e-5, "logits")
    assert_close(logits[1], reference.forward(p, tokens, config), 1e-5, "logits")
    gradients = [run_model(backward, p, "forward_backward", inputs, fusion) for fusion in ("none", "softmax")]
    _, expected = reference.loss_and_gradients(p, tokens, targets, config)
    for which in gradients:
        del which["loss"]
    assert_gradients_close(gradients[1], gradients[0], 1e-4)
    assert_gradients_close(gradients[1], expected, 1e-4)


def test_fused_model_matches_golden(golden: Golden) -> None:
    config = transformer_config(golden.config)
    logits = run_model(
        cs336.build(config, "forward"), golden.parameters, "forward", {"tokens": golden.tokens}, "softmax"
    )["logits"]
    assert_close(logits, golden.logits, 1e-5, "logits")
    inputs = {"tokens": golden.tokens, "targets": golden.targets}
    for early in (True, False):
        module = cs336.build(config, "forward_backward")
        program = module if early else module.run_passes(FUSE_LATE)
        outputs = run_model(program, golden.parameters, "forward_backward", inputs, "softmax" if early else "none")
        assert_close(outputs["loss"], golden.losses[0], 1e-5, "loss")
        for name, gradient in golden.gradients.items():
            assert_close(outputs[name], gradient, 1e-4, name)

"""bf16 and fp16 training: as exact as PyTorch's autocast, and the same with and without derived weights."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import autocast_reference
import cs336
import numpy as np
import pytest
import reference
import torch_autocast
from comparison import assert_close
from compiled_model import optimizer, transformer_config
from device import DEVICE, compile_program, open_session

CONFIG = reference.Config(
    vocab_size=61, context_length=24, d_model=48, num_layers=2, num_heads=3, d_ff=72, batch_size=3
)
NUMBERS = reference.Optimizer(lr=3e-3, weight_decay=0.1, max_norm=1.0)
DTYPES = ["bf16", "fp16"]
SEEDS = range(16)


def batch(seed: int) -> tuple[reference.Parameters, reference.Array, reference.Array]:
    rng = np.random.default_rng(seed)
    return reference.random_parameters(CONFIG, rng), *reference.random_batch(CONFIG, rng)


@cache
def executable(mode: str, pipeline: str, numbers: reference.Optimizer = NUMBERS) -> cs336.Executable:
    module = cs336.build(transformer_config(CONFIG), mode, "f32", optimizer(numbers))
    return compile_program(module, pipeline=pipeline)


def open_model(
    mode: str, pipeline: str, parameters: reference.Parameters, numbers: reference.Optimizer = NUMBERS
) -> cs336.Session:
    session = open_session(executable(mode, pipeline, numbers))
    session.initialize(0)
    session.set_parameters(parameters)
    return session


def token_losses(logits: reference.Array, targets: reference.Array) -> reference.Array:
    """Return −log softmax(logits)[target] of every token, in float64; the loss is their mean."""
    z = np.asarray(logits, np.float64)
    z = z - z.max(-1, keepdims=True)
    return np.log(np.exp(z).sum(-1)) - np.take_along_axis(z, targets[..., None], -1)[..., 0]


class Result(NamedTuple):
    """Return the results of a step without an update."""

    logits: reference.Array
    loss: float
    gradients: reference.Parameters


class Distances:
    """The distance of results from float64, per tensor, over all seeds together."""

    def __init__(self) -> None:
        self.squares: dict[str, float] = {}
        self.losses: list[float] = []

    def add(self, found: Result, exact: Result, targets: reference.Array) -> None:
        self._add("logits", [found.logits], [exact.logits])
        self._add("losses of tokens", *([token_losses(one.logits, targets)] for one in (found, exact)))
        self._add("gradients", *([one.gradients[name] for name in exact.gradients] for one in (found, exact)))
        for name, gradient in exact.gradients.items():
            # Parameters of one kind in all layers together: a single norm's weight has only a few numbers.
            self._add(re.sub(r"layers\.\d+\.", "", name), [found.gradients[name]], [gradient])
        self.losses.append(found.loss - exact.loss)

    def _add(self, what: str, found: list[reference.Array], exact: list[reference.Array]) -> None:
        error = sum(np.sum((np.asarray(f, np.float64) - e) ** 2) for f, e in zip(found, exact, strict=True))
        self.squares[what] = self.squares.get(what, 0.0) + float(error / sum(np.sum(e**2) for e in exact))


@cache
def exact_result(seed: int) -> Result:
    p, tokens, targets = batch(seed)
    return Result(reference.forward(p, tokens, CONFIG), *reference.loss_and_gradients(p, tokens, targets, CONFIG))


@cache
def autocast_distances(dtype: str, peer: str) -> Distances:
    distances = Distances()
    for seed in SEEDS:
        p, tokens, targets = batch(seed)
        if peer == "emulated":
            result = autocast_reference.Autocast(dtype).run(p, tokens, targets, CONFIG)
        else:
            result = torch_autocast.run(dtype, p, tokens, targets, CONFIG, DEVICE)
        distances.add(Result(*result), exact_result(seed), targets)
    return distances


@pytest.mark.parametrize("fusion", ["none", "elementwise", "softmax", "flash", "all"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("peer", ["emulated", "torch"])
def test_as_close_to_float64_as_autocast(dtype: str, fusion: str, peer: str) -> None:
    """Root mean squares over many numbers are at most 1.2 times autocast's.

    A loss is one number, and its distance is a matter of chance: of equal programs one may be exact and the other not.
    But it is the mean of many tokens' losses: these have autocast's distance, and the loss is their mean.
    """
    if peer == "torch" and not torch_autocast.is_available(DEVICE):
        pytest.skip(f"there is no PyTorch for {DEVICE} here")
    theirs = autocast_distances(dtype, peer)
    pipeline = f"fusion={fusion} dtype={dtype}"
    backward, forward = (open_model(mode, pipeline, batch(0)[0]) for mode in ("forward_backward", "forward"))
    ours = Distances()
    off_mean = []
    for seed in SEEDS:
        p, tokens, targets = batch(seed)
        for session in (backward, forward):
            session.set_parameters(p)
        gradients = backward.run("forward_backward", {"tokens": tokens, "targets": targets})
        loss = float(gradients.pop("loss"))
        result = Result(forward.run("forward", {"tokens": tokens})["logits"], loss, gradients)
        assert set(gradients) == set(p)
        ours.add(result, exact_result(seed), targets)
        off_mean.append(loss - float(np.mean(token_losses(result.logits, targets))))
    for what, square in theirs.squares.items():
        found, allowed = np.sqrt(ours.squares[what] / len(SEEDS)), np.sqrt(square / len(SEEDS))
        assert found <= 1.2 * allowed, f"{what}: {found:.3e} from float64, autocast {allowed:.3e}"
    # The bound is close to the rounding of float32: a tenth of the error of autocast's losses.
    assert np.linalg.norm(off_mean) <= 0.1 * np.linalg.norm(theirs.losses)


def train(session: cs336.Session, steps: int, seed: int = 0) -> list[float]:
    rng = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        tokens, targets = reference.random_batch(CONFIG, rng)
        losses.append(float(session.run("train", {"tokens": tokens, "targets": targets})["loss"]))
    return losses


def rounded(dtype: str, value: reference.Array) -> reference.Array:
    return value.astype(autocast_reference.LOW_TYPES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_shadows_are_the_rounded_parameters(dtype: str) -> None:
    """After loading, steps, another load and setting a single parameter; other variables keep all bits."""
    p, tokens, _ = batch(1)
    session = open_model("train", f"fusion=elementwise dtype={dtype}", p)
    plain = open_model("train", f"fusion=elementwise dtype={dtype} weight-shadows=false", p)
    type_name = {"bf16": "bf16", "fp16": "f16"}[dtype]
    shadows = [name for name, variable in session._variables.items() if variable.kind == "derived"]
    packed = {
        f"shadow.{type_name}.layers.0.attn.qkv_proj.weight": [f"layers.0.attn.{n}_proj.weight" for n in "qkv"],
        f"shadow.{type_name}.layers.1.ffn.w2.weight": ["layers.1.ffn.w2.weight"],
        f"shadow.{type_name}.lm_head.weight": ["lm_head.weight"],
    }
    assert set(packed) <= set(shadows)

    def check() -> None:
        for shadow, names in packed.items():
            expected = rounded(dtype, np.concatenate([session[name] for name in names]))
            np.testing.assert_array_equal(session[shadow].astype(np.float32), expected.astype(np.float32))

    check()
    assert train(session, 3) == train(plain, 3)
    check()
    for name in plain.parameters():
        np.testing.assert_array_equal(session[name], plain[name], name)

    for model in (session, plain):
        model["layers.0.attn.k_proj.weight"] = p["layers.0.attn.k_proj.weight"] * 3
    np.testing.assert_array_equal(
        session.run("forward", {"tokens": tokens})["logits"], plain.run("forward", {"tokens": tokens})["logits"]
    )
    check()
    assert train(session, 2) == train(plain, 2)
    check()


def test_checkpoints_have_no_shadows(tmp_path: Any) -> None:
    """Programs with and without derived weights read each other's checkpoints, and compute equal logits."""
    p, tokens, _ = batch(2)
    session = open_model("train", "fusion=elementwise dtype=bf16", p)
    train(session, 2)
    session.save(tmp_path / "model.safetensors")
    other = open_session(executable("train", "fusion=elementwise dtype=bf16 weight-shadows=false"))
    other.load(tmp_path / "model.safetensors")
    other.save(tmp_path / "other.safetensors")
    third = open_session(executable("train", "fusion=elementwise dtype=bf16"))
    third.load(tmp_path / "other.safetensors")
    expected = session.run("forward", {"tokens": tokens})["logits"]
    np.testing.assert_array_equal(other.run("forward", {"tokens": tokens})["logits"], expected)
    np.testing.assert_array_equal(third.run("forward", {"tokens": tokens})["logits"], expected)


PASSES = (
    "func.func(cs336-autocast{dtype=bf16}),cs336-merge-gemms,func.func(cs336-decompose,canonicalize,cse,"
    "cs336-differentiate,cs336-optimizer),cs336-weight-shadows"
)


def test_a_stale_shadow_is_noticed() -> None:
    """Updates that round the old parameter leave the derived weight one step behind."""
    text = str(cs336.build(transformer_config(CONFIG), "train", "f32", optimizer(NUMBERS)).run_passes(PASSES))
    update = re.compile(r"(cs336\.adamw (%\w+), .*\n\s*%\w+ = cs336\.cast )%\w+( :)")
    assert update.search(text)
    p, *_ = batch(3)
    right = open_model("train", "fusion=elementwise dtype=bf16", p)
    wrong = open_session(compile_program(update.sub(r"\1\2\3", text)))
    wrong.initialize(0)
    wrong.set_parameters(p)
    losses, stale_losses = train(right, 4), train(wrong, 4)
    assert losses[0] == stale_losses[0]
    with pytest.raises(AssertionError, match="relative error"):
        assert_close(stale_losses, losses, 1e-4, "losses")


TOGGLES = ["merge-gemms", "hoist-invariants", "weight-shadows", "fuse-epilogues"]


def with_toggles(on: Collection[str]) -> str:
    return "fusion=elementwise " + " ".join(f"{toggle}={str(toggle in on).lower()}" for toggle in TOGGLES)


# Each pass alone, all but each, and all, compared with none.
PIPELINES = [with_toggles(on) for count in (1, 3, 4) for on in combinations(TOGGLES, count)]


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_all_toggles_compute_the_same(dtype: str) -> None:
    """Equal up to rounding: merged GEMMs sum their gradients in another order.

    AdamW's first steps have the size of the learning rate for every gradient, so an element whose gradient is of the
    size of rounding errors may move anywhere. An epsilon far above rounding, and below most gradients, keeps it in
    place.
    """
    p, *_ = batch(4)
    numbers = replace(NUMBERS, eps=1e-5)
    tolerance = 1e-5 if dtype == "fp32" else 2e-2
    expected = open_model("train", f"dtype={dtype} {with_toggles(())}", p, numbers)
    losses = train(expected, 3)
    for pipeline in PIPELINES:
        session = open_model("train", f"dtype={dtype} {pipeline}", p, numbers)
        assert_close(train(session, 3), losses, tolerance / 10, pipeline)
        for name, value in expected.parameters().items():
            assert_close(session[name] - p[name], value - p[name], 30 * tolerance, f"update of {name}, {pipeline}")

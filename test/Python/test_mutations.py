"""Known mistakes make the comparisons fail: each is introduced into the IR or the reference, and must be detected."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from comparison import assert_close
from compiled_model import CompiledModel, optimizer, transformer_config
from device import compile_program, open_session
from golden_file import Golden


def must_fail(comparison: Callable[[], None]) -> None:
    with pytest.raises(AssertionError, match="relative error"):
        comparison()


@pytest.mark.parametrize(
    "mutation",
    [reference.Mutation(mask_offset=1), reference.Mutation(mask_offset=-1), reference.Mutation(rope_half_split=True)],
    ids=["sees the next token", "does not see itself", "pairs are halves"],
)
@pytest.mark.parametrize("fusion", ["none", "flash"])
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_a_wrong_reference_disagrees_with_the_compiled_model(
    golden: Golden, mutation: reference.Mutation, fusion: Any
) -> None:
    model = CompiledModel(golden.config, "forward_backward", golden.parameters, fusion=fusion)
    p = golden.float64_parameters()
    loss, gradients = model.loss_and_gradients(golden.tokens, golden.targets)

    def compare(which: reference.Mutation) -> None:
        expected_loss, expected = reference.loss_and_gradients(p, golden.tokens, golden.targets, golden.config, which)
        assert_close(loss, expected_loss, 1e-5, "loss")
        for name, gradient in expected.items():
            assert_close(gradients[name], gradient, 1e-4, name)

    compare(reference.CORRECT)
    must_fail(lambda: compare(mutation))


def forward_of(module: cs336.Module, golden: Golden, fusion: str) -> np.ndarray:
    session = open_session(compile_program(module, fusion=fusion))
    session.initialize(0)
    session.set_parameters(golden.parameters)
    return session.run("forward", {"tokens": golden.tokens})["logits"]


def check_forward(right: str, wrong: str, golden: Golden, fusion: str) -> None:
    """The logits of the correct program are golden's, those of the wrong one are not."""
    assert_close(forward_of(cs336.parse(right), golden, fusion), golden.logits, 1e-5, "logits")
    must_fail(lambda: assert_close(forward_of(cs336.parse(wrong), golden, fusion), golden.logits, 1e-5, "logits"))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        # A query sees keys before it, but not itself; the first sees nothing.
        (" ge %", " gt %"),
        (" ge %", " le %"),
        ("theta = 1.000000e+04", "theta = 1.000000e+03"),
        ("eps = 1.000000e-05", "eps = 1.000000e-03"),
    ],
    ids=["mask off by one", "mask reversed", "theta", "eps"],
)
@pytest.mark.parametrize("fusion", ["none", "all"])
def test_wrong_ir_disagrees_with_golden(golden: Golden, right: str, wrong: str, fusion: str) -> None:
    text = str(cs336.build(transformer_config(golden.config), "forward"))
    assert right in text
    check_forward(text, text.replace(right, wrong), golden, fusion)


def launches(text: str, operation: str, fusion: str) -> list[str]:
    """Checks compiled programs whose kernels have the operation; flash attention would leave no softmax."""
    planned = str(cs336.parse(text).run_passes(f"cs336-pipeline{{fusion={fusion}}}"))
    return re.findall(rf"exec\.launch @((?:\w+_)?{operation}_\w+) ", planned)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        # head_dim is 16: the scale is ¼.
        ("scale = 2.500000e-01", "scale = 5.000000e-01"),
        (" {scale = 2.500000e-01 : f64}", ""),
        # The fused mask also hides the queries' own keys.
        (" ge %", " gt %"),
    ],
    ids=["scale", "scale left out", "mask off by one"],
)
@pytest.mark.parametrize("fusion", ["none", "softmax"])
def test_wrong_fused_softmax_disagrees_with_golden(golden: Golden, right: str, wrong: str, fusion: str) -> None:
    text = str(cs336.build(transformer_config(golden.config), "forward").run_passes("func.func(cs336-fuse-softmax)"))
    assert right in text
    assert len(launches(text, "softmax", fusion)) == golden.config.num_layers
    check_forward(text, text.replace(right, wrong), golden, fusion)


@pytest.mark.parametrize("wrong", ["scale", "operands"])
@pytest.mark.parametrize("fusion", ["none", "softmax"])
def test_wrong_softmax_gradient_disagrees_with_golden(golden: Golden, wrong: str, fusion: str) -> None:
    """The forward pass stays correct: only gradients can show the mistake."""
    built = cs336.build(transformer_config(golden.config), "forward_backward")
    text = str(built.run_passes("func.func(cs336-fuse-softmax,cs336-differentiate)"))

    def compare(program: str) -> None:
        session = open_session(compile_program(program, fusion=fusion))
        session.initialize(0)
        session.set_parameters(golden.parameters)
        outputs = session.run("forward_backward", {"tokens": golden.tokens, "targets": golden.targets})
        assert_close(outputs["loss"], golden.losses[0], 1e-5, "loss")
        for name, gradient in golden.gradients.items():
            assert_close(outputs[name], gradient, 1e-4, name)

    compare(text)
    assert len(launches(text, "softmax_backward", fusion)) == golden.config.num_layers
    lines = text.splitlines()
    backward = [i for i, line in enumerate(lines) if "cs336.softmax_backward" in line]
    assert len(backward) == golden.config.num_layers
    for i in backward:
        before = lines[i]
        lines[i] = before.replace("scale = ", "scale = -") if wrong == "scale" else swap_operands(before)
        assert lines[i] != before
    must_fail(lambda: compare("\n".join(lines)))


def test_attention_without_its_mask_disagrees_with_golden(golden: Golden) -> None:
    text = str(cs336.build(transformer_config(golden.config), "forward").run_passes("func.func(cs336-flash-attention)"))
    assert text.count("{causal, ") == golden.config.num_layers
    check_forward(text, text.replace("{causal, ", "{"), golden, "none")


def swap_operands(line: str) -> str:
    """Uses the gradient in place of the softmax's result."""
    return re.sub(r"softmax_backward (%\w+), (%\w+)", r"softmax_backward \2, \1", line)


def test_decay_after_the_update_disagrees_with_golden(golden: Golden) -> None:
    text = str(cs336.build(transformer_config(golden.config), "train", optimizer=optimizer(golden.optimizer)))
    wrong = text.replace("#cs336.optimizer<", "#cs336.optimizer<form = cs336_2025, ")
    assert wrong != text

    def compare(module_text: str) -> None:
        session = open_session(compile_program(module_text))
        session.initialize(0)
        session.set_parameters(golden.parameters)
        for _ in range(golden.steps):
            session.run("train", {"tokens": golden.tokens, "targets": golden.targets})
        for name, value in golden.after.items():
            assert_close(session[name], value, 1e-4, name)

    compare(text)
    must_fail(lambda: compare(wrong))


def test_decay_after_the_update_differs_from_decay_before_it(golden: Golden) -> None:
    """The 2025 and 2026 forms differ only in this order."""
    numbers = dataclasses.replace(golden.optimizer, form="cs336_2025", lr=3e-2, weight_decay=0.5)
    model = CompiledModel(golden.config, "train", golden.parameters, numbers=numbers)
    right = golden.float64_parameters()
    wrong = golden.float64_parameters()
    for _ in range(golden.steps):
        model.train(golden.tokens, golden.targets)
    for p, form in ((right, "cs336_2025"), (wrong, "cs336_2026")):
        adamw = reference.AdamW(p, dataclasses.replace(numbers, form=form))
        for _ in range(golden.steps):
            adamw.step(reference.loss_and_gradients(p, golden.tokens, golden.targets, golden.config)[1])

    def compare(expected: reference.Parameters) -> None:
        for name, value in expected.items():
            assert_close(model.session[name], value, 1e-4, name)

    compare(right)
    must_fail(lambda: compare(wrong))

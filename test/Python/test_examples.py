"""The programs in examples/ other than our Transformer, through the whole pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from comparison import assert_close, assert_gradients_close
from device import compile_program, open_session
from dialect_program import Array, Program, Value

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Example:
    """A compiled example and its NumPy twin on the same random parameters and inputs."""

    def __init__(self, file: str, entry: str, fusion: Any = "all") -> None:
        module = cs336.parse((EXAMPLES / file).read_text(), file)
        self.session = open_session(compile_program(module, fusion=fusion))
        self.session.initialize(3)
        self.entry = entry
        self.program = Program("numpy")
        self.names: list[str] = []
        self.inputs: dict[str, Array] = {}
        self.rng = np.random.default_rng(len(file))

    def parameter(self, name: str) -> Value:
        self.names.append(name)
        return self.program.parameter(self.session[name], "f32")

    def input(self, name: str, shape: tuple[int, ...]) -> Value:
        self.inputs[name] = self.rng.standard_normal(shape).astype(np.float32)
        return self.program.input(self.inputs[name], "f32")

    def run(self) -> dict[str, Array]:
        return self.session.run(self.entry, self.inputs)

    def gradients(self) -> dict[str, Array]:
        return dict(zip(self.names, self.program.gradients().values(), strict=True))

    def check(self, y: Value, loss: Value) -> None:
        """Compare "y", "loss" and all gradients."""
        self.program.output("y", y)
        self.program.output("loss", loss)
        outputs = self.run()
        assert_close(outputs.pop("y"), y.array, 1e-5, "y")
        assert_close(outputs.pop("loss"), loss.array, 1e-5, "loss")
        assert_gradients_close(outputs, self.gradients(), 1e-4)


def test_gelu_mlp() -> None:
    example = Example("gelu_mlp.mlir", "forward_backward")
    program, shape = example.program, (6, 33, 40)
    scale, shift = example.parameter("ln.weight"), example.parameter("ln.bias")
    up, bias, down = (example.parameter(f"{name}") for name in ("up.weight", "up.bias", "down.weight"))
    x, target = example.input("x", shape), example.input("target", shape)
    hidden = program.linear(program.layer_norm(x, scale, shift, 1e-5), up)
    hidden = program.binary("add", hidden, program.broadcast(bias, [2], hidden.shape))
    y = program.binary("add", x, program.linear(program.unary("gelu", hidden), down))
    difference = program.binary("sub", y, target)
    square = program.reduce("sum", program.binary("mul", difference, difference), [0, 1, 2])
    example.check(y, program.binary("mul", square, program.constant(0.5 / np.prod(shape), "f32", ())))


@pytest.mark.parametrize("fusion", ["none", "flash"])
@pytest.mark.parametrize(
    ("file", "heads", "key_heads", "x_shape", "memory_shape"),
    [
        ("unmasked_attention.mlir", 3, 3, (2, 17, 24), None),
        ("cross_attention.mlir", 2, 2, (3, 9, 16), (3, 21, 28)),
        ("grouped_attention.mlir", 4, 2, (2, 13, 32), None),
    ],
)
def test_attention(
    file: str,
    heads: int,
    key_heads: int,
    x_shape: tuple[int, ...],
    memory_shape: tuple[int, ...] | None,
    fusion: Any,
) -> None:
    example = Example(file, "forward_backward", fusion)
    program = example.program
    wq, wk, wv, wo = (example.parameter(f"{name}_proj.weight") for name in ("q", "k", "v", "output"))
    x = example.input("x", x_shape)
    memory = example.input("memory", memory_shape) if memory_shape else x
    weights = example.input("weights", x_shape)
    visible = np.tri(x_shape[1], dtype=bool) if file.startswith("grouped") else None

    def split(value: Value, w: Value, own_heads: int) -> Value:
        y = program.linear(value, w)
        batch, length, width = y.shape
        shape = [batch, length, own_heads, width // own_heads]
        split = program.transpose(program.reshape(y, shape), [0, 2, 1, 3])
        repeated = program.broadcast(split, [0, 1, 3, 4], [batch, own_heads, heads // own_heads, length, shape[-1]])
        return program.reshape(repeated, [batch, heads, length, shape[-1]])

    q, k, v = split(x, wq, heads), split(memory, wk, key_heads), split(memory, wv, key_heads)
    o, pullback = reference.attention(q.array, k.array, v.array, visible)
    merged = program.reshape(
        program.transpose(program.external("attention", o, [q, k, v], pullback), [0, 2, 1, 3]), x_shape
    )
    y = program.linear(merged, wo)
    example.check(y, program.reduce("sum", program.binary("mul", y, weights), [0, 1, 2]))


def test_toy_model_trains_as_in_numpy() -> None:
    example = Example("toy_model.mlir", "train")
    numbers = reference.Optimizer(lr=1e-2, weight_decay=0.1, max_norm=1.0)
    names = ["fc1.weight", "ln.weight", "ln.bias", "fc2.weight"]
    parameters = {name: example.session[name].astype(np.float64) for name in names}
    adamw = reference.AdamW(parameters, numbers)
    for _ in range(4):
        program = Program("numpy")
        fc1, scale, shift, fc2 = (program.parameter(parameters[name], "f64") for name in names)
        inputs = {
            "x": example.rng.standard_normal((20, 10)).astype(np.float32),
            "labels": example.rng.integers(0, 5, 20),
        }
        hidden = program.unary("relu", program.linear(program.input(inputs["x"], "f64"), fc1))
        logits = program.linear(program.layer_norm(hidden, scale, shift, 1e-5), fc2)
        loss = program.cross_entropy(logits, program.input(inputs["labels"], "i64"))
        program.output("loss", loss)
        outputs = example.session.run("train", inputs)
        assert_close(outputs["logits"], logits.array, 1e-5, "logits")
        assert_close(outputs["loss"], loss.array, 1e-5, "loss")
        adamw.step(dict(zip(names, program.gradients().values(), strict=True)))
    for name in names:
        assert_close(example.session[name], parameters[name], 1e-4, name)

# ===- group_builder.py - Groups of operations as IR ----------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Groups of operations written by calls, as kernels and as fused operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i1": 1}


@dataclass(frozen=True)
class Value:
    """A tensor in a group."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def sizes(self) -> str:
        return "x".join([*map(str, self.shape), self.dtype])

    @property
    def tensor(self) -> str:
        return f"tensor<{self.sizes}>"

    @property
    def num_bytes(self) -> int:
        return math.prod(self.shape) * BYTES[self.dtype]


@dataclass
class Group:
    """Operations in order, with their operands and results.

    Attributes
    ----------
    inputs
        Operands, each with the strides of its buffer in elements, or None if it is dense.
    """

    inputs: list[tuple[Value, tuple[int, ...] | None]] = field(default_factory=list)
    outputs: Sequence[Value] = ()
    lines: list[str] = field(default_factory=list)

    def input(self, shape: Sequence[int], dtype: str = "f32", strides: tuple[int, ...] | None = None) -> Value:
        value = Value(f"%in{len(self.inputs)}", tuple(shape), dtype)
        self.inputs.append((value, strides))
        return value

    def append(self, text: str, shape: Sequence[int], dtype: str, types: str = "") -> Value:
        """Append an operation as text, without its result and the dialect's name."""
        value = Value(f"%{len(self.lines)}", tuple(shape), dtype)
        self.lines.append(f"{value.name} = cs336.{text} : {types or value.tensor}")
        return value

    def pointwise(self, op: str, *operands: Value) -> Value:
        """Append an operation on operands of one type, which is also the result's."""
        names = ", ".join(value.name for value in operands)
        return self.append(f"{op} {names}", operands[0].shape, operands[0].dtype)

    def compare(self, predicate: str, lhs: Value, rhs: Value) -> Value:
        return self.append(f"compare {predicate} {lhs.name}, {rhs.name}", lhs.shape, "i1", lhs.tensor)

    def select(self, condition: Value, if_true: Value, if_false: Value) -> Value:
        names = f"{condition.name}, {if_true.name}, {if_false.name}"
        return self.append(f"select {names}", if_true.shape, if_true.dtype)

    def cast(self, x: Value, dtype: str) -> Value:
        if x.dtype == dtype:
            return x
        return self.append(f"cast {x.name}", x.shape, dtype, f"{x.tensor} -> {Value('', x.shape, dtype).tensor}")

    def broadcast(self, x: Value, shape: Sequence[int], dims: Sequence[int]) -> Value:
        result = Value("", tuple(shape), x.dtype)
        return self.append(f"broadcast {x.name} dims = {list(dims)}", shape, x.dtype, f"{x.tensor} -> {result.tensor}")

    def along_rows(self, x: Value, like: Value) -> Value:
        """Broadcast one value per row to the elements of the row."""
        return self.broadcast(x, like.shape, range(len(x.shape)))

    def along_columns(self, x: Value, like: Value) -> Value:
        """Broadcast one row to all rows."""
        return self.broadcast(x, like.shape, range(len(like.shape) - len(x.shape), len(like.shape)))

    def reduce(self, kind: str, x: Value, axes: Sequence[int] | None = None) -> Value:
        axes = list(axes) if axes is not None else [len(x.shape) - 1]
        shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
        result = Value("", tuple(shape), x.dtype)
        return self.append(f"reduce {kind} {x.name} axes = {axes}", shape, x.dtype, f"{x.tensor} -> {result.tensor}")

    def constant(self, number: float | str, like: Value) -> Value:
        text = number if isinstance(number, str) else f"{number:.17e}"
        return self.append(f"constant dense<{text}>", like.shape, like.dtype)

    def iota(self, axis: int, shape: Sequence[int], dtype: str) -> Value:
        return self.append(f"iota axis = {axis}", shape, dtype)

    @property
    def num_bytes(self) -> int:
        """Return the bytes that are read and written if every operand is accessed once."""
        return sum(value.num_bytes for value, _ in self.inputs) + sum(value.num_bytes for value in self.outputs)

    def _body(self, terminator: str) -> str:
        names, types = (", ".join(part) for part in zip(*((v.name, v.tensor) for v in self.outputs), strict=True))
        return "\n".join(f"  {line}" for line in [*self.lines, f"{terminator} {names} : {types}"])

    def kernel(self, name: str) -> str:
        """Return the group as an `exec.kernel`."""
        arguments = ", ".join(f"{value.name}: {value.tensor}" for value, _ in self.inputs)
        layouts = ", ".join(
            f"memref<{value.sizes}{'' if strides is None else f', strided<{list(strides)}>'}>"
            for value, strides in self.inputs
        )
        results = ", ".join(f"memref<{value.sizes}>" for value in self.outputs)
        if len(self.outputs) > 1:
            results = f"({results})"
        return f"exec.kernel @{name}({arguments}) : ({layouts}) -> {results} {{\n{self._body('exec.yield')}\n}}\n"

    def fused(self, results: str, operands: str) -> str:
        """Return the group as a `cs336.fused` with these names around it."""
        arguments = ", ".join(f"{value.name}: {value.tensor}" for value, _ in self.inputs)
        inputs = ", ".join(value.tensor for value, _ in self.inputs)
        outputs = ", ".join(value.tensor for value in self.outputs)
        if len(self.outputs) > 1:
            outputs = f"({outputs})"
        head = f"{results} = cs336.fused({operands}) {{\n^bb0({arguments}):\n"
        return f"{head}{self._body('cs336.yield')}\n}} : ({inputs}) -> {outputs}\n"

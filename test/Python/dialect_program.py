"""Programs in the dialect that are written and evaluated at once.

Each method of `Program` appends one operation to the text and computes the same in NumPy, in float64, with its
vector-Jacobian product written from the operation's definition. The compiler gets the text and must return the values
and gradients. Only casts round, so an f32 program is compared with its exact value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Pullback = Callable[[Array], Sequence[Array | None]]

_ERF = np.vectorize(math.erf, otypes=[np.float64])
_ERFC = np.vectorize(math.erfc, otypes=[np.float64])
_NUMPY_TYPES = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32, "i1": np.bool_}


def is_float(dtype: str) -> bool:
    return dtype.startswith("f")


def literal(value: float) -> str:
    """Return a number in MLIR's syntax, exactly."""
    return f"{value:.17e}"


@dataclass(eq=False)
class Value:
    """A result: its name in the text, its elements, and the adjoint of its operation."""

    name: str
    dtype: str
    array: Array
    operands: Sequence[Value] = ()
    pullback: Pullback | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def type(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.dtype}>"


@dataclass(eq=False)
class Argument:
    """A parameter or an input of the program."""

    name: str
    kind: str
    value: Value
    bound: int | None = None

    @property
    def elements(self) -> Array:
        """The elements in the type that the program declares."""
        return self.value.array.astype(_NUMPY_TYPES[self.value.dtype])

    @property
    def text(self) -> str:
        bound = f", cs336.bound = {self.bound} : i64" if self.bound is not None else ""
        name = f'cs336.kind = "{self.kind}", cs336.name = "{self.name}"'
        return f"{self.value.name}: {self.value.type} {{{name}{bound}}}"


@dataclass(eq=False)
class Program:
    """One function of the dialect.

    Parameters
    ----------
    name
        The function's name; parameters are called `name.p0`, `name.p1`, …, so that programs can share a module.
    """

    name: str
    arguments: list[Argument] = field(default_factory=list)
    outputs: list[tuple[str, Value]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    # --- Arguments, results, text. ---

    def parameter(self, array: Array, dtype: str) -> Value:
        """Add a float parameter, whose elements are rounded to `dtype`."""
        index = sum(argument.kind == "parameter" for argument in self.arguments)
        return self._argument(f"{self.name}.p{index}", "parameter", array, dtype)

    def input(self, array: Array, dtype: str, bound: int | None = None) -> Value:
        """Add an input, for indices with the exclusive `bound` of its values."""
        index = sum(argument.kind == "input" for argument in self.arguments)
        return self._argument(f"x{index}", "input", array, dtype, bound)

    def _argument(self, name: str, kind: str, array: Array, dtype: str, bound: int | None = None) -> Value:
        elements = np.asarray(array, _NUMPY_TYPES[dtype])
        value = Value(f"%arg{len(self.arguments)}", dtype, elements.astype(np.float64) if is_float(dtype) else elements)
        self.arguments.append(Argument(name, kind, value, bound))
        self.values.append(value)
        return value

    def output(self, name: str, value: Value) -> None:
        self.outputs.append((name, value))

    @property
    def parameters(self) -> dict[str, Array]:
        return {a.name: a.elements for a in self.arguments if a.kind == "parameter"}

    @property
    def inputs(self) -> dict[str, Array]:
        return {a.name: a.elements for a in self.arguments if a.kind == "input"}

    def text(self, mode: str, function: str | None = None) -> str:
        """Return the function in the given mode: "forward", "loss", "forward_backward" or "train"."""
        arguments = ",\n    ".join(argument.text for argument in self.arguments)
        results = ", ".join(
            f'{value.type} {{cs336.kind = "output", cs336.name = "{name}"}}' for name, value in self.outputs
        )
        body = "\n".join(f"  {line}" for line in self.lines)
        names = ", ".join(value.name for _, value in self.outputs)
        types = ", ".join(value.type for _, value in self.outputs)
        return (
            f"func.func @{function or self.name}(\n    {arguments})\n    -> ({results})\n"
            f"    attributes {{cs336.mode = #cs336.mode<{mode}>}} {{\n{body}\n  return {names} : {types}\n}}\n"
        )

    def gradients(self) -> dict[str, Array]:
        """Return the gradient of the output "loss" with respect to every parameter."""
        loss = dict(self.outputs)["loss"]
        flowing: dict[int, Array] = {id(loss): np.ones(())}
        for value in reversed(self.values):
            gradient = flowing.get(id(value))
            if gradient is None or value.pullback is None:
                continue
            for operand, part in zip(value.operands, value.pullback(gradient), strict=True):
                if part is not None and is_float(operand.dtype):
                    assert part.shape == operand.shape, f"{self.lines}: {part.shape} for {operand.type}"
                    flowing[id(operand)] = flowing.get(id(operand), np.zeros(())) + part
        return {
            a.name: flowing.get(id(a.value), np.zeros(a.value.shape)) for a in self.arguments if a.kind == "parameter"
        }

    def _append(
        self, text: str, dtype: str, array: Array, operands: Sequence[Value] = (), pullback: Pullback | None = None
    ) -> Value:
        value = Value(f"%{len(self.lines)}", dtype, np.asarray(array), operands, pullback)
        suffix = text.replace("RESULT", value.type)
        self.lines.append(f"{value.name} = cs336.{suffix}")
        self.values.append(value)
        return value

    def external(self, name: str, array: Array, operands: Sequence[Value], pullback: Pullback) -> Value:
        """Add a value that NumPy code computed; the text only names it."""
        return self._append(f"external {name} : RESULT", operands[0].dtype, array, operands, pullback)

    # --- Sources. ---

    def constant(self, array: Array | float, dtype: str, shape: Sequence[int] | None = None) -> Value:
        """Add a splat of `shape`, or all elements of an array."""
        if shape is not None:
            return self._append(
                f"constant dense<{literal(float(array))}> : RESULT", dtype, np.full(shape, float(array))
            )

        elements = np.asarray(array, _NUMPY_TYPES[dtype])
        number = (lambda value: literal(float(value))) if is_float(dtype) else str

        def nested(part: Array) -> str:
            return f"[{', '.join(nested(row) for row in part)}]" if part.ndim else number(part[()])

        values = elements.astype(np.float64) if is_float(dtype) else elements
        return self._append(f"constant dense<{nested(elements)}> : RESULT", dtype, values)

    def iota(self, axis: int, shape: Sequence[int], dtype: str) -> Value:
        index = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        array = np.broadcast_to(index, shape).astype(np.float64 if is_float(dtype) else np.int64)
        return self._append(f"iota axis = {axis} : RESULT", dtype, array)

    # --- Pointwise. ---

    def unary(self, name: str, x: Value) -> Value:
        """Add one of the operations in `UNARY`."""
        y, slope = UNARY[name](x.array)
        mnemonic, attributes = ("gelu", " {tanh}") if name == "gelu_tanh" else (name, "")
        return self._append(f"{mnemonic} {x.name}{attributes} : RESULT", x.dtype, y, [x], lambda g: [g * slope])

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """Add one of the operations in `BINARY`."""
        result, x_slope, y_slope = BINARY[name](x.array, y.array)
        return self._append(
            f"{name} {x.name}, {y.name} : RESULT", x.dtype, result, [x, y], lambda g: [g * x_slope, g * y_slope]
        )

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        return self._append(
            f"compare {predicate} {x.name}, {y.name} : {x.type}", "i1", PREDICATES[predicate](x.array, y.array)
        )

    def logical(self, name: str, *operands: Value) -> Value:
        """One of the operations in `LOGICAL`."""
        result = LOGICAL[name](*(operand.array for operand in operands))
        return self._append(f"{name} {', '.join(operand.name for operand in operands)} : RESULT", "i1", result)

    def select(self, predicate: Value, x: Value, y: Value) -> Value:
        p = predicate.array
        return self._append(
            f"select {predicate.name}, {x.name}, {y.name} : RESULT",
            x.dtype,
            np.where(p, x.array, y.array),
            [predicate, x, y],
            lambda g: [None, np.where(p, g, 0), np.where(p, 0, g)],
        )

    def cast(self, x: Value, dtype: str) -> Value:
        array = x.array.astype(_NUMPY_TYPES[dtype])
        if is_float(dtype):
            array = array.astype(np.float64)
        return self._append(f"cast {x.name} : {x.type} -> RESULT", dtype, array, [x], lambda g: [g])

    # --- Shapes. ---

    def broadcast(self, x: Value, dims: Sequence[int], shape: Sequence[int]) -> Value:
        expanded = [1] * len(shape)
        for axis, dim in enumerate(dims):
            expanded[dim] = x.shape[axis]
        new = tuple(i for i in range(len(shape)) if i not in dims)
        array = np.broadcast_to(x.array.reshape(expanded), shape)
        return self._append(
            f"broadcast {x.name} dims = {list(dims)} : {x.type} -> RESULT",
            x.dtype,
            array,
            [x],
            lambda g: [g.sum(axis=new)],
        )

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        array = x.array.reshape(shape)
        return self._append(
            f"reshape {x.name} : {x.type} -> RESULT", x.dtype, array, [x], lambda g: [g.reshape(x.shape)]
        )

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        inverse = np.argsort(perm)
        return self._append(
            f"transpose {x.name} perm = {list(perm)} : {x.type} -> RESULT",
            x.dtype,
            x.array.transpose(perm),
            [x],
            lambda g: [g.transpose(inverse)],
        )

    def slice(self, x: Value, offsets: Sequence[int], shape: Sequence[int]) -> Value:
        box = _box(offsets, shape)

        def pullback(g: Array) -> list[Array]:
            whole = np.zeros(x.shape)
            whole[box] = g
            return [whole]

        return self._append(
            f"slice {x.name} offsets = {list(offsets)} : {x.type} -> RESULT", x.dtype, x.array[box], [x], pullback
        )

    def pad(self, x: Value, offsets: Sequence[int], shape: Sequence[int]) -> Value:
        box = _box(offsets, x.shape)
        whole = np.zeros(shape)
        whole[box] = x.array
        return self._append(
            f"pad {x.name} offsets = {list(offsets)} : {x.type} -> RESULT", x.dtype, whole, [x], lambda g: [g[box]]
        )

    def concat(self, axis: int, parts: Sequence[Value]) -> Value:
        ends = np.cumsum([part.shape[axis] for part in parts])[:-1]
        names, types = ", ".join(p.name for p in parts), ", ".join(p.type for p in parts)
        return self._append(
            f"concat axis = {axis} {names} : {types} -> RESULT",
            parts[0].dtype,
            np.concatenate([part.array for part in parts], axis),
            list(parts),
            lambda g: np.split(g, ends, axis),
        )

    # --- Reductions, matmuls, gathers. ---

    def reduce(self, kind: str, x: Value, axes: Sequence[int]) -> Value:
        """Add a sum or maximum. All elements that equal the maximum share its gradient."""
        axes = tuple(axes)
        kept = x.array.sum(axes, keepdims=True) if kind == "sum" else x.array.max(axes, keepdims=True)
        share = np.ones(x.shape)
        if kind == "max":
            share = (x.array == kept).astype(np.float64)
            share /= share.sum(axes, keepdims=True)
        return self._append(
            f"reduce {kind} {x.name} axes = {list(axes)} : {x.type} -> RESULT",
            x.dtype,
            kept.squeeze(axes) if axes else kept,
            [x],
            lambda g: [g.reshape(kept.shape) * share],
        )

    def matmul(
        self,
        x: Value,
        y: Value,
        transpose_a: bool = False,
        transpose_b: bool = False,
        addend: Value | None = None,
        bias: Value | None = None,
        relu: bool = False,
    ) -> Value:
        a = x.array.swapaxes(-1, -2) if transpose_a else x.array
        b = y.array.swapaxes(-1, -2) if transpose_b else y.array
        added = [value for value in (addend, bias) if value is not None]
        result = sum((value.array for value in added), a @ b)

        def pullback(g: Array) -> list[Array]:
            if relu:
                g = np.where(result <= 0, 0, g)
            da, db = g @ b.swapaxes(-1, -2), a.swapaxes(-1, -2) @ g
            if y.array.ndim == 2:
                db = db.reshape(-1, *db.shape[-2:]).sum(axis=0)
            factors = [
                da.swapaxes(-1, -2) if transpose_a else da,
                db.swapaxes(-1, -2) if transpose_b else db,
            ]
            return [*factors, *(g if value is addend else g.reshape(-1, g.shape[-1]).sum(axis=0) for value in added)]

        flags = {"relu": relu, "transpose_a": transpose_a, "transpose_b": transpose_b}
        attributes = ", ".join(name for name, flag in flags.items() if flag)
        attributes = f" {{{attributes}}}" if attributes else ""
        epilogue = "".join(f" {word} {value.name}" for word, value in (("add", addend), ("bias", bias)) if value)
        return self._append(
            f"matmul {x.name}, {y.name}{epilogue}{attributes} : {x.type}, {y.type} -> RESULT",
            x.dtype,
            np.where(result <= 0, 0, result) if relu else result,
            [x, y, *added],
            pullback,
        )

    def embedding(self, table: Value, ids: Value) -> Value:
        def pullback(g: Array) -> list[Array | None]:
            gradient = np.zeros(table.shape)
            np.add.at(gradient, ids.array, g)
            return [gradient, None]

        return self._append(
            f"embedding {table.name}, {ids.name} : {table.type}, {ids.type} -> RESULT",
            table.dtype,
            table.array[ids.array],
            [table, ids],
            pullback,
        )

    def attention(self, query: Value, key: Value, value: Value, scale: float, causal: bool) -> Value:
        """Attend from [B, Sq, H, D] to [B, Sk, Hkv, D]. The gradient is the formula's, not the blocked loops'."""
        group = query.shape[2] // key.shape[2]
        q = query.array.transpose(0, 2, 1, 3)
        k, v = (np.repeat(x.array.transpose(0, 2, 1, 3), group, axis=1) for x in (key, value))
        scores = scale * q @ k.swapaxes(-1, -2)
        if causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        p = powers / powers.sum(-1, keepdims=True)

        def ungroup(gradient: Array) -> Array:
            b, heads, length, dim = gradient.shape
            return gradient.reshape(b, heads // group, group, length, dim).sum(axis=2).transpose(0, 2, 1, 3)

        def pullback(g: Array) -> list[Array]:
            do = g.transpose(0, 2, 1, 3)
            dp = do @ v.swapaxes(-1, -2)
            ds = scale * p * (dp - (dp * p).sum(-1, keepdims=True))
            return [
                (ds @ k).transpose(0, 2, 1, 3),
                ungroup(ds.swapaxes(-1, -2) @ q),
                ungroup(p.swapaxes(-1, -2) @ do),
            ]

        output = Value(f"%{len(self.lines)}", query.dtype, (p @ v).transpose(0, 2, 1, 3), [query, key, value], pullback)
        sums = "x".join(str(size) for size in scores.shape[:-1])
        flags = f"{{scale = {literal(scale)} : f64{', causal' if causal else ''}}}"
        self.lines.append(
            f"{output.name}, %lse{len(self.lines)} = cs336.attention {query.name}, {key.name}, {value.name} {flags}"
            f" : {query.type}, {key.type} -> tensor<{sums}x{query.dtype}>"
        )
        self.values.append(output)
        return output

    # --- Composites. ---

    def linear(self, x: Value, weight: Value) -> Value:
        def pullback(g: Array) -> list[Array]:
            rows = g.reshape(-1, g.shape[-1]).T @ x.array.reshape(-1, x.shape[-1])
            return [g @ weight.array, rows]

        return self._append(
            f"linear {x.name}, {weight.name} : {x.type}, {weight.type} -> RESULT",
            x.dtype,
            x.array @ weight.array.T,
            [x, weight],
            pullback,
        )

    def rms_norm(self, x: Value, weight: Value, eps: float) -> Value:
        r = 1 / np.sqrt(np.mean(np.square(x.array), -1, keepdims=True) + eps)
        unit = x.array * r

        def pullback(g: Array) -> list[Array]:
            dn = g * weight.array
            rows = tuple(range(g.ndim - 1))
            return [r * (dn - unit * np.mean(dn * unit, -1, keepdims=True)), np.sum(g * unit, rows)]

        return self._append(
            f"rms_norm {x.name}, {weight.name} eps = {literal(eps)} : {x.type}, {weight.type}",
            x.dtype,
            unit * weight.array,
            [x, weight],
            pullback,
        )

    def layer_norm(self, x: Value, weight: Value, bias: Value, eps: float) -> Value:
        centred = x.array - np.mean(x.array, -1, keepdims=True)
        r = 1 / np.sqrt(np.mean(np.square(centred), -1, keepdims=True) + eps)
        unit = centred * r

        def pullback(g: Array) -> list[Array]:
            dn = g * weight.array
            rows = tuple(range(g.ndim - 1))
            dx = r * (dn - np.mean(dn, -1, keepdims=True) - unit * np.mean(dn * unit, -1, keepdims=True))
            return [dx, np.sum(g * unit, rows), np.sum(g, rows)]

        return self._append(
            f"layer_norm {x.name}, {weight.name}, {bias.name} eps = {literal(eps)} : {x.type}, {weight.type}",
            x.dtype,
            unit * weight.array + bias.array,
            [x, weight, bias],
            pullback,
        )

    def rope(self, x: Value, theta: float) -> Value:
        length, dim = x.shape[-2:]
        turn = np.exp(1j * np.outer(np.arange(length), theta ** (-np.arange(0, dim, 2) / dim)))

        def rotate(value: Array, factor: Array) -> Array:
            pairs = (value[..., 0::2] + 1j * value[..., 1::2]) * factor
            return np.stack([pairs.real, pairs.imag], -1).reshape(value.shape)

        return self._append(
            f"rope {x.name} theta = {literal(theta)} : RESULT",
            x.dtype,
            rotate(x.array, turn),
            [x],
            lambda g: [rotate(g, turn.conj())],
        )

    def softmax(self, x: Value, mask: Value | None = None, scale: float = 1.0) -> Value:
        z = scale * x.array if mask is None else np.where(mask.array, scale * x.array, -np.inf)
        exponentials = np.exp(z - z.max(-1, keepdims=True))
        y = exponentials / exponentials.sum(-1, keepdims=True)

        def pullback(g: Array) -> list[Array | None]:
            return [scale * y * (g - np.sum(y * g, -1, keepdims=True)), *([] if mask is None else [None])]

        masked, mask_type = ("", "") if mask is None else (f" mask {mask.name}", f", {mask.type}")
        operands = [x] if mask is None else [x, mask]
        text = f"softmax {x.name}{masked} {{scale = {literal(scale)} : f64}} : RESULT{mask_type}"
        return self._append(text, x.dtype, y, operands, pullback)

    def cross_entropy(self, logits: Value, targets: Value) -> Value:
        shifted = logits.array - logits.array.max(-1, keepdims=True)
        exponentials = np.exp(shifted)
        total = exponentials.sum(-1)
        one_hot = np.arange(logits.shape[-1]) == targets.array[..., None]
        value = np.mean(np.log(total) - np.sum(shifted * one_hot, -1))
        return self._append(
            f"cross_entropy {logits.name}, {targets.name} : {logits.type}, {targets.type} -> RESULT",
            logits.dtype,
            value,
            [logits, targets],
            lambda g: [g * (exponentials / total[..., None] - one_hot) / total.size, None],
        )


def _box(offsets: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(begin, begin + size) for begin, size in zip(offsets, shape, strict=True))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _gelu(x: Array) -> tuple[Array, Array]:
    cumulative = 0.5 * _ERFC(-x / math.sqrt(2))
    return x * cumulative, cumulative + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _gelu_tanh(x: Array) -> tuple[Array, Array]:
    c = math.sqrt(2 / math.pi)
    # With t = tanh(u): ½ (1 + t) is s = sigmoid(2u), and ½ (1 − t²) is 2 s sigmoid(−2u).
    u = c * (x + 0.044715 * x**3)
    s = _sigmoid(2 * u)
    return x * s, s + x * (2 * s * _sigmoid(-2 * u)) * c * (1 + 3 * 0.044715 * x * x)


UNARY: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "neg": lambda x: (-x, np.full(x.shape, -1.0)),
    "exp": lambda x: (np.exp(x), np.exp(x)),
    "log": lambda x: (np.log(x), 1 / x),
    "rsqrt": lambda x: (x**-0.5, -0.5 * x**-1.5),
    "sqrt": lambda x: (np.sqrt(x), 0.5 / np.sqrt(x)),
    "sin": lambda x: (np.sin(x), np.cos(x)),
    "cos": lambda x: (np.cos(x), -np.sin(x)),
    "tanh": lambda x: (np.tanh(x), 1 / np.cosh(x) ** 2),
    "erf": lambda x: (_ERF(x), 2 / math.sqrt(math.pi) * np.exp(-x * x)),
    "sigmoid": lambda x: (_sigmoid(x), _sigmoid(x) * _sigmoid(-x)),
    "relu": lambda x: (np.maximum(x, 0), (x > 0).astype(np.float64)),
    "silu": lambda x: (x * _sigmoid(x), _sigmoid(x) * (1 + x * _sigmoid(-x))),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
}
"""Value and slope of every operation of one operand."""

BINARY: dict[str, Callable[[Array, Array], tuple[Array, Array, Array]]] = {
    "add": lambda x, y: (x + y, np.ones(x.shape), np.ones(x.shape)),
    "sub": lambda x, y: (x - y, np.ones(x.shape), np.full(x.shape, -1.0)),
    "mul": lambda x, y: (x * y, y, x),
    "div": lambda x, y: (x / y, 1 / y, -x / (y * y)),
    "max": lambda x, y: (np.maximum(x, y), (x > y).astype(np.float64), (y > x).astype(np.float64)),
    "min": lambda x, y: (np.minimum(x, y), (x < y).astype(np.float64), (y < x).astype(np.float64)),
    "pow": lambda x, y: (x**y, y * x ** (y - 1), x**y * np.log(x)),
}
"""Value and both slopes of every operation of two operands; at ties of max and min no slope is defined."""

LOGICAL: dict[str, Callable[..., Array]] = {"and": np.logical_and, "or": np.logical_or, "not": np.logical_not}
PREDICATES: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}

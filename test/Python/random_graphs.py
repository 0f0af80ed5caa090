"""Seeded random graphs of the dialect's operations, small and awkward: odd sizes, axes of size 1, shared values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from dialect_program import BINARY, LOGICAL, PREDICATES, UNARY, Program, Value, is_float

SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 9, 17)
MOST_ELEMENTS = 700
LARGEST_MAGNITUDE = 20.0
# Comparisons closer than this could change after rounding.
CLOSEST = 1e-5


class GraphBuilder:
    """Grows one program, one operation at a time, from its existing values.

    Parameters
    ----------
    name
        Name of the program.
    seed
        The same seed gives the same program.
    dtype
        "f64", "f32", or "mixed": both, with casts between them.
    """

    def __init__(self, name: str, seed: int, dtype: str) -> None:
        self.rng = np.random.default_rng(seed)
        self.program = Program(name)
        self.dtypes = ["f32", "f64"] if dtype == "mixed" else [dtype]
        self.pool: list[Value] = []
        self.steps: list[Callable[[], Value | None]] = [
            self._unary,
            self._unary,
            self._unary,
            self._binary,
            self._binary,
            self._select,
            self._cast,
            self._broadcast,
            self._reduce,
            self._reshape,
            self._transpose,
            self._slice,
            self._pad,
            self._concat,
            self._matmul,
            self._embedding,
            self._linear,
            self._norm,
            self._rope,
        ]

    def build(self) -> Program:
        """Grow the program and end it in outputs "y" and "loss"."""
        for _ in range(self._int(1, 3)):
            self._parameter(self._shape())
        target = len(self.program.lines) + self._int(3, 14)
        while len(self.program.lines) < target:
            value = self.steps[self._int(0, len(self.steps) - 1)]()
            if value is not None:
                self._keep(value)
        y = self._floats()[-1]
        self.program.output("y", y)
        self.program.output("loss", self._loss(y))
        return self.program

    # --- Choices. ---

    def _int(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def _chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def _size(self) -> int:
        return SIZES[self._int(0, len(SIZES) - 1)]

    def _shape(self, least_rank: int = 0) -> tuple[int, ...]:
        while True:
            shape = tuple(self._size() for _ in range(self._int(least_rank, 4)))
            if math.prod(shape) <= MOST_ELEMENTS:
                return shape

    def _dtype(self) -> str:
        return self.dtypes[self._int(0, len(self.dtypes) - 1)]

    def _floats(self, least_rank: int = 0) -> list[Value]:
        return [value for value in self.pool if is_float(value.dtype) and len(value.shape) >= least_rank]

    def _pick(self, least_rank: int = 0) -> Value:
        """Return a value from the pool, with a preference for recent ones; a new parameter if there is none."""
        values = self._floats(least_rank)
        if not values:
            return self._parameter(self._shape(least_rank))
        return values[-1 - min(int(self.rng.geometric(0.4)) - 1, len(values) - 1)]

    def _parameter(self, shape: tuple[int, ...], dtype: str | None = None) -> Value:
        value = self.program.parameter(self.rng.standard_normal(shape), dtype or self._dtype())
        self.pool.append(value)
        return value

    def _like(self, x: Value) -> Value:
        """Return another value of x's type: from the pool, a broadcast scalar, or a new parameter."""
        same = [v for v in self._floats() if v.type == x.type and v is not x]
        if same and self._chance(0.7):
            return same[self._int(0, len(same) - 1)]
        scalars = [v for v in self._floats() if v.shape == () and v.dtype == x.dtype]
        if scalars and x.shape and self._chance(0.5):
            return self.program.broadcast(scalars[-1], [], x.shape)
        return self._parameter(x.shape, x.dtype)

    def _keep(self, value: Value) -> None:
        if is_float(value.dtype) and np.max(np.abs(value.array), initial=0) > LARGEST_MAGNITUDE:
            value = self.program.unary("tanh", value)
        self.pool.append(value)

    def _positive(self, x: Value) -> Value:
        """Return x² + ½."""
        square = self.program.binary("mul", x, x)
        return self.program.binary("add", square, self.program.constant(0.5, x.dtype, x.shape))

    def _apart(self, x: Value, y: Value) -> bool:
        return bool(np.all(np.abs(x.array - y.array) > CLOSEST))

    # --- One step each; None if the present values do not allow it. ---

    def _unary(self) -> Value | None:
        x, name = self._pick(), list(UNARY)[self._int(0, len(UNARY) - 1)]
        if name in ("log", "sqrt", "rsqrt"):
            x = self._positive(x)
        elif name == "exp":
            x = self.program.unary("sin", x)
        elif name == "relu" and not np.all(np.abs(x.array) > CLOSEST):
            return None
        return self.program.unary(name, x)

    def _binary(self) -> Value | None:
        x, name = self._pick(), list(BINARY)[self._int(0, len(BINARY) - 1)]
        y = self._like(x)
        if self._chance(0.5):
            x, y = y, x
        if name == "div":
            y = self._positive(y)
        elif name == "pow":
            x, y = self._positive(x), self.program.unary("tanh", y)
        elif name in ("max", "min") and not self._apart(x, y):
            return None
        return self.program.binary(name, x, y)

    def _predicate(self, shape: tuple[int, ...], x: Value, y: Value) -> Value | None:
        names = list(PREDICATES)
        if shape and self._chance(0.5):
            dtype = ("i32", "i64")[self._int(0, 1)]
            rows = self.program.iota(self._int(0, len(shape) - 1), shape, dtype)
            columns = self.program.iota(self._int(0, len(shape) - 1), shape, dtype)
            return self.program.compare(names[self._int(0, 5)], rows, columns)
        return self.program.compare(names[self._int(2, 5)], x, y) if self._apart(x, y) else None

    def _connected(self, predicate: Value, x: Value, y: Value) -> Value:
        """Negate a predicate, or connect it with another one."""
        name = list(LOGICAL)[self._int(0, len(LOGICAL) - 1)]
        if name == "not":
            return self.program.logical(name, predicate)
        other = self._predicate(x.shape, x, y)
        return self.program.logical(name, predicate, predicate if other is None else other)

    def _select(self) -> Value | None:
        x = self._pick()
        y = self._like(x)
        predicate = self._predicate(x.shape, x, y)
        if predicate is None:
            return None
        if self._chance(0.3):
            predicate = self._connected(predicate, x, y)
        if self._chance(0.2):
            return self.program.cast(predicate, x.dtype)
        return self.program.select(predicate, x, y)

    def _cast(self) -> Value | None:
        x = self._pick()
        others = [dtype for dtype in self.dtypes if dtype != x.dtype]
        return self.program.cast(x, others[0]) if others else None

    def _broadcast(self) -> Value | None:
        x = self._pick()
        rank = len(x.shape) + self._int(1, 2)
        dims = sorted(int(d) for d in self.rng.choice(rank, len(x.shape), replace=False))
        shape = [self._size() for _ in range(rank)]
        for axis, dim in enumerate(dims):
            shape[dim] = x.shape[axis]
        return self.program.broadcast(x, dims, shape) if rank <= 5 and math.prod(shape) <= MOST_ELEMENTS else None

    def _reduce(self) -> Value | None:
        x = self._pick(1)
        count = self._int(1, len(x.shape))
        axes = sorted(int(a) for a in self.rng.choice(len(x.shape), count, replace=False))
        if self._chance(0.6):
            return self.program.reduce("sum", x, axes)
        rows = np.moveaxis(x.array, axes, range(-count, 0)).reshape(-1, math.prod(x.shape[a] for a in axes))
        gaps = rows.max(-1, keepdims=True) - rows
        return self.program.reduce("max", x, axes) if np.all((gaps == 0) | (gaps > CLOSEST)) else None

    def _reshape(self) -> Value | None:
        x = self._pick()
        sizes = [s for s in x.shape if s > 1]
        if len(sizes) > 1 and self._chance(0.6):
            at = self._int(0, len(sizes) - 2)
            sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
        composite = [i for i, s in enumerate(sizes) if s % 2 == 0 and s > 2]
        if composite and self._chance(0.5):
            sizes[composite[0] : composite[0] + 1] = [2, sizes[composite[0]] // 2]
        if self._chance(0.5):
            sizes.insert(self._int(0, len(sizes)), 1)
        return self.program.reshape(x, sizes) if tuple(sizes) != x.shape else None

    def _transpose(self) -> Value | None:
        x = self._pick(2)
        return self.program.transpose(x, [int(a) for a in self.rng.permutation(len(x.shape))])

    def _slice(self) -> Value | None:
        x = self._pick(1)
        shape = [self._int(1, size) for size in x.shape]
        offsets = [self._int(0, size - part) for size, part in zip(x.shape, shape, strict=True)]
        return self.program.slice(x, offsets, shape)

    def _pad(self) -> Value | None:
        x = self._pick(1)
        shape = [size + self._int(0, 3) for size in x.shape]
        offsets = [self._int(0, whole - size) for size, whole in zip(x.shape, shape, strict=True)]
        return self.program.pad(x, offsets, shape) if math.prod(shape) <= MOST_ELEMENTS else None

    def _concat(self) -> Value | None:
        x = self._pick(1)
        axis = self._int(0, len(x.shape) - 1)
        others = [
            v
            for v in self._floats(1)
            if v.dtype == x.dtype
            and len(v.shape) == len(x.shape)
            and all(a == b for i, (a, b) in enumerate(zip(v.shape, x.shape, strict=True)) if i != axis)
        ]
        parts = [others[self._int(0, len(others) - 1)] for _ in range(self._int(1, 2))]
        parts.insert(self._int(0, len(parts)), x)
        size = sum(math.prod(part.shape) for part in parts)
        return self.program.concat(axis, parts) if size <= MOST_ELEMENTS else None

    def _matmul(self) -> Value | None:
        x = self._pick(2)
        transpose_a, transpose_b = self._chance(0.5), self._chance(0.5)
        k, n = x.shape[-2 if transpose_a else -1], self._size()
        batch = x.shape[:-2] if self._chance(0.5) else ()
        shape = (*batch, n, k) if transpose_b else (*batch, k, n)
        if math.prod(shape) > MOST_ELEMENTS:
            return None
        square = [v for v in self._floats(2) if v.shape == shape and v.dtype == x.dtype]
        y = square[0] if square else self._parameter(shape, x.dtype)
        return self.program.matmul(x, y, transpose_a, transpose_b)

    def _embedding(self) -> Value | None:
        tables = [v for v in self._floats(2) if len(v.shape) == 2]
        table = tables[-1] if tables else self._parameter((self._size(), self._size()))
        shape = self._shape()
        if math.prod(shape) * table.shape[1] > MOST_ELEMENTS:
            return None
        rows = table.shape[0]
        ids = self.program.input(self.rng.integers(0, rows, shape), ("i64", "i32")[self._int(0, 1)], rows)
        return self.program.embedding(table, ids)

    def _linear(self) -> Value | None:
        x = self._pick(1)
        return self.program.linear(x, self._parameter((self._size(), x.shape[-1]), x.dtype))

    def _norm(self) -> Value | None:
        x = self._pick(1)
        # Rows that are nearly constant amplify rounding errors without bound.
        if np.min(np.std(x.array, -1)) < 0.1:
            return None
        weight = self._parameter(x.shape[-1:], x.dtype)
        if self._chance(0.5):
            return self.program.rms_norm(x, weight, 1e-5)
        return self.program.layer_norm(x, weight, self._parameter(x.shape[-1:], x.dtype), 1e-5)

    def _rope(self) -> Value | None:
        x = self._pick(2)
        return self.program.rope(x, 10000.0) if x.shape[-1] % 2 == 0 else None

    def _loss(self, y: Value) -> Value:
        """Return a scalar with a different weight per element of y."""
        if y.shape and y.shape[-1] > 1 and self._chance(0.3):
            targets = self.rng.integers(0, y.shape[-1], y.shape[:-1])
            return self.program.cross_entropy(y, self.program.input(targets, "i64", y.shape[-1]))
        weights = self.program.input(self.rng.standard_normal(y.shape), y.dtype)
        return self.program.reduce("sum", self.program.binary("mul", y, weights), list(range(len(y.shape))))


def random_program(name: str, seed: int, dtype: str) -> Program:
    """Build the program of that seed; see `GraphBuilder`."""
    return GraphBuilder(name, seed, dtype).build()

# ===- attention_case.py - Attentions as kernels, with float64 references -===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""One attention and its gradient as kernels in IR, and the check of their values against NumPy in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from cuda_on_host import HostKernel
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
}

# ‖out − ref‖ / ‖ref‖. With n bits, the relative error of a number is at most 2^-n. The result is rounded once; the
# probabilities, or the gradients of scores, are rounded once before they are multiplied; and the gradients start from a
# rounded output. In tf32 all operands of matmuls are rounded to 11 bits. In float32 only sums of up to 256 terms round,
# and so in float64.
BOUNDS = {"f64": 2.0**-49, "f32": 2.0**-20, "tf32": 2 * 2.0**-11, "bf16": 3 * 2.0**-9, "f16": 3 * 2.0**-12}


@dataclass(frozen=True, repr=False)
class ScoreFunction:
    """A score function as operations of the dialect, and in NumPy."""

    name: str
    #: Operations on %s, %b, %h, %i, %j and tables %t0, %t1, …, which compute the score %r. TYPE is its element type.
    text: str
    #: Operations that compute %d, its derivative with respect to %s.
    derivative: str
    #: Returns the score and its derivative, from arrays of scaled scores, batch, head, query, key, and the tables.
    evaluate: Callable[..., tuple[Array, Array]]
    #: Draws the tables for a case.
    tables: Callable[[Case, np.random.Generator], list[Array]] = lambda case, rng: []

    def __repr__(self) -> str:
        return self.name

    def region(self, tables: list[Array], number: str, *, is_backward: bool) -> str:
        types = [table_type(table) for table in tables]
        names = [f"%t{i}" for i in range(len(types))]
        operands = f"{', '.join(f'%a{i}' for i in range(len(types)))} : {', '.join(types)}" if types else ""
        score = f"tensor<{number}>"
        arguments = [f"%s: {score}", *(f"%{name}: tensor<i32>" for name in "bhij")]
        arguments += [f"{name}: {kind}" for name, kind in zip(names, types, strict=True)]
        yields = f"%r, %d : {score}, {score}" if is_backward else f"%r : {score}"
        body = self.text + (self.derivative if is_backward else "")
        infinity = "0xFFF0000000000000" if number == "f64" else "0xFF800000"
        for i, kind in enumerate(types):
            body = body.replace(f"TABLE{i}", kind)
        body = body.replace("TYPE", score).replace("INFINITY", infinity)
        return f" score({operands}) {{\n^bb0({', '.join(arguments)}):\n{body}\n  cs336.yield {yields}\n}}"


def table_type(table: Array, kind: str = "tensor") -> str:
    """Return the type of a table in IR."""
    names = {"float32": "f32", "float64": "f64", "int32": "i32", "bool": "i1"}
    return f"{kind}<{''.join(f'{size}x' for size in table.shape)}{names[table.dtype.name]}>"


@dataclass(frozen=True)
class Case:
    """An attention whose operands have `padding` elements between heads, and twice as many between positions.

    Queries, keys and values each share a component of this many standard deviations of their differences.
    """

    #: Type of elements; "tf32" is float32 whose matmuls may use tf32.
    dtype: str
    batches: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    head_dim: int
    causal: bool
    padding: int = 0
    common: float = 0
    score: ScoreFunction | None = None
    #: Standard deviation of queries.
    size: float = 1

    @property
    def scale(self) -> float:
        return 1 / math.sqrt(self.head_dim)

    @property
    def queries_shape(self) -> tuple[int, ...]:
        return (self.batches, self.queries, self.heads, self.head_dim)

    @property
    def keys_shape(self) -> tuple[int, ...]:
        return (self.batches, self.keys, self.key_heads, self.head_dim)

    @property
    def sums_shape(self) -> tuple[int, ...]:
        return (self.batches, self.heads, self.queries)

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the element strides of each axis."""
        head = shape[3] + self.padding
        position = shape[2] * head + 2 * self.padding
        return (shape[1] * position, position, head, 1)

    def kernels(self, number: int) -> str:
        """Return kernels @forward<number> and @backward<number>, which read padded operands and write dense results."""
        types = {}
        memrefs = {}
        for read, written, shape in (("q", "o", self.queries_shape), ("k", "g", self.keys_shape)):
            elements = f"{'x'.join(map(str, shape))}x{self.dtype.removeprefix('t')}"
            layout = f", strided<[{', '.join(map(str, self.strides(shape)))}]>" if self.padding else ""
            memrefs[read], memrefs[written] = f"memref<{elements}{layout}>", f"memref<{elements}>"
            types[read] = types[written] = f"tensor<{elements}>"
        sums = "x".join(map(str, self.sums_shape)) + ("xf64" if self.dtype == "f64" else "xf32")
        types["l"], memrefs["l"] = f"tensor<{sums}>", f"memref<{sums}>"

        def listed(names: str, of: dict[str, str]) -> str:
            return ", ".join(of[name] for name in names)

        tables = self.tables()
        operands = "".join(f", %a{i}: {table_type(table)}" for i, table in enumerate(tables))
        memory = "".join(f", {table_type(table, 'memref')}" for table in tables)
        number_type = "f64" if self.dtype == "f64" else "f32"

        def region(is_backward: bool) -> str:
            return self.score.region(tables, number_type, is_backward=is_backward) if self.score else ""

        precision = ", precision = #cs336.precision<tf32>" if self.dtype == "tf32" else ""
        attributes = f"{{scale = {self.scale!r} : f64{', causal' if self.causal else ''}{precision}}}"
        return f"""
exec.kernel @forward{number}(%q: {types["q"]}, %k: {types["k"]}, %v: {types["k"]}{operands})
    : ({listed("qkk", memrefs)}{memory}) -> ({listed("ol", memrefs)}) {{
  %o, %l = cs336.attention %q, %k, %v {attributes} : {types["q"]}, {types["k"]} -> {types["l"]}{region(False)}
  exec.yield %o, %l : {types["q"]}, {types["l"]}
}}
exec.kernel @backward{number}(%q: {types["q"]}, %k: {types["k"]}, %v: {types["k"]}, %o: {types["q"]}, %l: {types["l"]},
    %do: {types["q"]}{operands}) : ({listed("qkkolq", memrefs)}{memory}) -> ({listed("ogg", memrefs)}) {{
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %do {attributes}
      : {types["q"]}, {types["k"]}, {types["l"]}{region(True)}
  exec.yield %dq, %dk, %dv : {listed("qkk", types)}
}}
"""

    def tables(self) -> list[Array]:
        """Return the tables of the score function, the same in each call."""
        return self.score.tables(self, np.random.default_rng(11)) if self.score else []

    def place(self, values: Array) -> tuple[Array, Array]:
        """Return memory with the values in the kernels' layout and NaN in between, and a view of the values."""
        strides = self.strides(values.shape)
        memory = np.full(values.shape[0] * strides[0], np.nan, values.dtype)
        view = np.lib.stride_tricks.as_strided(memory, values.shape, [step * values.itemsize for step in strides])
        view[...] = values
        return memory, view

    def check(self, kernels: dict[str, HostKernel], number: int, rng: np.random.Generator) -> None:
        dtype = DTYPES[self.dtype]

        tables = self.tables()

        def draw(shape: tuple[int, ...], common: float = 0, size: float = 1) -> tuple[Array, Array]:
            offset = common * rng.standard_normal(shape[2:]) if common else 0
            return self.place((size * rng.standard_normal(shape) + offset).astype(dtype))

        def unknown(shape: tuple[int, ...]) -> Array:
            return np.full(shape, np.nan, dtype)

        q, q_view = draw(self.queries_shape, self.common, self.size)
        (k, k_view), (v, v_view) = draw(self.keys_shape, self.common), draw(self.keys_shape, self.common)
        do, do_view = draw(self.queries_shape)
        o = unknown(self.queries_shape)
        sums = np.full(self.sums_shape, np.nan, np.float64 if self.dtype == "f64" else np.float32)
        kernels[f"forward{number}"](q, k, v, *tables, o, sums)
        dq, dk, dv = unknown(self.queries_shape), unknown(self.keys_shape), unknown(self.keys_shape)
        kernels[f"backward{number}"](q, k, v, o, sums, do, *tables, dq, dk, dv)

        expected = self.reference(*(view.astype(np.float64) for view in (q_view, k_view, v_view, do_view)))
        found = {"o": o, "sums": sums, "dq": dq, "dk": dk, "dv": dv}
        for name, reference in expected.items():
            if name == "sums":
                # Rows that see nothing have sums of −∞.
                seen = np.isfinite(reference)
                assert np.array_equal(sums == -np.inf, ~seen), f"{self}: other rows see nothing"
                found["sums"], reference = sums[seen], reference[seen]
            # Queries that see one key have gradients of 0: differences of numbers near 1.
            norm = max(float(np.linalg.norm(reference)), 1.0)
            error = float(np.linalg.norm(found[name].astype(np.float64) - reference)) / norm
            # Probabilities have the relative error that scores have as an absolute one.
            bound = self.size * BOUNDS["f32" if name == "sums" and self.dtype in ("bf16", "f16") else self.dtype]
            assert error <= bound, f"{self}: {name} is off by {error:.2e}, more than {bound:.2e}"
        if self.common and self.head_dim <= 256 and not self.score:
            # A vector that is added to all keys changes no probability.
            rest = float(np.linalg.norm(dk.astype(np.float64).sum(1)) / np.linalg.norm(expected["dk"]))
            assert rest <= BOUNDS[self.dtype], f"{self}: the sum of dk is off by {rest:.2e}"

    def reference(self, q: Array, k: Array, v: Array, do: Array) -> dict[str, Array]:
        group = self.heads // self.key_heads
        k_of_query, v_of_query = np.repeat(k, group, axis=2), np.repeat(v, group, axis=2)
        scores = np.einsum("bihd,bjhd->bhij", q, k_of_query) * self.scale
        derivative = np.ones(())
        if self.score:
            tables = [table.astype(np.float64) if table.dtype.kind == "f" else table for table in self.tables()]
            scores, derivative = self.score.evaluate(scores, *np.ogrid[tuple(map(slice, scores.shape))], *tables)
        if self.causal:
            visible = np.arange(self.keys)[None] <= np.arange(self.queries)[:, None]
            scores = np.where(visible, scores, -np.inf)
        largest = scores.max(-1, keepdims=True)
        shift = np.where(largest == -np.inf, 0, largest)
        with np.errstate(divide="ignore"):
            sums = (shift + np.log(np.exp(scores - shift).sum(-1, keepdims=True)))[..., 0]
        p = np.exp(scores - np.where(sums == -np.inf, 0, sums)[..., None])
        dp = np.einsum("bihd,bjhd->bhij", do, v_of_query)
        ds = derivative * p * (dp - (p * dp).sum(-1, keepdims=True)) * self.scale
        of_group = (self.batches, self.keys, self.key_heads, group, self.head_dim)
        return {
            "o": np.einsum("bhij,bjhd->bihd", p, v_of_query),
            "sums": sums,
            "dq": np.einsum("bhij,bjhd->bihd", ds, k_of_query),
            "dk": np.einsum("bhij,bihd->bjhd", ds, q).reshape(of_group).sum(3),
            "dv": np.einsum("bhij,bihd->bjhd", p, do).reshape(of_group).sum(3),
        }

"""One small program for every differentiable operation of the dialect, and for each of its variants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from dialect_program import BINARY, UNARY, Array, Program, Value


@dataclass(frozen=True)
class Case:
    """An operation on fresh parameters.

    Attributes
    ----------
    name
        The operation, and the variant after a hyphen.
    shapes
        Shapes of the parameters.
    build
        Function that appends the operation to a program.
    low, high
        Range of the parameters' elements.
    step, tolerance
        Step and tolerance of finite differences: wide for a linear operation that rounds.
    is_narrow
        True if it rounds to float32.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    build: Callable[[Program, list[Value]], Value]
    low: float = -1.5
    high: float = 1.5
    step: float = 1e-5
    tolerance: float = 1e-7
    is_narrow: bool = False

    @property
    def operation(self) -> str:
        return "cs336." + self.name.split("-")[0]

    @property
    def function(self) -> str:
        return self.name.replace("-", "_")

    def arrays(self) -> list[Array]:
        """Return elements for the parameters, the same every time."""
        rng = np.random.default_rng(sum(map(ord, self.name)))
        return [rng.uniform(self.low, self.high, shape) for shape in self.shapes]

    def program(self, arrays: list[Array], name: str | None = None) -> Program:
        """Add the operation on `arrays`, its result "y", and "loss", with a different weight per element of y."""
        program = Program(name or self.function)
        y = self.build(program, [program.parameter(array, "f64") for array in arrays])
        program.output("y", y)
        wide = program.cast(y, "f64") if y.dtype != "f64" else y
        # Cancellation in a sum loses digits, of which float32 has few: the weights are positive.
        factors = np.cos(1.0 + np.arange(wide.array.size)) + (2.0 if self.is_narrow else 0.0)
        weights = program.constant(factors.reshape(wide.shape), "f64")
        product = program.binary("mul", wide, weights)
        program.output("loss", program.reduce("sum", product, list(range(len(y.shape)))))
        return program


def _unary_cases() -> list[Case]:
    positive = ("log", "sqrt", "rsqrt")
    return [
        Case(
            name.replace("_", "-"),
            ((3, 5),),
            lambda program, p, name=name: program.unary(name, p[0]),
            low=0.5 if name in positive else -1.5,
        )
        for name in UNARY
    ]


def _binary_cases() -> list[Case]:
    return [
        Case(
            name,
            ((4, 3), (4, 3)),
            lambda program, p, name=name: program.binary(name, p[0], p[1]),
            low=0.5 if name in ("div", "pow") else -1.5,
        )
        for name in BINARY
    ]


def _matmul_cases() -> list[Case]:
    cases = []
    for batch, label in (((), ""), ((2, 2), "-batched"), ((3,), "-shared")):
        for flags in ((False, False), (False, True), (True, False), (True, True)):
            a = (4, 3) if flags[0] else (3, 4)
            b = (5, 4) if flags[1] else (4, 5)
            other = () if label == "-shared" else batch
            name = f"matmul{label}-{''.join('t' if flag else 'n' for flag in flags)}"
            cases.append(
                Case(name, ((*batch, *a), (*other, *b)), lambda program, p, f=flags: program.matmul(p[0], p[1], *f))
            )
    return cases


def _adding_matmul(program: Program, p: list[Value]) -> Value:
    return program.matmul(p[0], p[1], transpose_b=True, addend=p[2])


def _rectified_matmul(program: Program, p: list[Value]) -> Value:
    """Run in float32: libraries have no such GEMM in float64."""
    x, w, bias = (program.cast(value, "f32") for value in p)
    return program.matmul(x, w, transpose_b=True, bias=bias, relu=True)


def _select(program: Program, p: list[Value]) -> Value:
    rows, columns = (program.iota(axis, (3, 4), "i64") for axis in (0, 1))
    return program.select(program.compare("ge", rows, columns), p[0], p[1])


def _logic(program: Program, p: list[Value]) -> Value:
    """Select by every connective: ((i ≥ j and i + j < 5) or i = 0) and not j = 2."""
    shape = (4, 5)
    i, j = (program.iota(axis, shape, "i64") for axis in (0, 1))
    five, two, zero = (program.constant(np.full(shape, number), "i64") for number in (5, 2, 0))
    near = program.compare("lt", program.binary("add", i, j), five)
    mask = program.logical("and", program.compare("ge", i, j), near)
    mask = program.logical("or", mask, program.compare("eq", i, zero))
    mask = program.logical("and", mask, program.logical("not", program.compare("eq", j, two)))
    return program.select(mask, p[0], p[1])


def _stored_logic(program: Program, p: list[Value]) -> Value:
    """Connect masks of floats, whose comparisons have no opposite."""
    positive, smaller = (
        program.compare("gt", p[0], p[1]),
        program.compare("lt", p[0], program.constant(0.1, "f64", (3, 4))),
    )
    mask = program.logical("or", program.logical("not", positive), smaller)
    return program.select(program.logical("not", mask), p[0], program.cast(mask, "f64"))


def _embedding(program: Program, p: list[Value]) -> Value:
    return program.embedding(p[0], program.constant(np.array([[1, 4, 1], [0, 1, 4]]), "i64"))


def _embedding_of_one(program: Program, p: list[Value]) -> Value:
    return program.embedding(p[0], program.constant(np.array(3), "i64"))


def _cross_entropy(program: Program, p: list[Value]) -> Value:
    return program.cross_entropy(p[0], program.constant(np.array([[1, 4, 0], [2, 2, 3]]), "i64"))


def _attention_cases() -> list[Case]:
    """Use head sizes for which targets have schedules, and one without."""
    cases = []
    for name, heads, key_heads, queries, keys, dim, causal in (
        ("full", 2, 2, 3, 3, 8, False),
        ("causal", 2, 2, 5, 5, 8, True),
        ("cross", 1, 1, 2, 5, 8, False),
        ("causal-fewer-keys", 1, 1, 5, 3, 8, True),
        ("causal-more-keys", 1, 1, 2, 5, 8, True),
        ("grouped", 4, 2, 3, 4, 8, True),
        ("odd", 4, 2, 3, 4, 3, True),
    ):
        shapes = ((2, queries, heads, dim), (2, keys, key_heads, dim), (2, keys, key_heads, dim))
        cases.append(
            Case(f"attention-{name}", shapes, lambda program, p, c=causal: program.attention(p[0], p[1], p[2], 0.4, c))
        )
    return cases


def _masked_softmax(program: Program, p: list[Value]) -> Value:
    rows, columns = (program.iota(axis, (4, 5), "i64") for axis in (0, 1))
    return program.softmax(p[0], program.compare("ge", rows, columns), 0.35)


CASES: list[Case] = [
    *_unary_cases(),
    *_binary_cases(),
    Case("select", ((3, 4), (3, 4)), _select),
    Case("select-logic", ((4, 5), (4, 5)), _logic),
    Case("select-logic-of-floats", ((3, 4), (3, 4)), _stored_logic),
    Case("cast", ((3, 4),), lambda program, p: program.cast(p[0], "f32"), step=1.0, tolerance=1e-6, is_narrow=True),
    Case("broadcast", ((3, 1),), lambda program, p: program.broadcast(p[0], [0, 2], [3, 4, 1])),
    Case("broadcast-scalar", ((),), lambda program, p: program.broadcast(p[0], [], [2, 3])),
    Case("reshape", ((2, 6),), lambda program, p: program.reshape(p[0], [3, 1, 4])),
    Case("transpose", ((2, 3, 4),), lambda program, p: program.transpose(p[0], [2, 0, 1])),
    Case("slice", ((4, 5),), lambda program, p: program.slice(p[0], [1, 2], [2, 3])),
    Case("pad", ((2, 3),), lambda program, p: program.pad(p[0], [1, 0], [4, 5])),
    Case("concat", ((2, 3), (2, 1)), lambda program, p: program.concat(1, [p[0], p[1], p[0]])),
    Case("reduce-sum", ((2, 3, 4),), lambda program, p: program.reduce("sum", p[0], [0, 2])),
    Case("reduce-max", ((3, 5),), lambda program, p: program.reduce("max", p[0], [1])),
    Case("softmax", ((3, 7),), lambda program, p: program.softmax(p[0])),
    Case("softmax-row", ((5,),), lambda program, p: program.softmax(p[0], scale=-2.0)),
    Case("softmax-masked", ((2, 3, 4, 5),), _masked_softmax),
    *_matmul_cases(),
    Case("matmul-add", ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 3, 5)), _adding_matmul),
    Case("matmul-add-shared", ((3, 3, 4), (5, 4), (3, 3, 5)), _adding_matmul),
    Case("matmul-relu", ((2, 3, 4), (5, 4), (5,)), _rectified_matmul, step=1e-2, tolerance=1e-4, is_narrow=True),
    *_attention_cases(),
    Case("embedding", ((5, 3),), _embedding),
    Case("embedding-single", ((5, 3),), _embedding_of_one),
    Case("linear", ((2, 2, 3), (4, 3)), lambda program, p: program.linear(p[0], p[1])),
    Case("rms_norm", ((2, 5), (5,)), lambda program, p: program.rms_norm(p[0], p[1], 1e-5)),
    Case("layer_norm", ((2, 5), (5,), (5,)), lambda program, p: program.layer_norm(p[0], p[1], p[2], 1e-5)),
    Case("rope", ((2, 3, 4),), lambda program, p: program.rope(p[0], 100.0)),
    Case("cross_entropy", ((2, 3, 5),), _cross_entropy),
]


def finite_differences(loss: Callable[[list[Array]], float], arrays: list[Array], step: float) -> list[Array]:
    """Return central differences of `loss` with respect to every element of every array."""
    gradients = []
    for which, array in enumerate(arrays):
        gradient = np.zeros(array.shape)
        for index in np.ndindex(array.shape):

            def moved(distance: float, which: int = which, index: tuple[int, ...] = index) -> float:
                copies = [a.copy() for a in arrays]
                copies[which][index] += distance
                return loss(copies)

            gradient[index] = (moved(step) - moved(-step)) / (2 * step)
        gradients.append(gradient)
    return gradients

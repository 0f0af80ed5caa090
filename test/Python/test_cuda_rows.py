# ===- test_cuda_rows.py - Values of kernels with rows in registers -------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Generated CUDA kernels of fused row reductions equal NumPy: their text, compiled for the host."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import row_groups
from cuda_on_host import compile_for_host, emit_cuda
from group_builder import Group
from numpy.typing import NDArray
from row_groups import RowGroup

Array = NDArray[Any]
DTYPES = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i64": np.int64}
# Relative to the norm. float32 sums of N terms of one sign have errors of about √N/2 · 2⁻²⁴, and a narrow result is
# rounded once more, by at most 2⁻⁹ of each element in bf16.
BOUNDS = {"f64": 1e-14, "f32": 2e-6, "f16": 2.0**-11, "bf16": 2.0**-8}


def draw_inputs(group: Group, rng: np.random.Generator) -> list[Array]:
    """Return operands as tensors: normal numbers, positive ones for one value per row, and targets."""
    inputs = []
    longest = max((value.shape for value, _ in group.inputs), key=len)
    for value, _ in group.inputs:
        if value.dtype == "i64":
            inputs.append(rng.integers(0, longest[-1], value.shape))
            continue
        x = rng.standard_normal(value.shape)
        if value.shape == longest[:-1]:
            x = np.abs(x) + 0.5
        inputs.append(x.astype(DTYPES[value.dtype]))
    return inputs


def as_stored(x: Array, strides: tuple[int, ...] | None) -> Array:
    """Return a buffer with these strides; numbers between its elements must not be read."""
    if strides is None:
        return np.ascontiguousarray(x)
    size = 1 + sum((extent - 1) * stride for extent, stride in zip(x.shape, strides, strict=True))
    buffer = np.full(size, np.nan, x.dtype)
    view = np.lib.stride_tricks.as_strided(buffer, x.shape, [stride * x.itemsize for stride in strides])
    view[...] = x
    return buffer


def relative_error(actual: Array, expected: Array) -> float:
    norm = np.linalg.norm(expected)
    return float(np.linalg.norm(actual.astype(np.float64) - expected) / (norm or 1))


def check(cases: dict[str, RowGroup], folder: pathlib.Path, schedule: str = "rows", slack: float = 1) -> str:
    """Run every group, twice, by schedules of that name. Return the text."""
    rng = np.random.default_rng(17)
    text = emit_cuda("".join(case.group.kernel(name) for name, case in cases.items()), "--require-all")
    chosen = re.findall(r"^// Schedule (\w+)", text, re.MULTILINE)
    assert all(re.fullmatch(schedule, name) for name in chosen), chosen
    kernels = compile_for_host(text, folder)
    for name, case in cases.items():
        inputs = draw_inputs(case.group, rng)
        buffers = [as_stored(x, strides) for x, (_, strides) in zip(inputs, case.group.inputs, strict=True)]
        runs = []
        for _ in range(2):
            outputs = [np.full(value.shape, np.nan, DTYPES[value.dtype]) for value in case.group.outputs]
            kernels[name](*buffers, *outputs)
            runs.append(outputs)
        expected = case.reference(*(x if x.dtype == np.int64 else x.astype(np.float64) for x in inputs))
        for value, actual, again, exact in zip(case.group.outputs, *runs, expected, strict=True):
            assert actual.tobytes() == again.tobytes()
            error = relative_error(actual, exact)
            assert error <= slack * BOUNDS[value.dtype], f"{name} {value.tensor}: {error:.2e}"
    return text


WIDTHS = [2, 7, 33, 128, 768, 1000, 1001]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_softmax(dtype: str, tmp_path: pathlib.Path) -> None:
    cases = {f"n{n}": row_groups.softmax((5, 3, n), dtype, scale=0.7) for n in WIDTHS}
    cases["wide"] = row_groups.softmax((3, 10000), dtype)
    check(cases, tmp_path)


def test_softmax_in_two_types(tmp_path: pathlib.Path) -> None:
    """An exponential for float32 results is computed in full precision, even if 16-bit results use it, too."""
    g = Group()
    x = g.input((5, 96))
    exponential = g.pointwise("exp", x)
    share = g.pointwise("div", exponential, g.along_rows(g.reduce("sum", exponential), x))
    g.outputs = [g.cast(share, "bf16")]
    assert "approximateExp(" in emit_cuda(g.kernel("k"), "--require-all").partition("Schedule rows")[2]
    g.outputs = [g.cast(share, "bf16"), share]

    def reference(x: Array) -> list[Array]:
        share = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        return [share, share]

    text = check({"both": RowGroup(g, reference)}, tmp_path)
    assert "approximateExp(" not in text.partition("Schedule rows")[2]


def test_any_number_divides_a_row(tmp_path: pathlib.Path) -> None:
    """The quotients are right even for divisors whose reciprocal overflows, has few digits left, or does not exist."""
    g = Group()
    x, divisors = g.input((12, 40)), g.input((12,))
    largest = g.reduce("max", x)
    g.outputs = [g.pointwise("div", x, g.along_rows(divisors, x)), largest]
    divisor = np.array([0.3, -7, 1e-40, -1e-45, 2e38, -3.4e38, 1.2e-38, 0, -0.0, np.inf, -np.inf, np.nan], np.float32)
    rng = np.random.default_rng(41)
    values = (rng.uniform(-1, 1, (12, 40)) * np.clip(np.abs(divisor), 1e-44, 1e38)[:, None]).astype(np.float32)
    values[:, :3] = [0, np.inf, np.nan]
    quotients, maxima = np.zeros((12, 40), np.float32), np.zeros(12, np.float32)
    text = emit_cuda(g.kernel("k"), "--require-all")
    assert "Schedule rows" in text and "const Divisor" in text
    compile_for_host(text, tmp_path)["k"](values, divisor, quotients, maxima)
    with np.errstate(all="ignore"):
        expected = values / divisor[:, None]
    np.testing.assert_allclose(quotients, expected, rtol=2.0**-22)


def test_rows_of_one_element(tmp_path: pathlib.Path) -> None:
    cases = {
        "softmax": row_groups.softmax((7, 1)),
        "rms_norm": row_groups.rms_norm((2, 3, 1), residual="bf16", keeps_root=True),
        "rms_norm_backward": row_groups.rms_norm_backward((5, 1)),
        "cross_entropy": row_groups.cross_entropy((9, 1)),
    }
    check(cases, tmp_path, schedule="rows|serial_reduction")


def test_causal_softmax(tmp_path: pathlib.Path) -> None:
    check({f"n{n}": row_groups.softmax((2, 3, n, n), "bf16", 0.125, causal=True) for n in (2, 7, 33, 96)}, tmp_path)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_softmax_backward(dtype: str, tmp_path: pathlib.Path) -> None:
    check({f"n{n}": row_groups.softmax_backward((9, n), dtype, 0.3) for n in (*WIDTHS, 10000)}, tmp_path)


def test_float64(tmp_path: pathlib.Path) -> None:
    g = Group()
    x = g.input((6, 77), "f64")
    g.outputs = [g.pointwise("div", x, g.along_rows(g.pointwise("sqrt", g.reduce("sum", g.pointwise("mul", x, x))), x))]
    check({"unit": RowGroup(g, lambda x: [x / np.linalg.norm(x, axis=-1, keepdims=True)])}, tmp_path)


@pytest.mark.parametrize("residual", ["", "bf16"])
def test_rms_norm(residual: str, tmp_path: pathlib.Path) -> None:
    cases = {}
    for n in (*WIDTHS, 2560, 10000):
        cases[f"keeping{n}"] = row_groups.rms_norm((4, 3, n), residual=residual, keeps_root=True)
        cases[f"n{n}"] = row_groups.rms_norm((5, n), "bf16", residual=residual)
        cases[f"wide{n}"] = row_groups.rms_norm((2, n), out="f32", residual=residual)
    check(cases, tmp_path)


def test_rms_norm_backward(tmp_path: pathlib.Path) -> None:
    cases = {}
    for n in (*WIDTHS, 2560, 10000):
        cases[f"n{n}"] = row_groups.rms_norm_backward((2, 5, n))
        cases[f"past{n}"] = row_groups.rms_norm_backward((3, n), "f32", residual=True)
    check(cases, tmp_path)


def test_rms_norm_weight_gradient(tmp_path: pathlib.Path) -> None:
    shapes = [(4, 256, 96), (700, 33), (64, 7), (3, 999, 40)]
    cases = {f"case{i}": row_groups.rms_norm_weight_gradient(shape) for i, shape in enumerate(shapes)}
    text = check(cases, tmp_path, "column_reduction")
    assert "loadVector<4>" in text


def test_layer_norm(tmp_path: pathlib.Path) -> None:
    cases = {f"n{n}": row_groups.layer_norm((7, n)) for n in (2, 7, 33, 640, 1001)}
    cases |= {f"bf16_{n}": row_groups.layer_norm((7, n), "bf16") for n in (2, 24, 4096)}
    # A mean near zero is a result of cancellation.
    check(cases, tmp_path, slack=10)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_cross_entropy(dtype: str, tmp_path: pathlib.Path) -> None:
    cases = {f"n{n}": row_groups.cross_entropy((6, n), dtype, 1 / 6) for n in (2, 7, 33, 1000, 1001)}
    cases["vocabulary"] = row_groups.cross_entropy((2, 2, 10000), dtype, 0.25)
    check(cases, tmp_path)


def test_targets_that_no_logit_has(tmp_path: pathlib.Path) -> None:
    """For such targets, the loss and its gradient are those without a target."""
    case = row_groups.cross_entropy((5, 1000), "f32")
    logits = np.random.default_rng(31).standard_normal((5, 1000)).astype(np.float32)
    targets = np.array([-1, 1000, 2**32 + 7, -(2**63), 7])
    loss, gradient = np.zeros(5, np.float32), np.zeros((5, 1000), np.float32)
    compile_for_host(emit_cuda(case.group.kernel("k"), "--require-all"), tmp_path)["k"](logits, targets, loss, gradient)
    wide = logits.astype(np.float64)
    total = np.exp(wide).sum(-1)
    expected = np.log(total) - np.where(targets == 7, wide[:, 7], wide.max(-1))
    assert relative_error(loss, expected) <= BOUNDS["f32"]
    onehot = np.arange(1000) == targets[:, None]
    assert relative_error(gradient, np.exp(wide) / total[:, None] - onehot) <= BOUNDS["f32"]


def test_what_is_picked_is_read_before_it_is_overwritten(tmp_path: pathlib.Path) -> None:
    g = Group()
    x, places = g.input((6, 80)), g.input((6,), "i64")
    total = g.reduce("sum", x)
    index = g.iota(1, x.shape, "i64")
    is_picked = g.compare("eq", index, g.along_rows(places, index))
    shifted = g.pointwise("sub", x, g.along_rows(total, x))
    g.outputs = [g.pointwise("neg", x), g.reduce("sum", g.select(is_picked, shifted, g.constant(0, x)))]
    rng = np.random.default_rng(37)
    storage, at = rng.standard_normal((6, 80)).astype(np.float32), rng.integers(0, 80, 6)
    expected, picked = -storage, np.zeros(6, np.float32)
    exact = storage.astype(np.float64)[np.arange(6), at] - storage.astype(np.float64).sum(-1)
    compile_for_host(emit_cuda(g.kernel("k"), "--require-all"), tmp_path)["k"](storage, at, storage, picked)
    np.testing.assert_array_equal(storage, expected)
    assert relative_error(picked, exact) <= BOUNDS["f32"]


def test_reductions_that_need_each_other_and_nothing_else(tmp_path: pathlib.Path) -> None:
    check({f"n{n}": row_groups.log_sum_exp((11, n), "bf16") for n in (2, 7, 33, 1000)}, tmp_path)


def test_rows_that_registers_cannot_hold(tmp_path: pathlib.Path) -> None:
    cases = {
        "softmax": row_groups.softmax((2, 50257)),
        "cross_entropy": row_groups.cross_entropy((2, 65536), "bf16"),
        "rms_norm": row_groups.rms_norm((2, 40001), residual="bf16", keeps_root=True),
    }
    text = check(cases, tmp_path)
    assert len(re.findall("read again in each of", text)) == 3


def test_rows_of_several_axes(tmp_path: pathlib.Path) -> None:
    cases = {
        "dense": row_groups.softmax((4, 6, 40), num_axes=2),
        "all": row_groups.softmax((6, 50), num_axes=2),
        "apart": row_groups.softmax((3, 6, 40), strides=(480, 80, 1), num_axes=2),
        "turned": row_groups.softmax((3, 6, 40), strides=(240, 1, 6), num_axes=2),
    }
    check(cases, tmp_path)


def test_views(tmp_path: pathlib.Path) -> None:
    cases = {
        "heads": row_groups.softmax((2, 3, 10, 16), "bf16", strides=(480, 16, 48, 1)),
        "part": row_groups.softmax((9, 40), strides=(64, 1)),
        "every_other": row_groups.softmax((9, 40), strides=(80, 2)),
        "columns": row_groups.softmax((9, 40), strides=(1, 9)),
    }
    check(cases, tmp_path)


def test_rows_along_the_first_axis(tmp_path: pathlib.Path) -> None:
    g = Group()
    x = g.input((20, 12))
    total = g.reduce("sum", g.pointwise("exp", x), [0])
    g.outputs = [g.pointwise("div", g.pointwise("exp", x), g.along_columns(total, x)), total]
    sums = RowGroup(g, lambda x: [np.exp(x) / np.exp(x).sum(0), np.exp(x).sum(0)])
    check({"columns": sums}, tmp_path)


def test_rows_of_a_table(tmp_path: pathlib.Path) -> None:
    g = Group()
    table, ids = g.input((50, 72), "bf16"), g.input((5, 4), "i64")
    types = f"{table.tensor}, {ids.tensor} -> tensor<5x4x72xbf16>"
    rows = g.cast(g.append(f"embedding {table.name}, {ids.name}", (5, 4, 72), "bf16", types), "f32")
    norm = g.pointwise("sqrt", g.reduce("sum", g.pointwise("mul", rows, rows)))
    g.outputs = [g.pointwise("div", rows, g.along_rows(norm, rows)), norm]

    rng = np.random.default_rng(3)
    storage, places = rng.standard_normal((50, 72)).astype(ml_dtypes.bfloat16), rng.integers(0, 50, (5, 4))
    text = emit_cuda(g.kernel("normal"), "--require-all")
    assert "// Schedule rows: " in text
    outputs = [np.full(value.shape, np.nan, np.float32) for value in g.outputs]
    compile_for_host(text, tmp_path)["normal"](storage, places, *outputs)
    exact = storage.astype(np.float64)[places]
    lengths = np.linalg.norm(exact, axis=-1)
    assert relative_error(outputs[0], exact / lengths[..., None]) <= BOUNDS["f32"]
    assert relative_error(outputs[1], lengths) <= BOUNDS["f32"]


def test_parts_of_rows(tmp_path: pathlib.Path) -> None:
    g = Group()
    x = g.input((6, 24))
    padded = g.append(f"pad {x.name} offsets = [0, 8]", (6, 40), "f32", f"{x.tensor} -> tensor<6x40xf32>")
    total = g.reduce("sum", g.pointwise("exp", padded))
    g.outputs = [g.pointwise("div", padded, g.along_rows(total, padded)), total]

    def reference(x: Array) -> list[Array]:
        padded = np.pad(x, ((0, 0), (8, 8)))
        total = np.exp(padded).sum(-1)
        return [padded / total[:, None], total]

    check({"padded": RowGroup(g, reference)}, tmp_path)


def test_rows_side_by_side(tmp_path: pathlib.Path) -> None:
    g = Group()
    x = g.input((5, 40))
    exponential = g.pointwise("exp", x)
    total = g.reduce("sum", exponential)
    y = g.pointwise("div", exponential, g.along_rows(total, x))
    types = f"{x.tensor}, {y.tensor} -> tensor<5x80xf32>"
    g.outputs = [g.append(f"concat axis = 1 {y.name}, {exponential.name}", (5, 80), "f32", types), total]

    def reference(x: Array) -> list[Array]:
        total = np.exp(x).sum(-1)
        return [np.concatenate([np.exp(x) / total[:, None], np.exp(x)], axis=1), total]

    check({"both": RowGroup(g, reference)}, tmp_path)


def test_outputs_over_inputs(tmp_path: pathlib.Path) -> None:
    """Cross entropy's gradient over the logits, held and read again; a residual's sum over the residual."""
    rng = np.random.default_rng(23)
    held, wide = row_groups.cross_entropy((5, 1000)), row_groups.cross_entropy((2, 65536))
    norm = row_groups.rms_norm((7, 96), residual="bf16")
    text = emit_cuda("".join(c.group.kernel(n) for n, c in {"held": held, "wide": wide, "norm": norm}.items()))
    kernels = compile_for_host(text, tmp_path)
    for name, case in (("held", held), ("wide", wide)):
        logits, targets = draw_inputs(case.group, rng)
        loss, exact = np.zeros(targets.shape, np.float32), case.reference(logits.astype(np.float64), targets)
        kernels[name](logits, targets, loss, logits)
        assert relative_error(loss, exact[0]) <= BOUNDS["f32"]
        assert relative_error(logits, exact[1]) <= BOUNDS["bf16"]
    x, branch, weight = draw_inputs(norm.group, rng)
    exact = norm.reference(*(operand.astype(np.float64) for operand in (x, branch, weight)))
    y = np.zeros(x.shape, ml_dtypes.bfloat16)
    kernels["norm"](x, branch, weight, x, y)
    assert relative_error(x, exact[0]) <= BOUNDS["f32"] and relative_error(y, exact[1]) <= BOUNDS["bf16"]


def random_group(rng: np.random.Generator) -> RowGroup:
    """Draw one of the groups, of up to some ten thousand elements."""
    n = round(float(np.exp(rng.uniform(np.log(2), np.log(12000)))))
    rows = tuple(int(rng.integers(1, 5)) for _ in range(int(rng.integers(1, 4)))) if n < 2000 else (2,)
    dtype = str(rng.choice(["f32", "bf16", "f16"]))
    makers = [
        lambda: row_groups.softmax((*rows, n), dtype, float(rng.uniform(0.1, 2))),
        lambda: row_groups.softmax_backward((*rows, n), dtype),
        lambda: row_groups.rms_norm((*rows, n), residual=str(rng.choice(["", dtype])), out=dtype, keeps_root=True),
        lambda: row_groups.rms_norm_backward((*rows, n), dtype, bool(rng.integers(2))),
        lambda: row_groups.cross_entropy((*rows, n), dtype, float(rng.uniform(0.1, 2))),
        lambda: row_groups.log_sum_exp((*rows, n), dtype),
    ]
    return makers[int(rng.integers(len(makers)))]()


def test_random_groups(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(29)
    check({f"group{i}": random_group(rng) for i in range(40)}, tmp_path, slack=2)

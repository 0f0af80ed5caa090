# ===- test_cuda_in_place.py - Kernels that run in place ------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Generated CUDA kernels whose launches write an output over an input give the same bits as with separate buffers."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import row_groups
from cuda_on_host import compile_for_host, emit_cuda
from group_builder import Group
from row_groups import RowGroup
from test_cuda_rows import DTYPES, draw_inputs


def launch_in_place(group: Group, operand: int, output: int) -> str:
    """Return an entry that launches `@k` with that output over that operand."""
    names = [f"%x{i}" for i in range(len(group.inputs))]
    types = [f"memref<{value.sizes}>" for value, _ in group.inputs]
    results = [f"%y{i}" for i in range(len(group.outputs))]
    result_types = [f"memref<{value.sizes}>" for value in group.outputs]
    lines = [f'{name} = exec.input "x{i}" : {t}' for i, (name, t) in enumerate(zip(names, types, strict=True))]
    lines += [
        f'{name} = exec.output "y{i}" output : {t}'
        for i, (name, t) in enumerate(zip(results, result_types, strict=True))
    ]
    lines += [f"%a = exec.alloc : {types[operand]}"]
    lines += [f"exec.copy ins({names[operand]} : {types[operand]}) outs(%a : {types[operand]})"]
    written = results[output]
    names[operand] = results[output] = "%a"
    ins, outs = ", ".join(names), ", ".join(results)
    lines += [f"exec.launch @k ins({ins} : {', '.join(types)}) outs({outs} : {', '.join(result_types)})"]
    lines += [f"exec.copy ins(%a : {types[operand]}) outs({written} : {types[operand]})"]
    return "\n".join(["exec.entry @f mode<forward> {", *lines, "}"])


def check(case: RowGroup, operand: int, output: int, folder: pathlib.Path) -> str:
    """Run a group with separate outputs and in place. Return the text of the latter."""
    group = case.group
    inputs = draw_inputs(group, np.random.default_rng(23))
    apart, text = emit_cuda(group.kernel("k"), "--require-all"), ""
    runs = []
    for name in ("apart", "in_place"):
        outputs = [np.zeros(value.shape, DTYPES[value.dtype]) for value in group.outputs]
        buffers = [x.copy() for x in inputs]
        if name == "in_place":
            outputs[output] = buffers[operand]
            text = emit_cuda(group.kernel("k") + launch_in_place(group, operand, output), "--require-all")
            assert "// Schedule rows: " in text
        (folder / name).mkdir()
        compile_for_host(text or apart, folder / name)["k"](*buffers, *outputs)
        runs.append(outputs)
    for expected, actual in zip(*runs, strict=True):
        assert actual.tobytes() == expected.tobytes()
    return text


@pytest.mark.parametrize("n", [7, 96, 1000, 10000])
def test_softmax(n: int, tmp_path: pathlib.Path) -> None:
    check(row_groups.softmax((5, n), "bf16"), 0, 0, tmp_path)


def test_causal_softmax(tmp_path: pathlib.Path) -> None:
    check(row_groups.softmax((2, 3, 33, 33), "f32", 0.125, causal=True), 0, 0, tmp_path)


@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("n", [33, 4000])
def test_softmax_backward(n: int, operand: int, tmp_path: pathlib.Path) -> None:
    check(row_groups.softmax_backward((9, n), "f32"), operand, 0, tmp_path)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("n", [33, 1001, 10000, 50257])
def test_cross_entropy(n: int, dtype: str, tmp_path: pathlib.Path) -> None:
    """The last group is too wide for registers: its rows are read again in every pass."""
    text = check(row_groups.cross_entropy((6, n), dtype, 1 / 6), 0, 1, tmp_path)
    assert ("read again" in text) == (n == 50257)
    assert "What was picked" not in text


def test_norm_backward(tmp_path: pathlib.Path) -> None:
    check(row_groups.rms_norm_backward((3, 768), "f32"), 1, 0, tmp_path)


@pytest.mark.parametrize(("n", "barrier"), [(40, "__syncwarp"), (3000, "__syncthreads")])
def test_what_is_picked_last_is_read_before_it_is_overwritten(n: int, barrier: str, tmp_path: pathlib.Path) -> None:
    g = Group()
    x, targets = g.input((4, n)), g.input((4,), "i64")
    total = g.reduce("sum", g.pointwise("exp", x))
    log = g.pointwise("sub", x, g.along_rows(g.pointwise("log", total), x))
    index = g.iota(1, (4, n), "i64")
    is_target = g.compare("eq", index, g.along_rows(targets, index))
    picked = g.reduce("sum", g.select(is_target, log, g.constant(0, log)))
    # All threads of a row need the selected element.
    g.outputs = [picked, g.pointwise("sub", log, g.along_rows(picked, log))]
    text = check(RowGroup(g, lambda *_: []), 0, 1, tmp_path)
    assert text.count(f"// What was picked may now be overwritten.\n  {barrier}();") == 1


def test_values_of_rows_do_not_reach_other_rows(tmp_path: pathlib.Path) -> None:
    """Row i of x + Σ_k x[j, k] needs all rows j."""
    g = Group()
    x = g.input((8, 8))
    g.outputs = [g.pointwise("add", x, g.along_columns(g.reduce("sum", x), x))]
    with pytest.raises(AssertionError, match=r"writes outs\[0\] over ins\[0\]"):
        emit_cuda(g.kernel("k") + launch_in_place(g, 0, 0))

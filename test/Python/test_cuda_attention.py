# ===- test_cuda_attention.py - Values of attention's CUDA kernels --------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Attention's CUDA kernels compute the same as NumPy in float64: their text, compiled for the host.

The tensor cores of the host are functions that give every lane the elements that the PTX manual defines, and copies
happen when they are waited for (cuda_on_host).
"""

from __future__ import annotations

import math
import pathlib

import numpy as np
import pytest
from attention_case import BOUNDS, DTYPES, Case
from cuda_on_host import HostKernel, compile_for_host, emit_cuda, run_opt

CASES = {
    "bf16": [
        Case("bf16", 2, 2, 2, 65, 65, 64, causal=True),
        Case("bf16", 1, 2, 1, 130, 65, 80, causal=False),
        Case("bf16", 1, 1, 1, 65, 130, 128, causal=True),
        Case("bf16", 1, 1, 1, 130, 17, 128, causal=True),
    ],
    "bf16, short or long heads": [
        Case("bf16", 1, 2, 2, 1, 1, 8, causal=True),
        Case("bf16", 2, 4, 2, 17, 65, 24, causal=False),
        Case("bf16", 1, 1, 1, 17, 65, 256, causal=True),
        Case("bf16", 1, 2, 1, 65, 33, 200, causal=False),
        Case("bf16", 1, 1, 1, 33, 33, 160, causal=True),
    ],
    "f16": [
        Case("f16", 1, 4, 2, 130, 130, 64, causal=True),
        Case("f16", 1, 3, 1, 65, 17, 80, causal=False),
        Case("f16", 1, 1, 1, 1, 130, 72, causal=False),
    ],
    # Rows of dS must sum to zero; otherwise dQ would contain the vector.
    "something in common": [
        Case("bf16", 1, 2, 2, 65, 65, 64, causal=True, common=1),
        Case("bf16", 1, 2, 1, 130, 130, 80, causal=False, common=1),
        Case("bf16", 1, 1, 1, 33, 130, 256, causal=False, common=1),
        Case("bf16", 1, 1, 1, 65, 17, 128, causal=False, common=1),
        Case("bf16", 1, 1, 1, 65, 65, 8, causal=True, common=1),
        Case("f16", 1, 1, 1, 130, 130, 64, causal=False, common=1),
        Case("tf32", 1, 2, 2, 130, 130, 80, causal=False, common=1),
        Case("bf16", 1, 2, 1, 65, 65, 20, causal=True, common=1),
        Case("bf16", 1, 1, 1, 33, 65, 5, causal=False, common=1),
        # Without tiles.
        Case("bf16", 1, 1, 1, 33, 33, 260, causal=True, common=1),
    ],
    "f32": [
        Case("f32", 1, 2, 1, 65, 130, 64, causal=True),
        Case("f32", 1, 2, 2, 130, 65, 80, causal=False),
        Case("f32", 2, 1, 1, 1, 17, 8, causal=True),
        Case("f32", 1, 1, 1, 33, 33, 24, causal=True),
        Case("f32", 1, 1, 1, 17, 65, 128, causal=False),
        Case("f32", 1, 1, 1, 40, 40, 256, causal=True),
    ],
    # Copies of 8, 4 and 2 bytes instead of 16.
    "less alignment": [
        Case("bf16", 1, 2, 1, 33, 17, 24, causal=True, padding=4),
        Case("bf16", 1, 2, 2, 17, 33, 24, causal=False, padding=2),
        Case("f16", 1, 2, 1, 33, 17, 40, causal=True, padding=1),
        Case("f32", 1, 2, 1, 17, 17, 24, causal=True, padding=1),
    ],
    # The last 16 bytes of each vector of a head hold fewer elements.
    "heads that end within a chunk": [
        Case("bf16", 1, 4, 2, 65, 65, 20, causal=True),
        Case("f16", 1, 2, 1, 33, 65, 36, causal=False),
        Case("bf16", 1, 1, 1, 17, 65, 60, causal=True),
        Case("bf16", 1, 2, 2, 33, 17, 100, causal=False),
        Case("f16", 1, 1, 1, 33, 33, 254, causal=True),
        Case("bf16", 1, 3, 1, 17, 33, 27, causal=True),
        Case("bf16", 2, 1, 1, 5, 9, 1, causal=False),
        Case("f32", 1, 2, 1, 33, 17, 18, causal=True),
        Case("f32", 1, 2, 2, 9, 33, 7, causal=False),
        Case("tf32", 1, 2, 1, 33, 65, 22, causal=True),
        Case("tf32", 1, 1, 1, 17, 17, 250, causal=False),
    ],
    "heads that end within a chunk, other alignment": [
        # Rows are aligned to 16 bytes, and the last chunk has 8, 4 and 2.
        Case("bf16", 1, 2, 1, 33, 17, 20, causal=True, padding=4),
        Case("f16", 1, 2, 2, 17, 33, 18, causal=False, padding=6),
        Case("bf16", 1, 2, 1, 17, 33, 25, causal=True, padding=7),
        Case("f32", 1, 2, 1, 17, 17, 6, causal=True, padding=2),
        # The last chunk has 8 bytes, and rows are aligned to 4 and 2.
        Case("bf16", 1, 2, 1, 33, 17, 20, causal=False, padding=2),
        Case("f16", 1, 2, 1, 33, 17, 44, causal=True, padding=1),
        Case("tf32", 1, 2, 1, 17, 33, 10, causal=False, padding=1),
    ],
    # Sizes and types without tiles.
    "without tiles": [
        Case("f64", 2, 4, 2, 17, 13, 8, causal=True),
        Case("f64", 1, 2, 2, 5, 9, 40, causal=False, padding=3),
        Case("f32", 1, 3, 1, 9, 9, 300, causal=True),
        Case("f32", 2, 1, 1, 7, 3, 258, causal=False),
        Case("bf16", 1, 2, 1, 1, 33, 257, causal=False),
        Case("bf16", 1, 2, 2, 33, 17, 264, causal=True, padding=1),
        Case("f16", 1, 2, 1, 13, 33, 300, causal=True),
        Case("f64", 1, 1, 1, 5, 7, 3, causal=False),
    ],
    # float32 whose matmuls use tf32.
    "tf32": [
        Case("tf32", 1, 2, 1, 65, 130, 64, causal=True),
        Case("tf32", 2, 1, 1, 130, 65, 24, causal=False),
        Case("tf32", 1, 2, 2, 33, 33, 80, causal=True),
        Case("tf32", 1, 1, 1, 17, 65, 128, causal=True),
        Case("tf32", 1, 1, 1, 33, 17, 256, causal=True),
        Case("tf32", 1, 2, 1, 17, 33, 40, causal=True, padding=2),
    ],
}


@pytest.mark.parametrize("cases", CASES)
def test_attention(cases: str, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(7)
    text = emit_cuda("".join(case.kernels(i) for i, case in enumerate(CASES[cases])), "--require-all")
    kernels = compile_for_host(text, tmp_path)
    for i, case in enumerate(CASES[cases]):
        case.check(kernels, i, rng)


# Tiles that are chosen for more blocks than a host can run: dQ, dK and dV in two functions, and larger tiles.
INSTANCES = """
//===- forward{number} -===//
//
// Grid of {query_grid}.
//
extern "C" __global__ void
forward{number}(const {type} *q, const {type} *k, const {type} *v, {type} *o, float *l) {{
  AttentionForward<forward0_problem, TensorCoreRowBlock<{type}, {rows}>, 4, {forward}>::run(q, k, v, o, l);
}}

//===- backward{number} -===//
//
// Grid of {query_grid}, then {key_grid}; a workspace of {sum_bytes} bytes.
//
extern "C" __global__ void
queries{number}(const {type} *q, const {type} *k, const {type} *v, const {type} *o, const float *l, const {type} *go,
                {type} *gq, {type} *gk, {type} *gv, unsigned char *sums) {{
  AttentionBackwardQueries<backward0_problem, TensorCoreRowBlock<{type}, {rows}>, 4, {queries}>::run(
      q, k, v, o, l, go, gq, reinterpret_cast<float *>(sums));
}}
extern "C" __global__ void
keys{number}(const {type} *q, const {type} *k, const {type} *v, const {type} *o, const float *l, const {type} *go,
             {type} *gq, {type} *gk, {type} *gv, unsigned char *sums) {{
  AttentionBackwardKeys<backward0_problem, TensorCoreRowBlock<{type}, {rows}>, 4, {keys}, 1>::run(
      q, k, v, l, go, gk, gv, reinterpret_cast<const float *>(sums));
}}
"""


@pytest.mark.parametrize(
    ("case", "tiles"),
    [
        (Case("bf16", 1, 4, 2, 200, 150, 64, causal=True), ["64, 1, true", "64, 2, false", "32, 2, false"]),
        (Case("f16", 1, 2, 2, 150, 200, 80, causal=False), ["64, 2, true", "32, 2, true", "32, 2, true"]),
        (Case("bf16", 1, 2, 1, 150, 150, 128, causal=True), ["48, 1, false", "32, 2, false", "16, 3, false"]),
    ],
)
def test_large_tiles(case: Case, tiles: list[str], tmp_path: pathlib.Path) -> None:
    def describe(rows: int, heads: int, per_block: int) -> str:
        blocks = case.batches * heads * math.ceil(rows / per_block)
        return f"{blocks} blocks of 128 threads with {99 << 10} bytes of shared memory"

    text = emit_cuda(case.kernels(0), "--require-all")
    for number, rows in enumerate((1, 2), start=1):
        text += INSTANCES.format(
            number=number,
            rows=rows,
            type={"bf16": "__nv_bfloat16", "f16": "__half"}[case.dtype],
            query_grid=describe(case.queries, case.heads, 64 * rows),
            key_grid=describe(case.keys, case.key_heads, 64 * rows),
            sum_bytes=4 * math.prod(case.sums_shape),
            forward=tiles[0],
            queries=tiles[1],
            keys=tiles[2],
        )
    kernels = compile_for_host(text, tmp_path)
    for number in (1, 2):
        case.check(kernels, number, np.random.default_rng(number))


@pytest.mark.parametrize("queries", [16, 48, 256])
@pytest.mark.parametrize("keys", [80, 256])
def test_selected_tiles(queries: int, keys: int, tmp_path: pathlib.Path) -> None:
    """Tiles that were never measured, down to single warps and up to the largest."""
    cases = [
        Case("bf16", 1, 2, 1, 270, 260, 64, causal=True, common=1),
        Case("f16", 1, 1, 1, 33, 300, 20, causal=False),
        Case("tf32", 1, 1, 1, 70, 33, 16, causal=True),
    ]
    # The others need more shared memory than there is.
    if queries + keys < 512:
        cases.append(Case("f32", 1, 2, 1, 33, 70, 8, causal=True))
    if max(queries, keys) < 256:
        cases.append(Case("bf16", 1, 1, 1, 65, 65, 200, causal=True))
    kernels = "".join(case.kernels(i) for i, case in enumerate(cases))
    module = f'module attributes {{exec.architectures = ["sm_90a"]}} {{{kernels}}}'
    text = emit_cuda(run_opt(module, f"--cuda-tile-attention=queries={queries} keys={keys}"), "--require-all")
    compiled = compile_for_host(text, tmp_path)
    for i, case in enumerate(cases):
        case.check(compiled, i, np.random.default_rng(i))


def test_two_runs_agree_to_the_bit(tmp_path: pathlib.Path) -> None:
    case = Case("bf16", 1, 4, 1, 65, 65, 64, causal=True)
    kernels = compile_for_host(emit_cuda(case.kernels(0), "--require-all"), tmp_path)
    rng = np.random.default_rng(3)
    shapes = (case.queries_shape, case.keys_shape, case.keys_shape)
    operands = [rng.standard_normal(shape).astype(DTYPES["bf16"]) for shape in shapes]
    results = []
    for _ in range(2):
        o, sums = np.zeros(case.queries_shape, DTYPES["bf16"]), np.zeros(case.sums_shape, np.float32)
        kernels["forward0"](*operands, o, sums)
        gradients = [np.zeros_like(operand) for operand in operands]
        kernels["backward0"](*operands, o, sums, operands[0], *gradients)
        results.append(b"".join(array.tobytes() for array in (o, sums, *gradients)))
    assert results[0] == results[1]


GROWING = Case("bf16", 1, 1, 1, 130, 130, 64, causal=True)


def check_growing_scores(kernels: dict[str, HostKernel]) -> None:
    """Each tile's scores are larger than the previous one's, up to 300. float32 cannot hold e^300."""
    rng = np.random.default_rng(3)
    q = (rng.standard_normal(GROWING.queries_shape) * 0.1 + 6).astype(DTYPES["bf16"])
    k = rng.standard_normal(GROWING.keys_shape) * 0.1 + np.linspace(0, 6, GROWING.keys).reshape(1, -1, 1, 1)
    k = k.astype(DTYPES["bf16"])
    v = rng.standard_normal(GROWING.keys_shape).astype(DTYPES["bf16"])
    o, sums = np.zeros(GROWING.queries_shape, DTYPES["bf16"]), np.zeros(GROWING.sums_shape, np.float32)
    kernels["forward0"](q, k, v, o, sums)
    expected = GROWING.reference(*(operand.astype(np.float64) for operand in (q, k, v, q)))
    assert expected["sums"].max() > 250
    for name, found in (("sums", sums), ("o", o)):
        reference = expected[name]
        error = float(np.linalg.norm(found.astype(np.float64) - reference) / np.linalg.norm(reference))
        assert error < BOUNDS["bf16"], f"{name} is off by {error:.2e}"


#: The cases that mutations are tested on.
CHECKED = [GROWING, *(Case(dtype, 1, 2, 2, 65, 65, 64, causal=False, common=1) for dtype in ("bf16", "tf32"))]


def check_all(kernels: dict[str, HostKernel]) -> None:
    for i, case in enumerate(CHECKED):
        case.check(kernels, i, np.random.default_rng(7))
    check_growing_scores(kernels)


def test_without_mutations(tmp_path: pathlib.Path) -> None:
    check_all(compile_mutated(CHECKED, "", "", tmp_path))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        # A query does not see itself.
        ("key > query", "key >= query"),
        # One key past the last one is seen.
        ("key >= keys", "key > keys"),
        # Exponentials are summed with one reference, the output with another.
        ("sums[i] *= factor;", ""),
        # Values are read before they have been copied.
        ("waitForCopies<2 * (stages - 1)>();", ""),
        # Scores must not be scaled twice.
        ("keyResult, Problem::scale", "keyResult, Problem::scale * Problem::scale"),
        # D belongs to the row.
        ("(gradients.values[i][j] - sums[i])", "gradients.values[i][j]"),
        # The sums of rows of dS are missing in dQ.
        ("result.values[i][j] -= remainders[i] *", "result.values[i][j] -= 0 *"),
        ("sums[i] + remainders[i]", "sums[i]"),
        # D must be computed from the same rounded gradient as the matmuls.
        ("Core::round(b.words[i]) & 0xffffe000", "b.words[i]"),
    ],
    ids=[
        "sees the past only",
        "sees zeros",
        "sums keep their scale",
        "does not wait",
        "scales twice",
        "leaves out D",
        "leaves what is in common",
        "passes on a D that is off",
        "computes D exactly in tf32",
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_mutations_are_noticed(right: str, wrong: str, tmp_path: pathlib.Path) -> None:
    kernels = compile_mutated(CHECKED, right, wrong, tmp_path)
    with pytest.raises(AssertionError, match="is off by"):
        check_all(kernels)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("VisiblePairs<Problem>::getEndKey(query + 1)", "VisiblePairs<Problem>::getEndKey(query + 2)"),
        ("VisiblePairs<Problem>::getFirstQuery(key)", "VisiblePairs<Problem>::getFirstQuery(key + 1)"),
        ("result.scale(shrink);", ""),
        (" - rowSum)", ")"),
    ],
    ids=["sees the next key", "is not seen by its query", "output keeps its scale", "leaves out D"],
)
def test_mutations_without_tiles_are_noticed(right: str, wrong: str, tmp_path: pathlib.Path) -> None:
    case = Case("f64", 1, 2, 1, 9, 9, 8, causal=True)
    with pytest.raises(AssertionError, match="is off by"):
        case.check(compile_mutated([case], right, wrong, tmp_path), 0, np.random.default_rng(7))


def compile_mutated(cases: list[Case], right: str, wrong: str, folder: pathlib.Path) -> dict[str, HostKernel]:
    text = emit_cuda("".join(case.kernels(i) for i, case in enumerate(cases)), "--require-all")
    assert right in text
    return compile_for_host(text.replace(right, wrong), folder)


def test_tiles_edited_by_hand_compute_the_same(tmp_path: pathlib.Path) -> None:
    """Tile sizes of the IR are those of the text, and every choice is right."""
    case = Case("bf16", 1, 2, 1, 70, 90, 64, causal=True)
    selected = run_opt(case.kernels(0), "--cuda-select-schedules=arch=sm_80")
    edited = selected
    for stage, old, new in (
        ("forward", "rows = 64 : i64, slices = 1 : i64, stages = 2", "rows = 128 : i64, slices = 1 : i64, stages = 1"),
        ("queries", "keep_left = true, rows = 64", "keep_left = false, rows = 128"),
        ("keys", "tile = 64", "tile = 32"),
    ):
        before, found, after = edited.partition(f"{stage} = {{")
        assert found and old in after
        edited = before + found + after.replace(old, new, 1)
    text = emit_cuda(edited, "--require-all")
    assert "AttentionForward<forward0_problem, TensorCoreRowBlock<__nv_bfloat16, 2>, 4, 64, 1, true>" in text
    assert text != emit_cuda(selected, "--require-all")
    case.check(compile_for_host(text, tmp_path), 0, np.random.default_rng(7))

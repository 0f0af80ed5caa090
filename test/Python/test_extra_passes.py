# ===- test_extra_passes.py - Passes and positions in Python ----------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Python's compiler takes lists of passes in options of the pipeline, and its errors have files and lines."""

from __future__ import annotations

from pathlib import Path

import cs336
import pytest

MATMUL = """func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %y = cs336.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32> loc("matmul")
  return %y : tensor<4x8xf32>
}
"""


def test_passes_run_inside_of_the_pipeline(tmp_path: Path) -> None:
    """Options inside of a list of passes are not options of the pipeline."""
    inner = "extra-after-recognition='func.func(cs336-autocast{ dtype=bf16 })'"
    plain = cs336.compile(MATMUL, dtype="fp32", use_cache=False)
    extra = cs336.compile(MATMUL, dtype="fp32", pipeline=f"{inner} merge-gemms=false", use_cache=False)
    plain.save(tmp_path / "plain.cs336x")
    extra.save(tmp_path / "extra.cs336x")
    assert (tmp_path / "plain.cs336x").read_bytes() != (tmp_path / "extra.cs336x").read_bytes()


def test_an_option_beside_a_list_conflicts() -> None:
    with pytest.raises(ValueError, match=r"fusion='none' conflicts with 'fusion=all' in pipeline"):
        cs336.compile(MATMUL, fusion="none", pipeline="extra-after-fusion='cse,canonicalize' fusion=all")


@pytest.mark.parametrize("passes", ["cs336-frobnicate", "cse,", "func.func(cse"])
def test_error_names_the_option(passes: str) -> None:
    with pytest.raises(ValueError, match="extra-after-fusion of the pipeline is not a list of passes"):
        cs336.compile(MATMUL, pipeline=f"extra-after-fusion='{passes}'", use_cache=False)


def test_errors_have_a_line() -> None:
    """Where the location is a name, the line is that of the operation with this name."""
    with pytest.raises(ValueError, match=r'^model:2:8: loc\("matmul"\): '):
        cs336.parse(MATMUL.replace("tensor<8x8xf32>", "tensor<8x9xf32>"), "model")

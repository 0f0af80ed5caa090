# ===- test_compare_compilers.py - The script that compares two builds ------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""`scripts/compare-compilers` accepts other comments and names, and finds every other change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))
import cuda_text  # noqa: E402
import stored_tensors  # noqa: E402

TEXT = """\
// Adds rows.
__device__ float sum(const float *rows, int count) {
  float total = 0.f; // In order.
  for (int i = 0; i < count; ++i) total += rows[i];
  return total;
}
__device__ int twice(int rows) { return rows * 2; }
"""


@pytest.mark.parametrize(
    ("old", "new", "renamed"),
    [
        ("// In order.", "/* From the first\n to the last. */", set()),
        ("float total = 0.f; ", "float total =\n      0.f;", set()),
        ("count", "length", {("count", "length")}),
        ("twice(int rows) { return rows", "twice(int tiles) { return tiles", {("rows", "tiles")}),
    ],
    ids=["comment", "white space", "parameter", "parameter of one function"],
)
def test_comments_and_names_may_change(old: str, new: str, renamed: set[tuple[str, str]]) -> None:
    assert old in TEXT
    assert cuda_text.compare(TEXT, TEXT.replace(old, new)) == cuda_text.Comparison("", frozenset(renamed))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.f", "0.0f"),
        ("i < count", "i <= count"),
        ("return total;", "return rows;"),
        ("total += rows[i]", "i += rows[i]"),
        ("const float *rows, int count", "const float *count, int count"),
        ("return total;", ""),
        ("rows * 2; }", "rows * 2; }\nint x;"),
        ("// In order.", "total *= 2;"),
    ],
)
def test_every_other_change_is_found(old: str, new: str) -> None:
    assert old in TEXT
    assert cuda_text.compare(TEXT, TEXT.replace(old, new)).difference


def test_a_difference_names_both_lines() -> None:
    longer = "// One more line.\n" + TEXT.replace("rows * 2", "rows * 3")
    assert cuda_text.compare(TEXT, longer).difference == "line 7: '2' became line 8: '3'"


def find_build() -> Path:
    """Return the folder whose bin/ holds the tools that are tested."""
    tool = shutil.which("cs336-translate")
    assert tool, "cs336-translate is not on PATH"
    return Path(tool).resolve().parents[1]


def change_tool(folder: Path, tool: str, change: str) -> Path:
    """Make a build whose ``tool`` passes its output through sed."""
    build = find_build()
    (folder / "bin").mkdir()
    for name in ("cs336-opt", "cs336-translate", "cs336-run"):
        path = folder / "bin" / name
        if name == tool:
            path.write_text(f"#!/bin/sh\n{build}/bin/{name} \"$@\" | sed '{change}'\n")
            path.chmod(0o755)
        else:
            path.symlink_to(build / "bin" / name)
    return folder


def compare_builds(before: Path, after: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts/compare-compilers"), str(before), str(after)]
    command += ["--sizes", "tiny", "--dtypes", "fp32", "--fusions", "all", *flags]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ)


def test_a_build_agrees_with_itself() -> None:
    done = compare_builds(find_build(), find_build(), "--run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "9 texts and 9 runs compared, 0 cases differ, 0 skipped\n"


def test_another_constant_in_a_kernel_is_found(tmp_path: Path) -> None:
    done = compare_builds(find_build(), change_tool(tmp_path, "cs336-translate", "s/< [0-9][0-9]*/< 7/"))
    assert done.returncode == 1
    assert "tiny train fp32 fusion=all: CUDA text: line " in done.stdout


def test_other_numbers_are_found(tmp_path: Path) -> None:
    # Parameters start elsewhere, which no kernel shows.
    after = change_tool(tmp_path, "cs336-translate", "s/std = 1.000000e+00/std = 2.000000e+00/")
    done = compare_builds(find_build(), after, "--run")
    assert done.returncode == 1
    assert "tiny train fp32 fusion=all: numbers of state: " in done.stdout
    assert "CUDA text" not in done.stdout


def test_a_folder_without_tools_is_refused(tmp_path: Path) -> None:
    done = compare_builds(find_build(), tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path}: no bin/cs336-translate; pass a build folder or an unpacked package" in done.stderr


def test_tensors_have_their_type_and_shape(tmp_path: Path) -> None:
    header = (
        b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[],"data_offsets":[4,5]}}'
    )
    (tmp_path / "t.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0\x80\x3f\x07")
    assert stored_tensors.read(tmp_path / "t.safetensors") == {"a": b"F32[1]\0\0\x80\x3f", "b": b"I8[]\x07"}

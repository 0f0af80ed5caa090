# ===- test_format.py - Source files are formatted and clean --------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""C++ files agree with clang-format 22 and Python files with ruff; C++ and TableGen files state the licence."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("include", "lib", "runtime", "tools", "python-bindings", "test", "examples", "benchmarks", "scripts")
CPP = (".h", ".cpp", ".cuh", ".cu")
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
LICENSED = (*CPP, ".td", ".fbs")


def source_files(*suffixes: str) -> list[pathlib.Path]:
    """List the project's own files with one of the given suffixes, by path."""
    files = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    return sorted(path for path in files if "build" not in path.relative_to(ROOT).parts)


def complaints_of(command: list[str], files: list[pathlib.Path]) -> str:
    """Run a formatter's check over files. Return its complaints, empty if there are none."""
    assert files
    run = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else run.stdout + run.stderr


def test_clang_format() -> None:
    """C++ files agree with clang-format."""
    assert not complaints_of(["clang-format-22", "--dry-run", "--Werror"], source_files(*CPP))


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_ruff(command: list[str]) -> None:
    """Ruff has no complaints about the Python files."""
    assert not complaints_of([sys.executable, "-m", "ruff", *command, "--no-cache"], source_files(".py"))


def test_licence_headers() -> None:
    """Every file that is not empty names the project's licence in its first lines."""
    heads = {path: path.read_text(encoding="utf-8")[:1000] for path in source_files(*LICENSED)}
    assert not [str(path) for path, head in heads.items() if head and LICENCE not in head]

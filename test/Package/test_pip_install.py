# ===- test_pip_install.py - The package installs and works by itself ------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""`pip install ./python-bindings` in a new virtual environment installs a package that compiles and trains a model."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from elf_file import missing_protections

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = pathlib.Path(__file__).with_name("train.py")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return the interpreter of a virtual environment into which the package was installed."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    interpreter = folder / "bin/python"
    subprocess.run([interpreter, "-m", "pip", "install", "--no-input", ROOT / "python-bindings"], check=True)
    return interpreter


def test_installed_package_trains(python: pathlib.Path, tmp_path: pathlib.Path) -> None:
    run = subprocess.run(
        [python, "-I", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert str(python.parents[1]) in run.stdout


def test_installed_binaries_are_protected(python: pathlib.Path) -> None:
    run = subprocess.run(
        [python, "-I", "-c", "import cs336; print(cs336.__path__[0])"], capture_output=True, text=True, check=True
    )
    files = [*pathlib.Path(run.stdout.strip()).glob("*.so")]
    assert len(files) == 2
    for file in files:
        assert missing_protections(file) == [], file.name


def test_installed_package_has_licences(python: pathlib.Path) -> None:
    run = subprocess.run(
        [python, "-I", "-c", "import cs336; print(cs336.__path__[0])"], capture_output=True, text=True, check=True
    )
    package = pathlib.Path(run.stdout.strip())
    listed = (package / "THIRD_PARTY.md").read_text(encoding="utf-8")
    for name in ("eigen3", "flatbuffers", "nanobind", "llvm-toolchain"):
        assert f"| {name}" in listed
    assert (package / "licenses/eigen3.txt").stat().st_size > 1000
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_installed_package_is_typed(python: pathlib.Path) -> None:
    run = subprocess.run(
        [python, "-I", "-c", "import cs336; print(cs336.__path__[0])"], capture_output=True, text=True, check=True
    )
    assert (pathlib.Path(run.stdout.strip()) / "py.typed").exists()

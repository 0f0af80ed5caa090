# ===- test_pip_install.py - The package installs and works by itself ------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""`pip install ./python-bindings` in a new virtual environment installs a package that compiles and trains a model.

The package is installed for every version of Python that pyproject.toml lists and that this machine has.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from elf_file import missing_protections
from package_sources import missing_sources

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = pathlib.Path(__file__).with_name("train.py")
PROJECT = (ROOT / "python-bindings/pyproject.toml").read_text(encoding="utf-8")
VERSIONS = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
OWN = "{}.{}".format(*sys.version_info)


def find_interpreter(version: str) -> str | None:
    """Return an interpreter of a version, from PATH or pyenv, or None."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
    for candidate in filter(None, candidates):
        # A shim of pyenv prints an error for a version that is not selected.
        run = subprocess.run([candidate, "-c", "import venv"], capture_output=True, check=False)
        if run.returncode == 0:
            return str(candidate)
    return None


def install(interpreter: str, folder: pathlib.Path) -> pathlib.Path:
    """Install the package into a new virtual environment, and return the environment's interpreter."""
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    own = folder / "bin/python"
    subprocess.run([own, "-m", "pip", "install", "--no-input", ROOT / "python-bindings"], check=True)
    return own


def check_training(python: pathlib.Path, folder: pathlib.Path) -> None:
    run = subprocess.run([python, "-I", PROGRAM], cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    assert str(python.parents[1]) in run.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return the interpreter of a virtual environment into which the package was installed."""
    return install(sys.executable, tmp_path_factory.mktemp("venv"))


def test_installed_package_trains(python: pathlib.Path, tmp_path: pathlib.Path) -> None:
    check_training(python, tmp_path)


def test_versions_are_those_required() -> None:
    assert f'requires-python = ">={VERSIONS[0]}"' in PROJECT


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != OWN])
def test_other_versions_of_python(version: str, tmp_path: pathlib.Path) -> None:
    interpreter = find_interpreter(version)
    if interpreter is None:
        pytest.skip(f"there is no python{version} on PATH or in pyenv")
    check_training(install(interpreter, tmp_path / "venv"), tmp_path)


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


def test_installed_package_is_complete(python: pathlib.Path) -> None:
    run = subprocess.run(
        [python, "-I", "-c", "import cs336; print(cs336.__path__[0])"], capture_output=True, text=True, check=True
    )
    assert missing_sources(pathlib.Path(run.stdout.strip())) == []
    help_text = subprocess.run(
        [python, "-I", "-m", "cs336.results", "--help"], capture_output=True, text=True, check=True
    )
    assert "mlflow" in help_text.stdout

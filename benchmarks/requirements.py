"""Ends a benchmark with one sentence if a package, a GPU, a tool or a file that it requires is missing."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROVIDERS = {
    "cs336": "build it and set PYTHONPATH=build/dev/python",
    "torch": "use a Python that has PyTorch",
}


@dataclass(frozen=True)
class MissingPackage:
    """A placeholder for a package that cannot be imported.

    Attributes
    ----------
    name
        The package that is missing, which may be one that the imported one requires.
    error
        Text of the import's error.
    """

    name: str
    error: str


def load(name: str) -> Any:
    """Return a module, or a `MissingPackage`, so that `--help` works without it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        return MissingPackage((error.name or name).split(".")[0], str(error))


def require(*modules: Any) -> None:
    """End the program if `load` did not find one of the modules. Call after reading the command line."""
    for module in modules:
        if isinstance(module, MissingPackage):
            provider = PROVIDERS.get(module.name, f"python3 -m pip install {module.name}")
            sys.exit(f"error: the package {module.name} is missing ({module.error}): {provider}")


def need(name: str) -> Any:
    """Return a module, or end the program."""
    module = load(name)
    require(module)
    return module


def require_device(cs336: Any, device: str) -> None:
    """End the program if `device` is a GPU and the package cs336 cannot use one."""
    if device != "cpu" and cs336.best_device() == "cpu":
        sys.exit(f"error: the device {device} cannot be used: 'cs336-bench doctor' shows what is missing")


def require_tools(*names: str) -> None:
    """End the program if one of the tools is not on PATH."""
    for name in names:
        if not shutil.which(name):
            sys.exit(f"error: {name} is not on PATH: build it and set PATH=build/dev/bin:$PATH")


def require_python(python: str, *packages: str) -> None:
    """End the program if `python`, another interpreter, cannot be started or lacks one of the packages."""
    find = "import importlib.util, sys; print(*(n for n in sys.argv[1:] if not importlib.util.find_spec(n)))"
    try:
        process = subprocess.run(
            [python, "-c", find, *packages], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
    except OSError as error:
        sys.exit(f"error: --peer-python: cannot start {python}: {error.strerror}")
    if missing := process.stdout.split():
        sys.exit(f"error: --peer-python: {python} lacks {', '.join(missing)}: pass a Python that has {packages[0]}")


def read_input(path: Path, writer: str) -> str:
    """Return the text of a file that `writer` makes, or end the program."""
    try:
        return path.read_text()
    except OSError as error:
        sys.exit(f"error: cannot read {path}: {error.strerror}: {writer} writes it")

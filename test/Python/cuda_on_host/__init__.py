# ===- cuda_on_host - Generated kernels on the CPU ------------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Run generated CUDA kernels on the CPU: the emitted text, compiled by g++ for the host."""

from __future__ import annotations

import ctypes
import itertools
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

HERE = pathlib.Path(__file__).parent

_KERNEL = re.compile(
    r"^//===- (?P<name>\w+) -===//$.*?^// Grid of (?P<grids>[^;\n]*?)(?:; a workspace of (?P<workspace>\d+) bytes)?\.$"
    r"(?P<functions>.*?)(?=^//===- |\Z)",
    re.MULTILINE | re.DOTALL,
)
_GRID = re.compile(r"(\d+) blocks? of (\d+) threads(?: with (\d+) bytes of shared memory)?")
_FUNCTION = re.compile(r"^extern \"C\" __global__ [^\n]*\n(\w+)\(", re.MULTILINE)


def _run_tool(name: str, text: str, *flags: str) -> str:
    """Run a tool beside the tested package, which conftest.py puts on PATH."""
    done = subprocess.run([name, *flags], input=text, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def emit_cuda(exec_ir: str, *flags: str) -> str:
    """Translate kernels of exec IR to CUDA C++."""
    return _run_tool("cs336-translate", exec_ir, "--emit-cuda", *flags)


def run_opt(ir: str, *passes: str) -> str:
    """Run passes on IR."""
    return _run_tool("cs336-opt", ir, *passes)


@dataclass(frozen=True)
class HostFunction:
    """A `__global__` function with the grid that its text states."""

    name: str
    blocks: int
    threads: int
    shared_bytes: int


@dataclass(frozen=True)
class HostKernel:
    """A kernel with the launch that its text states."""

    library: ctypes.CDLL
    functions: Sequence[HostFunction]
    workspace_bytes: int

    def __call__(self, *buffers: NDArray[np.generic]) -> None:
        """Run every thread. `buffers` hold the operands in memory order, inputs before outputs."""
        # Filled with NaN and extreme numbers, so that values that are read before they are written show.
        workspace = np.full(self.workspace_bytes, 0xFF, np.uint8)
        operands = [*buffers, workspace]
        pointers = (ctypes.c_void_p * len(operands))(*(buffer.ctypes.data for buffer in operands))
        for function in self.functions:
            run = self.library[f"run_{function.name}"]
            run(
                pointers,
                ctypes.c_longlong(function.blocks),
                ctypes.c_uint(function.threads),
                ctypes.c_size_t(function.shared_bytes),
            )


def compile_for_host(text: str, folder: pathlib.Path) -> dict[str, HostKernel]:
    """Compile generated text as C++ for the host.

    Parameters
    ----------
    text
        CUDA C++ from `cs336-translate --emit-cuda`.
    folder
        Folder for the library.

    Returns
    -------
    dict
        The kernels by name.
    """
    functions = {}
    workspaces = {}
    for match in _KERNEL.finditer(text):
        names = _FUNCTION.findall(match["functions"])
        grids = _GRID.findall(match["grids"])
        functions[match["name"]] = [
            HostFunction(name, *(int(number or 0) for number in grid)) for name, grid in zip(names, grids, strict=True)
        ]
        workspaces[match["name"]] = int(match["workspace"] or 0)
    runners = (
        f'extern "C" void run_{function.name}'
        "(void *const *buffers, long long blocks, unsigned threads, size_t sharedBytes) "
        f"{{ runOnHost({function.name}, buffers, blocks, threads, sharedBytes); }}\n"
        for function in itertools.chain.from_iterable(functions.values())
    )
    source, library = folder / "kernels.cpp", folder / "libkernels.so"
    source.write_text(f'#include "cuda_on_host.h"\n{text}\n{"".join(runners)}', encoding="utf-8")
    _compile(source, library)
    loaded = ctypes.CDLL(str(library))
    return {name: HostKernel(loaded, functions[name], workspaces[name]) for name in functions}


def _compile(source: pathlib.Path, library: pathlib.Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("running generated text on the host requires g++, which is not installed")
    # Without contraction to fused multiply-adds and without fast-math, like NumPy.
    # Fibers jump between stacks, which the checks of _FORTIFY_SOURCE, a default of some compilers, take for an error.
    flags: Sequence[str] = ("-std=c++20", "-O1", "-U_FORTIFY_SOURCE", "-ffp-contract=off", "-w", "-fPIC", f"-I{HERE}")
    cache = [ccache] if (ccache := shutil.which("ccache")) else []
    # Relative names: the same text has the same entry in the cache in another folder.
    for command in (
        [*cache, "g++", *flags, "-c", source.name, "-o", "kernels.o"],
        ["g++", "-shared", "kernels.o", "-o", library.name],
    ):
        done = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

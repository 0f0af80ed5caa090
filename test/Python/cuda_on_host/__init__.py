# ===- cuda_on_host - Generated kernels on the CPU ------------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Generated CUDA kernels run on the CPU: the emitted text, compiled by g++ for the host."""

from __future__ import annotations

import ctypes
import pathlib
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HERE = pathlib.Path(__file__).parent
TRANSLATE = HERE.parents[2] / "build/dev/bin/cs336-translate"

_KERNEL = re.compile(
    r"^// Grid of (?P<blocks>\d+) blocks? of (?P<threads>\d+) threads\."
    r".*?^extern \"C\" __global__ [^\n]*\n(?P<name>\w+)\(",
    re.MULTILINE | re.DOTALL,
)


def emit_cuda(exec_ir: str, *flags: str) -> str:
    """Translate kernels of exec IR to CUDA C++."""
    command = [TRANSLATE, "--emit-cuda", *flags]
    done = subprocess.run(command, input=exec_ir, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass(frozen=True)
class HostKernel:
    """A kernel with the launch that its text asks for."""

    library: ctypes.CDLL
    name: str
    blocks: int
    threads: int

    def __call__(self, *buffers: NDArray[np.generic]) -> None:
        """Run every thread; `buffers` hold the operands as they lie in memory, inputs before outputs."""
        pointers = (ctypes.c_void_p * len(buffers))(*(buffer.ctypes.data for buffer in buffers))
        function = self.library[f"run_{self.name}"]
        function(pointers, ctypes.c_longlong(self.blocks), ctypes.c_uint(self.threads))


def compile_for_host(text: str, folder: pathlib.Path) -> dict[str, HostKernel]:
    """Compile generated text as C++ of the host.

    Parameters
    ----------
    text
        CUDA C++ as `cs336-translate --emit-cuda` writes it.
    folder
        Where the library goes.

    Returns
    -------
    dict
        The kernels by name.
    """
    launches = [match.groupdict() for match in _KERNEL.finditer(text)]
    runners = (
        f'extern "C" void run_{launch["name"]}(void *const *buffers, long long blocks, unsigned threads) '
        f"{{ runOnHost({launch['name']}, buffers, blocks, threads); }}\n"
        for launch in launches
    )
    source, library = folder / "kernels.cpp", folder / "libkernels.so"
    source.write_text(f'#include "cuda_on_host.h"\n{text}\n{"".join(runners)}', encoding="utf-8")
    _compile(source, library)
    loaded = ctypes.CDLL(str(library))
    kernels = (HostKernel(loaded, launch["name"], int(launch["blocks"]), int(launch["threads"])) for launch in launches)
    return {kernel.name: kernel for kernel in kernels}


def _compile(source: pathlib.Path, library: pathlib.Path) -> None:
    # Without contraction to fused multiply-adds and without fast-math: as NumPy computes.
    flags: Sequence[str] = ("-std=c++20", "-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC", f"-I{HERE}")
    done = subprocess.run(["g++", *flags, str(source), "-o", str(library)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

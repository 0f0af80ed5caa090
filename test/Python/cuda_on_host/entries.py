# ===- entries.py - Entries whose kernels are generated text ---------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Run entries of exec IR on the host: kernels as generated CUDA text, GEMMs by NumPy, buffers at planned offsets."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Mapping

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from . import HostKernel, compile_for_host, emit_cuda

Array = NDArray[np.generic]

_DTYPES: dict[str, np.dtype[np.generic]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i1": np.dtype(np.bool_),
}
_NAME = r"%[\w.$-]+"
_MEMREF = re.compile(r"memref<((?:\d+x)*)(\w+)(?:, strided<\[([\d, ]*)\](?:, offset: (\d+))?>)?>")
_ENTRY = re.compile(r"^\s*exec\.entry @(\S+) ")
_STORAGE = re.compile(rf'^\s*({_NAME}) = exec\.(get|input|output|alloc) (?:@?"?([^" ]+)"?)?.*: (memref<.*>)$')
_OFFSET = re.compile(r"exec\.(?:alloc|output \S+ \w+) offset = (\d+)")
_VIEW = re.compile(rf"^\s*({_NAME}) = exec\.view ({_NAME}) : .* to (memref<.*>)$")
_COMMAND = re.compile(r"^\s*exec\.(launch|gemm|copy)(?: @(\S+))?(?: ins\((.*?) : .*?\))?.*? outs\((.*?) : ")
_ADDED = re.compile(rf" add\(({_NAME})")


class _Buffer:
    """Storage, and the part of it that a buffer views."""

    def __init__(self, storage: Array, memref: str) -> None:
        match = _MEMREF.fullmatch(memref)
        assert match, memref
        self.storage = storage
        self.shape = tuple(int(size) for size in match[1].split("x")[:-1])
        self.dtype = _DTYPES[match[2]]
        strides = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        if match[3] is not None:
            strides = [int(stride) for stride in match[3].split(",")]
        self.offset = int(match[4] or 0)
        self.strides = tuple(stride * self.dtype.itemsize for stride in strides)

    @property
    def start(self) -> Array:
        """Return the storage from element 0 of the view on, in bytes."""
        return self.storage[self.offset * self.dtype.itemsize :]

    @property
    def array(self) -> Array:
        """Return the elements of the view, which can be written."""
        return np.ndarray(self.shape, self.dtype, self.storage.data, self.offset * self.dtype.itemsize, self.strides)


def _bytes_of(memref: str) -> int:
    match = _MEMREF.fullmatch(memref)
    assert match, memref
    return math.prod(int(size) for size in match[1].split("x")[:-1]) * _DTYPES[match[2]].itemsize


class HostProgram:
    """Planned exec IR, its kernels compiled from their text.

    Parameters
    ----------
    text
        Exec IR with a memory plan, without debug locations.
    folder
        Folder for the compiled kernels.
    """

    def __init__(self, text: str, folder: pathlib.Path) -> None:
        self.kernels: dict[str, HostKernel] = compile_for_host(emit_cuda(text, "--require-all"), folder)
        self.variables: dict[str, Array] = {}
        self.entries: dict[str, list[str]] = {}
        entry: list[str] = []
        for line in text.splitlines():
            if match := _ENTRY.match(line):
                entry = self.entries.setdefault(match[1], [])
            entry.append(line)

    def run(self, name: str, inputs: Mapping[str, Array], variables: Mapping[str, Array]) -> dict[str, Array]:
        """Run an entry with `variables` by name. Values that are read before they are written are NaN."""
        lines = self.entries[name]
        size = re.search(r"arena_bytes = (\d+)", lines[0])
        arena = np.full(int(size[1]) if size else 0, 0xFF, np.uint8)
        buffers: dict[str, _Buffer] = {}
        outputs: dict[str, _Buffer] = {}
        for line in lines:
            if match := _STORAGE.match(line):
                storage = np.full(max(_bytes_of(match[4]), 1), 0xFF, np.uint8)
                if match[2] in ("alloc", "output"):
                    offset = _OFFSET.search(line)
                    assert offset, line
                    storage = arena[int(offset[1]) :]
                elif match[2] in ("get", "input"):
                    given = variables[match[3]] if match[2] == "get" else inputs[match[3]]
                    storage[: given.nbytes] = np.frombuffer(np.ascontiguousarray(given).tobytes(), np.uint8)
                buffers[match[1]] = _Buffer(storage, match[4])
                if match[2] == "output":
                    outputs[match[3]] = buffers[match[1]]
            elif match := _VIEW.match(line):
                buffers[match[1]] = _Buffer(buffers[match[2]].storage, match[3])
            elif match := _COMMAND.match(line):
                operands = [buffers[part.strip()] for part in match[3].split(",")] if match[3] else []
                results = [buffers[part.strip()] for part in match[4].split(",")]
                self._execute(match[1], match[2], operands, results)
                if match[1] == "gemm" and (added := _ADDED.search(line)):
                    results[0].array[...] += buffers[added[1]].array
                if match[1] == "gemm" and "{relu}" in line:
                    results[0].array[...] = np.maximum(results[0].array, 0)
        return {key: buffer.array for key, buffer in outputs.items()}

    def _execute(self, command: str, kernel: str | None, operands: list[_Buffer], results: list[_Buffer]) -> None:
        if command == "launch":
            assert kernel
            self.kernels[kernel](*(buffer.start for buffer in [*operands, *results]))
        elif command == "copy":
            results[0].array[...] = operands[0].array
        else:
            wide = np.float64 if results[0].dtype == np.float64 else np.float32
            result = operands[0].array.astype(wide) @ operands[1].array.astype(wide)
            results[0].array[...] = result.astype(results[0].dtype)

# ===- stored_tensors.py - The bytes of tensors in .safetensors files -------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Read .safetensors files without a library, so that scripts need no virtual environment."""

from __future__ import annotations

import json
from pathlib import Path


def read(path: Path) -> dict[str, bytes]:
    """Return each tensor's type, shape and elements as bytes, by name.

    The format is 8 bytes (the header's length, little-endian), a header in JSON, and the elements.
    """
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    data = content[8 + length :]
    tensors = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        tensors[name] = f"{tensor['dtype']}{tensor['shape']}".encode() + data[begin:end]
    return tensors

"""Writes a memory snapshot of PyTorch, with which tests compare the snapshots of cs336-bench.

CUDA_VISIBLE_DEVICES=0 python3 test/Python/torch_snapshot.py test/Python/Inputs/torch_snapshot.pickle

It requires PyTorch and a GPU. All sizes are multiples of 512 bytes, to which PyTorch rounds allocations, and everything
is allocated by Python: threads of PyTorch's own have no frames.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import torch


def record() -> dict[str, Any]:
    """Return the snapshot of a small network and of tensors in both kinds of segments."""
    torch.cuda.memory._record_memory_history(enabled="all", context="all", stacks="python")
    network = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128)).cuda()
    tokens = torch.zeros(64, 128, device="cuda")
    large = torch.zeros(512, 1024, device="cuda")
    with torch.no_grad():
        for _ in range(2):
            tokens = network(tokens)
    del large
    torch.cuda.synchronize()
    return torch.cuda.memory._snapshot()


def hide_folders(value: Any) -> Any:
    """Return a copy in which frames have the names of files without the folders of this machine."""
    if isinstance(value, dict):
        return {
            key: sys.intern(Path(each).name) if key == "filename" else hide_folders(each) for key, each in value.items()
        }
    return [hide_folders(each) for each in value] if isinstance(value, list) else value


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(hide_folders(record()), protocol=4))

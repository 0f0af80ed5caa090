"""The device that the numerics tests run on: the same tests check the CPU and the GPU.

`CS336_TEST_DEVICE=cuda python -m pytest test/Python` compiles for a GPU and runs there. `CS336_TEST_TOOL` names a tool
of compute-sanitizer that pytest runs under. `CS336_TEST_RANKS` is the number of ranks in tests that run each rank on
its own GPU: 2 (default), 4 or 8.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import cs336
import pytest

DEVICE = os.environ.get("CS336_TEST_DEVICE", "cpu")
RANKS = int(os.environ.get("CS336_TEST_RANKS", "2"))

# For tests that time single kernels.
times_kernels = pytest.mark.skipif(
    DEVICE != "cpu" and "CS336_TEST_TOOL" in os.environ, reason="CUPTI allows no other tool beside it"
)


def compile_program(program: cs336.Module | str, **options: Any) -> cs336.Executable:
    """Compile for the device of these tests."""
    return cs336.compile(program, device=DEVICE, **options)


def open_session(executable: cs336.Executable, **options: Any) -> cs336.Session:
    """Load an executable on the device of these tests. Values that a run does not write are NaN."""
    if options.get("profile"):
        # Only one session can profile a GPU, and the traceback of an expected error may still hold the last one.
        gc.collect()
    return cs336.Session(executable, device=DEVICE, poison_memory=True, **options)

"""Fixtures that the numerics tests share."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import cs336
import pytest
from golden_file import Golden

# The tools beside the tested package, in a build or an unpacked tarball, and CUDA's wheels beside this Python.
os.environ["PATH"] = os.pathsep.join([str(Path(cs336.__file__).parents[2] / "bin"), os.environ["PATH"]])
os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
# A shell starts commands in the background with SIGINT ignored, and programs inherit that. Tests send this signal.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def golden() -> Golden:
    return Golden()

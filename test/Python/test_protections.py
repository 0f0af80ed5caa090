"""Every program and library is built with protections that keep an error from becoming an attack."""

from __future__ import annotations

from pathlib import Path

import cs336
import pytest
from cs336 import _cs336
from elf_file import missing_protections

BUILD = Path(cs336.__file__).parents[2]
FILES = [*sorted((BUILD / "bin").glob("cs336-*")), BUILD / "lib/libcs336-runtime.so", Path(_cs336.__file__)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_binary_is_protected(path: Path) -> None:
    assert missing_protections(path) == []


def test_a_missing_protection_shows() -> None:
    """Kernels of the runtime's tests stand for compiled programs, and are compiled without protections."""
    module = BUILD / "lib/libcs336_test_kernels.so"
    if not module.exists():
        pytest.skip("the runtime's tests are not built")
    assert "the stack protector" in missing_protections(module)

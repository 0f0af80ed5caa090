"""Fixtures that the numerics tests share."""

from __future__ import annotations

import pytest
from golden_file import Golden


@pytest.fixture(scope="session")
def golden() -> Golden:
    return Golden()

"""Ratios of measured times, which a table leaves out where noise hides them."""

from __future__ import annotations

import math

import pytest

LARGEST_AMBIGUITY = 1.5


def check_ratio(row: dict[str, object], key: str, expected: float) -> None:
    """Assert that a ratio of at least three steps on each side is the expected one, or that its noise hides it."""
    interval = row[f"{key}_interval"]
    if interval is None:
        # A difference of times that may be zero or negative has no interval.
        assert row[key] is None
        return
    low, high = interval
    assert math.isfinite(low) and 0 < low <= high
    if high <= LARGEST_AMBIGUITY * low:
        assert low <= row[key] <= high and row[key] == pytest.approx(expected)
    else:
        assert row[key] is None and low <= expected <= high

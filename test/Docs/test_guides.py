# ===- test_guides.py - Guides name places that exist -----------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Every block of the guides has a place in the tree. test/Guides builds the result."""

from __future__ import annotations

from pathlib import Path

import pytest
from guide_steps import GUIDES, ROOT, Edit, read_steps


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_every_block_has_a_place(page: Path) -> None:
    """Files are new, and the lines that edits stand beside are there once."""
    edits = [step for step in read_steps(page) if isinstance(step, Edit)]
    assert len(edits) >= 5
    for edit in edits:
        path = ROOT / edit.path
        assert path.parent.is_dir()
        edit.apply(path.read_text(encoding="utf-8") if path.exists() else None)


def test_a_line_that_moved_is_noticed() -> None:
    edit = Edit("a.cpp", "new\n", "old", after=True)
    assert edit.apply("one\nold\ntwo\n") == "one\nold\nnew\ntwo\n"
    for text in ("one\n", "old\nold\n", None):
        with pytest.raises(AssertionError):
            edit.apply(text)


def test_a_block_without_a_place_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Some words.\n\n```cpp\nint x;\n```\n")
    with pytest.raises(AssertionError, match="no paragraph describes where"):
        read_steps(page)

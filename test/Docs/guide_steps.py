# ===- guide_steps.py - Pages that are followed step by step ----------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The steps of docs/AddingAPass.md and docs/AddingAnOp.md.

The paragraph before a block of code describes the block: a file ("Create `path`:"), or lines of a file ("In `path`,
after the line `text`:", or "before the line"). Blocks of shell commands are commands, from the root of the tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = (ROOT / "docs/AddingAPass.md", ROOT / "docs/AddingAnOp.md")

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CREATE = re.compile(r"Create `([^`]+)`:$")
_EDIT = re.compile(r"In\s+`([^`]+)`,\s+(after|before)\s+the\s+line\s+`([^`]+)`:$")


@dataclass(frozen=True)
class Command:
    """Shell commands."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Edit:
    """Lines that a file gets; all of a new file if there is no anchor."""

    path: str
    lines: str
    anchor: str | None = None
    after: bool = False

    def __str__(self) -> str:
        return self.path + (f" at '{self.anchor}'" if self.anchor else "")

    def apply(self, text: str | None) -> str:
        """Return the file's text after the edit; `text` is None for a file that does not exist."""
        if self.anchor is None:
            assert text is None, f"{self.path} exists already"
            return self.lines
        assert text is not None, f"there is no file {self.path}"
        lines = text.splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if line.rstrip("\n") == self.anchor]
        assert len(places) == 1, f"{self.path} has {len(places)} lines '{self.anchor}'"
        place = places[0] + self.after
        return "".join([*lines[:place], self.lines, *lines[place:]])


def read_steps(page: Path) -> list[Command | Edit]:
    """Return the steps of a page in order; every block of code is one, but tables and words in sentences are not."""
    text, steps, end = page.read_text(encoding="utf-8"), [], 0
    for block in _BLOCK.finditer(text):
        before, language, code = text[end : block.start()].rstrip(), block[1], block[2]
        end = block.end()
        # A block within a block, in a description, belongs to the outer one.
        if language == "sh":
            steps.append(Command(code))
        elif create := _CREATE.search(before):
            steps.append(Edit(create[1], code))
        elif edit := _EDIT.search(before):
            steps.append(Edit(edit[1], code, edit[3], edit[2] == "after"))
        else:
            raise AssertionError(f"{page.name}: no paragraph describes where this block belongs:\n{code}")
    return steps

# ===- test_architecture.py - Folders depend on what their table lists ------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The tables of docs/Architecture.md agree with the `#include`s of every folder and with the names of libraries."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Architecture.md"
SUFFIXES = (".h", ".cpp", ".td", ".cuh")
INCLUDE = re.compile(r'^(?:#include|include) "([^"]+)"', re.MULTILINE)
LIBRARY = re.compile(r"^cs336_(?:tool_)?library\((\w+)", re.MULTILINE)
PUBLIC = "cs336/runtime/"


@dataclasses.dataclass(frozen=True)
class Row:
    """A folder of one of the two tables.

    `named` has its CMake library (compiler) or its public headers (runtime).
    """

    folder: str
    named: tuple[str, ...]
    depends_on: frozenset[str]


def parse_tables(page: str) -> list[Row]:
    """Read the rows whose first cell is a folder of lib/ or runtime/, in the order of the page."""
    rows = []
    for line in page.splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
        is_dependency_row = len(cells) in (3, 4) and len(cells[0]) == 1
        if line.startswith("| `") and is_dependency_row and re.match("(lib|runtime)/", cells[0][0]):
            rows.append(Row(cells[0][0], tuple(cells[1]), frozenset(cells[-1])))
    return rows


def folder_of_file(path: str, rows: list[Row]) -> str:
    """Return the folder that a source or a header belongs to; a public header belongs where its sources are."""
    if path.startswith("runtime/include/" + PUBLIC):
        name = path.removeprefix("runtime/include/" + PUBLIC)
        owners = [row.folder for row in rows if name in row.named or f"{name.split('/')[0]}/" in row.named]
        assert len(owners) == 1, f"{path} is a public header of {owners or 'no folder'}"
        return owners[0]
    path = re.sub("^include/cs336/", "lib/", path)
    inside = [row.folder for row in rows if path.startswith(row.folder + "/")]
    assert inside, f"{path} is in no folder of {PAGE.name}"
    return max(inside, key=len)


def folder_of_include(name: str, source: str, rows: list[Row]) -> str | None:
    """Return the folder that an included header belongs to, or None for a header of another project."""
    if name.startswith(PUBLIC):
        return folder_of_file(f"runtime/include/{name}", rows)
    if name.startswith("cs336/"):
        return folder_of_file(f"include/{name}", rows)
    if source.startswith("runtime/") and (ROOT / "runtime" / name).exists():
        return folder_of_file(f"runtime/{name}", rows)
    beside = ROOT / source
    if (beside.parent / name).exists():
        return folder_of_file(str((beside.parent / name).resolve().relative_to(ROOT)), rows)
    return None


ROWS = parse_tables(PAGE.read_text(encoding="utf-8"))
SOURCES = [
    str(path.relative_to(ROOT))
    for folder in ("include", "lib", "runtime")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in SUFFIXES
]


def included_folders(folder: str) -> dict[str, str]:
    """Map every other folder whose headers `folder` includes to one file that does."""
    found = {}
    for source in SOURCES:
        if folder_of_file(source, ROWS) != folder:
            continue
        for name in INCLUDE.findall((ROOT / source).read_text(encoding="utf-8")):
            other = folder_of_include(name, source, ROWS)
            if other not in (None, folder):
                found[other] = source
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.folder)
def test_folder_includes_what_its_row_lists(row: Row) -> None:
    found = included_folders(row.folder)
    not_listed = {folder: source for folder, source in found.items() if folder not in row.depends_on}
    assert not not_listed, f"{row.folder} must not include these, or {PAGE.name} must list them"
    assert set(found) == row.depends_on, f"{PAGE.name} lists folders that {row.folder} does not include"


def test_folders_depend_on_folders_above_them() -> None:
    above: set[str] = set()
    for row in sorted(ROWS, key=lambda row: row.folder.startswith("lib/")):
        assert row.depends_on <= above, row.folder
        above.add(row.folder)


def test_every_folder_has_one_row() -> None:
    folders = [row.folder for row in ROWS]
    assert sorted(folders) == sorted({folder_of_file(source, ROWS) for source in SOURCES})


def test_libraries_are_named_after_their_folders() -> None:
    for row in ROWS:
        definition = ROOT / row.folder / "CMakeLists.txt"
        if not row.folder.startswith("lib/") or not row.named:
            continue
        below = re.sub(r"^lib/(Dialect/|Conversion/)?(CS336/)?", "", row.folder).replace("/", "")
        assert row.named == ("CS336" + below.removeprefix("CS336"),)
        assert tuple(LIBRARY.findall(definition.read_text(encoding="utf-8"))) == row.named


def test_rules_notice_a_new_dependency() -> None:
    rows = parse_tables(
        "| `lib/A` | `CS336A` | |\n| `lib/A/B` | `CS336AB` | `lib/A` |\n| `runtime/tensor` | `Tensor.h` | x | |\n"
    )
    assert [row.depends_on for row in rows] == [frozenset(), {"lib/A"}, frozenset()]
    assert folder_of_include("cs336/A/B/Passes.h.inc", "lib/A/X.cpp", rows) == "lib/A/B"
    assert folder_of_include("cs336/runtime/Tensor.h", "lib/A/X.cpp", rows) == "runtime/tensor"
    assert folder_of_include("mlir/IR/Builders.h", "lib/A/X.cpp", rows) is None
    with pytest.raises(AssertionError, match="public header of no folder"):
        folder_of_include("cs336/runtime/New.h", "lib/A/X.cpp", rows)

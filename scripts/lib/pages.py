# ===- pages.py - The files that documentation consists of ----------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""List the documentation: its pages, and the files of the repository that they link to.

Run as a program with a folder, this module copies them there, with their paths.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "benchmarks", "examples", "python-bindings")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """List the pages, sorted."""
    return sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))])


def linked_files(page: Path) -> list[Path]:
    """List the files that a page links to.

    Raises
    ------
    ValueError
        If a link leads to a folder, out of the repository, or nowhere.
    """
    files = []
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        path = (page.parent / target).resolve()
        if not path.is_file() or not path.is_relative_to(ROOT):
            raise ValueError(f"{page.relative_to(ROOT)} links to {target}, which is not a file of the repository")
        files.append(path)
    return files


def documentation_files() -> list[Path]:
    """List the pages and all files that they link to, as paths in the repository, sorted."""
    files = {path for page in pages() for path in [page, *linked_files(page)]}
    return sorted(path.relative_to(ROOT) for path in files)


def copy_documentation(folder: Path) -> None:
    """Copy the documentation into a folder, with its paths in the repository."""
    for path in documentation_files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)


if __name__ == "__main__":
    copy_documentation(Path(sys.argv[1]))

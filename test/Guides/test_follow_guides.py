# ===- test_follow_guides.py - Guides work as they are printed --------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""A copy of the tree, in build/guides, gets what the guides add, is built, and runs the commands that they print.

An operation changes headers that most of the compiler includes. The first run compiles that; later ones find it in
ccache, or built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from guide_steps import GUIDES, ROOT, Command, Edit, read_steps

TREE = ROOT / "build/guides"


def tracked_files() -> dict[str, bytes]:
    """Return the files of the tree by path: what git has or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    paths = [ROOT / name for name in listed if name]
    return {
        str(path.relative_to(ROOT)): path.read_bytes() for path in paths if path.is_file() and not path.is_symlink()
    }


def write_tree(files: dict[str, bytes]) -> None:
    """Make TREE hold exactly these files beside its build; files that are there already keep their times."""
    old = [path for path in TREE.rglob("*") if path.is_file() and "build" not in path.relative_to(TREE).parts[:1]]
    for path in old:
        if str(path.relative_to(TREE)) not in files and not path.is_symlink() and ".venv" not in path.parts:
            path.unlink()
    for name, content in files.items():
        path = TREE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod((ROOT / name).stat().st_mode if (ROOT / name).exists() else 0o644)


def run(command: str) -> str:
    """Run commands in TREE, which must succeed, and print how long they took."""
    environment = os.environ | {"CCACHE_BASEDIR": str(TREE), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "locale"}
    environment.pop("PYTHONPATH", None)
    begin = time.monotonic()
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=TREE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(f"{time.monotonic() - begin:.0f} s: {command.strip()}")
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tree() -> Path:
    """The copy, with the edits of all guides, configured and ready for their commands."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("the list of files comes from git")
    files = tracked_files()
    for page in GUIDES:
        for edit in read_steps(page):
            if isinstance(edit, Edit):
                old = files.get(edit.path)
                files[edit.path] = edit.apply(old.decode() if old is not None else None).encode()
    TREE.mkdir(parents=True, exist_ok=True)
    write_tree(files)
    if not (TREE / ".venv").exists():
        (TREE / ".venv").symlink_to((ROOT / ".venv").resolve())
    if not (TREE / "build/dev/build.ninja").exists():
        python = "$PWD/.venv/bin/python"
        run(f"cmake --preset dev --no-warn-unused-cli -DPython_EXECUTABLE={python} -DPython3_EXECUTABLE={python}")
    # Tests look for it whatever they are.
    run("ninja -C build/dev cs336-nvrtc-check")
    return TREE


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_commands_succeed(tree: Path, page: Path) -> None:
    """What a page prints works, and its tests run something."""
    commands = [step.text for step in read_steps(page) if isinstance(step, Command)]
    printed = "".join(run(command) for command in commands)
    assert "PASS: cs336 :: " in printed
    assert "FAIL" not in printed


def test_result_is_formatted(tree: Path) -> None:
    """The code in the guides has the style of the tree."""
    edited = {step.path for page in GUIDES for step in read_steps(page) if isinstance(step, Edit)}
    sources = " ".join(sorted(path for path in edited if path.endswith((".cpp", ".h"))))
    run(f"clang-format-22 --dry-run --Werror {sources}")


def test_page_of_the_operation_is_generated(tree: Path) -> None:
    """`ninja docs` wrote the reference pages of the new operation and the new pass."""
    assert "### `cs336.softplus`" in (tree / "docs/Dialects/CS336.md").read_text(encoding="utf-8")
    assert "### `-cs336-check-widths`" in (tree / "docs/Passes/CS336.md").read_text(encoding="utf-8")

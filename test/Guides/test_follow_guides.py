# ===- test_follow_guides.py - Guides work as they are printed --------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Applies the edits of each guide to a copy of the tree in build/guides, and runs the commands of the guide there.

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

TREES = ROOT / "build/guides"


def tracked_files() -> dict[str, bytes]:
    """Return the files of the tree by path: what git has or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    paths = [ROOT / name for name in listed if name]
    return {
        str(path.relative_to(ROOT)): path.read_bytes() for path in paths if path.is_file() and not path.is_symlink()
    }


def write_tree(tree: Path, files: dict[str, bytes]) -> None:
    """Make a folder hold exactly these files beside its build; files that are there already keep their times."""
    for path in list(tree.rglob("*")):
        name = path.relative_to(tree)
        if path.is_file() and name.parts[0] not in ("build", ".venv") and str(name) not in files:
            path.unlink()
    for name, content in files.items():
        path = tree / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod((ROOT / name).stat().st_mode if (ROOT / name).exists() else 0o644)


def run(command: str, tree: Path) -> str:
    """Run commands in a tree, which must succeed, and print how long they took."""
    environment = os.environ | {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "locale"}
    environment.pop("PYTHONPATH", None)
    begin = time.monotonic()
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(f"{time.monotonic() - begin:.0f} s: {command.strip()}")
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}"
    return done.stdout


@pytest.fixture(scope="module", params=GUIDES, ids=lambda page: page.stem)
def page(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def tree(page: Path) -> Path:
    """The copy with the edits of a guide, configured and ready for its commands."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("the list of files comes from git")
    files = tracked_files()
    for edit in read_steps(page):
        if isinstance(edit, Edit):
            old = files.get(edit.path)
            files[edit.path] = edit.apply(old.decode() if old is not None else None).encode()
    tree = TREES / page.stem
    tree.mkdir(parents=True, exist_ok=True)
    write_tree(tree, files)
    if not (tree / ".venv").exists():
        (tree / ".venv").symlink_to((ROOT / ".venv").resolve())
    if not (tree / "build/dev/build.ninja").exists():
        python = f"{tree}/.venv/bin/python"
        run(f"cmake --preset dev --no-warn-unused-cli -DPython_EXECUTABLE={python} -DPython3_EXECUTABLE={python}", tree)
    # Every test requires this program.
    run("ninja -C build/dev cs336-nvrtc-check", tree)
    return tree


def test_commands_succeed(tree: Path, page: Path) -> None:
    """The commands of a page succeed, and at least one test runs."""
    commands = [step.text for step in read_steps(page) if isinstance(step, Command)]
    printed = "".join(run(command, tree) for command in commands)
    assert "PASS: cs336 :: " in printed
    assert "FAIL" not in printed


def test_result_is_formatted(tree: Path, page: Path) -> None:
    """The code in a guide has the style of the tree."""
    edited = {step.path for step in read_steps(page) if isinstance(step, Edit)}
    sources = " ".join(sorted(path for path in edited if path.endswith((".cpp", ".h"))))
    run(f"clang-format-22 --dry-run --Werror {sources}", tree)


def test_reference_page_is_generated(tree: Path, page: Path) -> None:
    """The build writes the reference page of the new operations and passes."""
    run("ninja -C build/dev docs-generated", tree)
    texts = [path.read_text(encoding="utf-8") for path in (tree / "build/dev/docs").rglob("*.md")]
    heading = {"AddingAPass": "\n## `-cs336-check-widths`", "AddingAnOp": "### `cs336.softplus`"}[page.stem]
    assert sum(heading in text for text in texts) == 1

# ===- test_site.py - The documentation as a static site -------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The site has every page and loads nothing from elsewhere. Broken links and pages outside the navigation fail."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(
    r"""<(?:script|img|iframe)[^>]*\bsrc="(https?:)?//[^"]*"|<link[^>]*\bhref="(https?:)?//[^"]*"|url\(["']?(https?:)?//"""
)


def build_site(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a source tree into folders of `folder`."""
    command = [sys.executable, root / "scripts/lib/documentation_site.py"]
    command += ["--source", folder / "source", "--output", folder / "site"]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, and give its folder."""
    folder = tmp_path_factory.mktemp("site")
    run = build_site(ROOT, folder)
    assert run.returncode == 0, run.stdout
    return folder / "site"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a copy of the files from which the site is made."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "scripts/lib", tree / "scripts/lib", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, ROOT / "scripts/lib/pages.py", tree], check=True)
    shutil.copy(ROOT / "docs/mkdocs.yml", tree / "docs")
    return tree


def test_every_page_is_there(site: Path) -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "benchmarks/results/README.md"]
    made = [
        page.relative_to(ROOT).with_name("index.html" if page.name == "README.md" else f"{page.stem}.html")
        for page in pages
    ]
    assert not [str(page) for page in made if not (site / page).is_file()]
    assert "cs336.softmax" in (site / "docs/Dialects/CS336.html").read_text(encoding="utf-8")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    assert len(files) > 50
    assert not [str(path) for path in files if LOADED.search(path.read_text(encoding="utf-8"))]
    assert LOADED.search('<link rel="stylesheet" href="https://fonts.googleapis.com/css">')
    assert LOADED.search('<script src="//unpkg.com/shim"></script>')


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ("[x](#nothing-here)", "there is no such anchor on this page"),
        ("[x](docs/Overview.md#nothing-here)", "does not contain an anchor '#nothing-here'"),
        ("[x](docs/Nowhere.md)", "README.md links to docs/Nowhere.md, which is not a file of the repository"),
        ("[x](docs)", "README.md links to docs, which is not a file of the repository"),
    ],
)
def test_broken_link_is_an_error(tree: Path, tmp_path: Path, addition: str, message: str) -> None:
    readme = tree / "README.md"
    readme.write_text(f"{readme.read_text(encoding='utf-8')}\n{addition}\n", encoding="utf-8")
    run = build_site(tree, tmp_path)
    assert run.returncode != 0
    assert message in run.stdout


def test_page_without_navigation_is_an_error(tree: Path, tmp_path: Path) -> None:
    (tree / "docs/Extra.md").write_text("# Extra\n", encoding="utf-8")
    run = build_site(tree, tmp_path)
    assert run.returncode != 0
    assert "docs/Extra.md" in run.stdout

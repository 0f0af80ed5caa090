# ===- test_docs.py - The documentation agrees with the code --------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Printed IR agrees with the tools, generated pages agree with the definitions, and links lead somewhere.

`ninja -C build/dev docs` writes the pages that the first two tests compare.
"""

from __future__ import annotations

import pathlib
import re

import pytest
from console_blocks import ROOT, pages, parse_block, run_command, run_page
from documented_commands import PAGES

BUILD = ROOT / "build/dev"
GENERATED = sorted((BUILD / "docs").glob("*/*.md"))
WRITTEN = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "benchmarks/results/README.md"]
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
# A file or folder of the repository, or a pattern for several.
PATH = re.compile(
    r"`((?:lib|include|runtime|tools|test|docs|scripts|benchmarks|examples|cmake|python-bindings)/[^`\s,]*)`"
)
PLACEHOLDER = re.compile(r"…|/X$")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def name_of(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", pages(), ids=name_of)
def test_printed_output_is_true(path: pathlib.Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.splitlines() == run_page(text, BUILD).splitlines(), "run 'ninja -C build/dev docs'"


@pytest.mark.parametrize("path", GENERATED, ids=name_of)
def test_generated_page_is_current(path: pathlib.Path) -> None:
    committed = ROOT / "docs" / path.relative_to(BUILD / "docs")
    assert committed.read_text(encoding="utf-8") == path.read_text(encoding="utf-8"), "run 'ninja -C build/dev docs'"


def test_every_reference_page_is_generated() -> None:
    committed = {
        path.relative_to(ROOT / "docs")
        for folder in ("Dialects", "Passes")
        for path in (ROOT / "docs" / folder).glob("*")
    }
    assert committed == {path.relative_to(BUILD / "docs") for path in GENERATED}


@pytest.mark.parametrize("path", WRITTEN, ids=name_of)
def test_links_lead_somewhere(path: pathlib.Path) -> None:
    targets = LINK.findall(CODE.sub("", path.read_text(encoding="utf-8")))
    assert not [target for target in targets if not (path.parent / target).exists()]


@pytest.mark.parametrize("path", WRITTEN, ids=name_of)
def test_named_files_exist(path: pathlib.Path) -> None:
    # Files that a guide has its readers create do not exist yet.
    text = re.sub(r"^Create `[^`]*`:$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = [target.split(":")[0] for target in PATH.findall(text) if not PLACEHOLDER.search(target)]
    assert not [target for target in named if not any(ROOT.glob(target.rstrip("/")))]


def test_console_block_notices_a_change(tmp_path: pathlib.Path) -> None:
    page = "```console\n$ printf 'a\\nb\\n' | tee kept\na\nb\n$ cat \\\n  kept\na\n```"
    assert run_page(page, BUILD) == page.replace("kept\na\n```", "kept\na\nb\n```")
    assert [step.shown for step in parse_block("$ x\n1\n2\n$ y\n")] == ["1\n2\n", ""]
    with pytest.raises(RuntimeError, match="exit status 3"):
        run_command("echo broken; exit 3\n", tmp_path, BUILD)

# ===- test_prose.py - Spelling, and the plain sentences of pages ----------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Codespell finds no misspelt word, and hand-written pages avoid phrases that readers have to read twice."""

import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (".md", ".h", ".cpp", ".cuh", ".td", ".fbs", ".py", ".pyi", ".mlir", ".test", ".txt", ".cmake")
# A comparison of MLIR (ordered, less than), and the plural of a term of MLIR.
SPELLED_SO = "OLT,canonicalizations"
# The glossary lists words to avoid. The changelog and the pages of passes and dialects are covered like all others.
EXCEPT = {"docs/Glossary.md"}
UNITS = "thread|block|warp|lane|row|step|launch|layer|token|kernel|multiprocessor|head|query|key|run|call|rank|GPU"


@dataclass(frozen=True)
class Phrase:
    pattern: str
    example: str  # A sentence in which it is found.
    reason: str


PHRASES = [
    Phrase(
        r"(?<!there )\b(is|are|was|were) no (?!longer|more|less|slower|faster|larger|smaller|worse|better)\w",
        "A sum is no epilogue.",
        "the negation is on the wrong word: write 'is not a'",
    ),
    Phrase(
        rf"\d[\w ]* (elements|bytes|values|outputs|threads|launches|heads|rows|ms|us|µs) an? ({UNITS})\b",
        "It loads 8 neighbouring elements a thread.",
        "'a' reads as an article: write 'per'",
    ),
    Phrase(r"\b(whoever|nobody|everybody)\b", "It waits for whoever reads.", "name the thing that acts"),
    Phrase(
        r"\b(kernel|pass|loader|runtime|compiler|command|operation|file|page)s? (knows?|wants?|believes?)\b",
        "The pass knows its operands.",
        "code does not know or want: write what it has, reads or requires",
    ),
    Phrase(r"(?-i:(^|[.!?] )(Whether|Of) )", "Whether it fits.", "the sentence has no subject at its start"),
    Phrase(r"\bof what (has|have|is|are|there)\b", "The best of what has any.", "name the set"),
    Phrase(r"\b(if|unless|when|where) nothing is said\b", "Train if nothing is said.", "write 'default:'"),
    Phrase(
        r"\bproducts? (of|in|by|with|are|is|take|takes)\b(?! (elements|numbers|sizes|extents))",
        "The products are in bf16.",
        "the field's words are GEMM (the command) and matmul (the operation)",
    ),
]


def tracked_files() -> list[pathlib.Path]:
    """List the files of the repository that hold text of this project."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = (ROOT / name for name in listed.split("\0") if name)
    return [path for path in files if path.suffix in TEXT and path.is_file()]


def hand_written_pages() -> list[pathlib.Path]:
    """List the Markdown pages that people wrote: a page beside a JSON record is printed by a tool."""
    pages = (path for path in tracked_files() if path.suffix == ".md" and not path.with_suffix(".json").exists())
    return [path for path in pages if str(path.relative_to(ROOT)) not in EXCEPT]


def prose_of(page: str) -> str:
    """Return the text of a page without code, on the lines where it was."""
    without_blocks = re.sub(r"^ *```.*?^ *```", lambda m: "\n" * m[0].count("\n"), page, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "`", without_blocks)


def find_phrases(page: str) -> list[str]:
    """Return a message for each phrase to avoid, with its line."""
    text = prose_of(page)
    return [
        f"{text.count(chr(10), 0, match.start()) + 1}: '{match[0].strip()}': {phrase.reason}"
        for phrase in PHRASES
        for match in re.finditer(phrase.pattern, text, flags=re.M | re.I)
    ]


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.example)
def test_phrases_are_found(phrase: Phrase) -> None:
    assert any(phrase.reason in message for message in find_phrases(f"A page.\n\n{phrase.example}\n"))


def test_code_is_not_prose() -> None:
    assert not find_phrases("```\nA sum is no epilogue.\n```\nA flag `is no x`.\n")


def test_pages_are_plain() -> None:
    """Hand-written pages have none of the phrases."""
    found = {
        str(page.relative_to(ROOT)): find_phrases(page.read_text(encoding="utf-8")) for page in hand_written_pages()
    }
    assert not [f"{page}:{message}" for page, messages in found.items() for message in messages]


def test_spelling() -> None:
    """Codespell knows every word of pages, sources and tests."""
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words-list", SPELLED_SO, *map(str, tracked_files())]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr

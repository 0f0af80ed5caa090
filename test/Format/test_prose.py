# ===- test_prose.py - Spelling, and the plain sentences of pages ----------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Codespell finds no misspelt word, and pages, comments and messages avoid phrases that must be read twice."""

import io
import pathlib
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (".md", ".h", ".cpp", ".cuh", ".td", ".fbs", ".py", ".pyi", ".mlir", ".test", ".txt", ".cmake")
# A comparison of MLIR (ordered, less than), and the plural of a term of MLIR.
SPELLED_SO = "OLT,canonicalizations"
# The glossary lists words to avoid. The changelog and the pages of passes and dialects are covered like all others.
EXCEPT = {"docs/Glossary.md"}
# The sources of which comments and string literals are checked. This file lists the phrases themselves.
SOURCES = (".h", ".cpp", ".cuh", ".td", ".py", ".pyi")
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
        r"\b(kernel|pass|loader|runtime|compiler|command|operation|file|page)s? (knows?|wants?|believes?|says)\b",
        "The pass knows its operands.",
        "code does not know, want or say: write what it has, reads, requires or reports",
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

# Comments describe a thing or an action, so they begin with its noun or with a verb.
COMMENT_PHRASES = [
    Phrase(
        r"(?-i:^(Of|What|Whether|That|Why|How) )",
        "What the pass computes.",
        "the comment has no subject: begin with a noun, or with 'Returns', 'Computes', 'Emits', …",
    ),
    Phrase(r"(?-i:^(Who|Whoever) )", "Who reads it.", "name the thing that acts"),
]

# A comment of C++, or a string literal: raw, ordinary, or a description in a .td file. Characters hide their quotes.
CXX_TOKEN = re.compile(
    r"""//(?P<line>[^\n]*) | /\*(?P<block>.*?)\*/ | R"(?P<end>\w*)\((?P<raw>.*?)\)(?P=end)"
    | "(?P<string>(?:\\.|[^"\\\n])*)" | '(?:\\.|[^'\\\n])+' | \[\{(?P<td>.*?)\}\]""",
    re.S | re.X,
)
# A line of a banner or of the licence, which is not a sentence.
BANNER = re.compile(r"^[ #/!*]*(=|-)*===.*$|^.*(Part of cs336-opt|SPDX).*$", re.M)


@dataclass
class Text:
    """The comments of consecutive lines, or the parts of one string."""

    is_comment: bool
    text: str
    line: int  # The first line, and the last one.
    last: int

    def prose(self) -> str:
        """Return the words on one line, without code in backquotes and without bullets of comments."""
        without_code = re.sub(r"`[^`\n]*`", "`", BANNER.sub("", self.text))
        return " ".join(without_code.split())


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


def cxx_tokens(source: str) -> Iterator[tuple[bool, str, int]]:
    """Yield for each comment and string literal of C++ or TableGen whether it is a comment, its text and its line."""
    for match in CXX_TOKEN.finditer(source):
        kind, line = match.lastgroup, source.count("\n", 0, match.start()) + 1
        if kind in ("line", "block"):
            yield True, re.sub(r"^[/!]?<?", "", match[kind]), line
        elif kind is not None:
            yield False, match["raw"] if kind == "end" else match[kind], line


def python_tokens(source: str) -> Iterator[tuple[bool, str, int]]:
    """Yield for each comment and string literal of Python whether it is a comment, its text and its line."""
    strings = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield True, token.string.lstrip("#! "), token.start[0]
        elif token.type in strings:
            yield False, re.sub(r"^\w*([\"']+)|[\"']+$", "", token.string), token.start[0]


def texts_of(source: str, suffix: str) -> list[Text]:
    """Return the comments and string literals of a source. Those on consecutive lines continue each other."""
    texts: list[Text] = []
    for is_comment, text, line in python_tokens(source) if suffix.startswith(".py") else cxx_tokens(source):
        last = line + text.count("\n")
        before = texts[-1] if texts else None
        if before and before.is_comment == is_comment and is_comment and line <= before.last + 1:
            before.text, before.last = f"{before.text}\n{text}", last
        else:
            texts.append(Text(is_comment, text, line, last))
    return texts


def find_source_phrases(source: str, suffix: str) -> list[str]:
    """Return a message for each phrase to avoid in comments and string literals, with the line of its text."""
    return [
        f"{text.line}: '{match[0].strip()}': {phrase.reason}"
        for text in texts_of(source, suffix)
        for phrase in PHRASES + (COMMENT_PHRASES if text.is_comment else [])
        for match in re.finditer(phrase.pattern, text.prose(), flags=re.I)
    ]


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.example)
def test_phrases_are_found(phrase: Phrase) -> None:
    assert any(phrase.reason in message for message in find_phrases(f"A page.\n\n{phrase.example}\n"))


def test_code_is_not_prose() -> None:
    assert not find_phrases("```\nA sum is no epilogue.\n```\nA flag `is no x`.\n")


COMMENTS = {
    ".cpp": "int x; // {}\n",
    ".h": "/// {}\nclass X;\n",
    ".td": "/* {} */\n",
    ".py": "x = 1  # {}\n",
}
STRINGS = {
    ".cpp": 'f("{}");\n',
    ".cuh": 'auto text = R"x({})x";\n',
    ".td": "let description = [{{ {} }}];\n",
    ".py": 'f("{}")\n',
}


@pytest.mark.parametrize("phrase", PHRASES + COMMENT_PHRASES, ids=lambda phrase: phrase.example)
@pytest.mark.parametrize("suffix", COMMENTS)
def test_phrases_are_found_in_comments(phrase: Phrase, suffix: str) -> None:
    source = COMMENTS[suffix].format(phrase.example)
    assert any(phrase.reason in message for message in find_source_phrases(source, suffix))


@pytest.mark.parametrize("phrase", PHRASES, ids=lambda phrase: phrase.example)
@pytest.mark.parametrize("suffix", STRINGS)
def test_phrases_are_found_in_strings(phrase: Phrase, suffix: str) -> None:
    source = STRINGS[suffix].format(phrase.example)
    assert any(phrase.reason in message for message in find_source_phrases(source, suffix))


def test_phrases_are_found_across_lines() -> None:
    source = "// The largest one,\n// of what\n// has any.\nint nobody;\n"
    assert find_source_phrases(source, ".cpp") == ["1: 'of what has': name the set"]


def test_sources_are_plain() -> None:
    """Comments and string literals of sources have none of the phrases."""
    sources = [path for path in tracked_files() if path.suffix in SOURCES and path != pathlib.Path(__file__)]
    found = {
        path.relative_to(ROOT): find_source_phrases(path.read_text(encoding="utf-8"), path.suffix) for path in sources
    }
    assert len(found) > 500
    assert not [f"{path}:{message}" for path, messages in found.items() for message in messages]


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

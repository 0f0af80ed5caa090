# ===- cuda_text.py - Compares CUDA C++ texts up to comments and names ------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Compare two CUDA C++ texts that may differ in comments, white space and names, and in nothing else.

Two texts agree if their tokens agree one by one, where an identifier may have another name in the second text. Within
one declaration at file scope, each name of the first text corresponds to exactly one name of the second text, and the
reverse. A name may be renamed differently in two declarations: local variables of two functions are independent.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<other>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\.?\d(?:[eEpP][+-]|[\w.'])*|.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclasses.dataclass(frozen=True)
class Token:
    """An identifier or keyword (``is_name``), a literal, or a character of punctuation, and the line that it is on."""

    text: str
    is_name: bool
    line: int


def read_tokens(text: str) -> list[Token]:
    """Split a text into tokens, without comments and white space."""
    tokens, line = [], 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            tokens.append(Token(match[0], match.lastgroup == "name", line))
        line += match[0].count("\n")
    return tokens


def _declaration_ends(tokens: list[Token]) -> Iterator[int]:
    """Yield the index after each declaration at file scope: after a closing brace, or a semicolon outside braces."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.is_name:
            continue
        depth += (token.text == "{") - (token.text == "}")
        if depth == 0 and token.text in ("}", ";"):
            yield index + 1
    yield len(tokens)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of comparing two texts.

    Attributes
    ----------
    difference
        The first difference, with the lines of both texts; empty if the texts agree.
    renamed
        Pairs of an old and a new name.
    """

    difference: str
    renamed: frozenset[tuple[str, str]]


def compare(before: str, after: str) -> Comparison:
    """Compare two texts up to comments, white space and consistent renaming."""
    old, new = read_tokens(before), read_tokens(after)
    renamed: set[tuple[str, str]] = set()
    begin = 0
    for end in _declaration_ends(old):
        to_new: dict[str, str] = {}
        to_old: dict[str, str] = {}
        for one, other in zip(old[begin:end], new[begin:end], strict=False):
            agree = one.is_name == other.is_name and (
                to_new.setdefault(one.text, other.text) == other.text
                and to_old.setdefault(other.text, one.text) == one.text
                if one.is_name
                else one.text == other.text
            )
            if not agree:
                difference = f"line {one.line}: '{one.text}' became line {other.line}: '{other.text}'"
                return Comparison(difference, frozenset(renamed))
        renamed |= {pair for pair in to_new.items() if pair[0] != pair[1]}
        begin = end
    if len(old) != len(new):
        return Comparison(f"{len(old)} tokens became {len(new)}", frozenset(renamed))
    return Comparison("", frozenset(renamed))

# ===- test_commands.py - Every command of the documentation works ---------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The commands that pages and help texts show are run as printed, in order, by a reader who followed README's set-up.

`shortened_commands.py` lists the commands that take minutes, a GPU or an installation, and their replacements.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
from documented_commands import (
    CHECKED_PAGES,
    FLAG,
    PAGES,
    ROOT,
    SOURCES,
    TOOLS,
    Command,
    commands_of_page,
    documented_commands,
    flags_in_text,
    help_text,
    known_flags,
)
from reader import Outcome, Reader
from shortened_commands import BROUGHT_ALONG, SHORTENED, Shortened, find_shortened, needed_files

# An error other than that of the interruption itself.
ERROR = re.compile(r"error: (?!interrupted)")
# The lines of README that prepare a shell for everything else.
SETS_VARIABLES = re.compile(r"^(export |\. )")


def unknown_words(command: str) -> list[str]:
    """List the flags of a command that its program's help text does not have, and other words of a script."""
    words = shlex.split(command, comments=True)
    while "=" in words[0] or Path(words[0]).name in ("python", "python3"):
        words.pop(0)
    tool = Path(words[0]).name in TOOLS
    program = [word for word in words[: 2 if tool else 1] if not word.startswith("-")]
    known = help_text(program, "--help-hidden" if tool else "--help")
    # Values of flags are not in the help text.
    checked = [word.split("=")[0] for word in words[1:] if word.startswith("-")]
    if not tool and not checked:
        checked = words[1:]
    return [word for word in checked if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", known)]


def unknown_names(program: str) -> list[str]:
    """List the names that a Python program takes from the package `cs336` and its sessions, and that are not there."""
    import cs336

    objects = {"cs336": cs336, "session": cs336.Session}
    return [
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in objects
        if not hasattr(objects[node.value.id], node.attr)
    ]


def run_shortened(reader: Reader, command: Command, entry: Shortened) -> Outcome:
    """Handle a command as the table describes."""
    if entry.only_flags:
        unknown = unknown_names(command.text) if command.is_python else unknown_words(command.text)
        return Outcome(1 if unknown else 0, f"unknown: {unknown}" if unknown else "")
    if entry.instead:
        found = re.search(entry.pattern, command.text)
        assert found
        return reader.run(Command(found.expand(entry.instead)))
    outcome = reader.run(command, entry.seconds)
    fails_as_expected = entry.unless and entry.unless in outcome.output
    if fails_as_expected or (outcome.is_interrupted and not ERROR.search(outcome.output)):
        return Outcome(0, outcome.output)
    return outcome


def run_documented(reader: Reader, command: Command) -> Outcome:
    """Run a command, or its shorter form in the table of shortened commands, with the files that it needs."""
    for name in needed_files(command.text):
        path = Path(name.replace("~", str(reader.home)))
        if not (reader.folder / path).exists():
            made = reader.run(Command(BROUGHT_ALONG[name]))
            assert made.status == 0, f"cannot make {name}: {made.output}"
    entry = find_shortened(command.text)
    outcome = run_shortened(reader, command, entry) if entry else reader.run(command)
    # A writer ends when the reader of its pipe has ended.
    return Outcome(0, outcome.output) if outcome.status == 128 + 13 else outcome


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Give a reader in an empty folder, before the first command."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    return Reader(folder)


def set_up(reader: Reader) -> None:
    """Run the commands that README lists for every shell."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in commands_of_page(page):
        if SETS_VARIABLES.match(command.text):
            assert reader.run(command).status == 0, command.text


@pytest.mark.parametrize("source", [source for source in SOURCES if "Rationale" not in source])
def test_commands_work(source: str, reader: Reader) -> None:
    commands = documented_commands(source)
    if source != "README.md":
        set_up(reader)
    failures = []
    for command in commands:
        outcome = run_documented(reader, command)
        if outcome.status != 0:
            failures.append(f"$ {command.text}\n{outcome.output[-2000:]}\nexit status {outcome.status}")
    assert not failures, "\n\n".join(failures)


def test_table_has_no_stale_entry() -> None:
    texts = [command.text for source in SOURCES for command in documented_commands(source)]
    found = {find_shortened(text) for text in texts}
    assert not [entry.pattern for entry in SHORTENED if entry not in found]
    assert not {*BROUGHT_ALONG} - {name for text in texts for name in needed_files(text)}


def test_misspelt_flags_are_noticed(reader: Reader) -> None:
    set_up(reader)
    for wrong in (
        "scripts/check litt",
        "PYTHONPATH=x python3 benchmarks/course_reference.py --curse DIR",
        "scripts/fuzz --second 600",
        "cs336-bench model --size small --fuison none",
        "cs336-bench model --size small --fusion nine",
        "ninja -C build/dev check-cs337",
        "cmake --preset debug",
        "cs336-run tiny.mlir --random-input",
    ):
        assert run_documented(reader, Command(wrong)).status != 0, wrong
    assert unknown_names("torch.from_dlpack(session.shared('x'), cs336.compile)") == ["session.shared"]


def test_blocks_of_commands_are_marked_alike() -> None:
    untested = re.compile(r"^ *```(bash|shell|zsh|py|python3)$", re.MULTILINE)
    pages = [page.name for page in PAGES if untested.search(page.read_text(encoding="utf-8"))]
    assert not pages, "commands in blocks marked 'sh', 'python' and 'console' are tested, others are not"


def test_flags_in_text_exist() -> None:
    known = known_flags()
    named = [(page.name, piece) for page in CHECKED_PAGES for piece in flags_in_text(page.read_text(encoding="utf-8"))]
    assert not [(page, piece) for page, piece in named if not {*FLAG.findall(piece)} <= known]
    assert flags_in_text("Pass `--fuison all` or `--x`, not `x`.\n```\n`--y`\n```\n") == ["--fuison all", "--x"]


def test_variables_are_remembered(reader: Reader) -> None:
    assert reader.run(Command("export GREETING=hello")).status == 0
    assert reader.run(Command('echo "$GREETING"')).output == "hello\n"
    assert reader.run(Command("sleep 60"), seconds=0.1).is_interrupted

# ===- documented_commands.py - The commands of pages and help texts -------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Find the commands that pages and help texts show.

A page shows commands in blocks marked ``sh``: one per line, which a backslash, a pipe or ``&&`` at the end continues. A
block marked ``python`` is one program. A help text shows a command on a line that begins with the name of a program of
this project, after blanks and assignments of variables.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("cs336-bench", "cs336-lsp-server", "cs336-opt", "cs336-run", "cs336-translate")
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
    ROOT / "python-bindings/README.md",
)
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>sh|python)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
CONTINUES = re.compile(r"(\\|\||&&)\s*$")
PROGRAM = re.compile(r"^\s*(\w+=\S+ +)*(cs336-[a-z-]+|scripts/[a-z-]+|(python3? +)?([a-z_-]+/)*[a-z_]+\.py|bible) +\S")
FLAG = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*")
# Programs of others, flags of nsys and ncu, and a pass that does not exist.
FOREIGN = re.compile(
    r"(cmake|ctest|objdump|mlir-translate) |--capture-range-end repeat$|--nvtx-include$|--cs336-frobnicate$"
)


@dataclass(frozen=True)
class Command:
    """A command or a program that a reader would type.

    Attributes
    ----------
    text
        For bash; or, if `is_python` is set, a program for Python.
    is_python
        True if the text is a program for Python.
    """

    text: str
    is_python: bool = False


def split_commands(block: str) -> list[Command]:
    """Split the text of an ``sh`` block, or lines of a help text, into commands."""
    commands: list[str] = []
    continued = False
    for line in block.splitlines():
        if continued:
            commands[-1] += "\n" + line
        elif line.strip() and not line.lstrip().startswith("#"):
            commands.append(line.strip())
        else:
            continue
        continued = CONTINUES.search(line) is not None
    return [Command(text) for text in commands]


def commands_of_page(page: str) -> list[Command]:
    """List the commands of a Markdown page, in order."""
    commands: list[Command] = []
    for block in BLOCK.finditer(page):
        if block["language"] == "python":
            commands.append(Command(block["text"], is_python=True))
        else:
            commands += split_commands(block["text"])
    return commands


def commands_of_help(text: str) -> list[Command]:
    """List the commands of a help text, in order and each once."""
    lines = text.splitlines()
    commands: list[Command] = []
    for number, line in enumerate(lines):
        if PROGRAM.match(line):
            commands += split_commands("\n".join(lines[number:]))[:1]
    return list(dict.fromkeys(commands))


def help_text(program: list[str], *flags: str) -> str:
    """Return the output of a program of the repository for ``--help``, or for other flags.

    Parameters
    ----------
    program
        Words of a command: a tool, with or without a subcommand, or a path in the repository.
    flags
        Default: ``--help``.
    """
    if program[0] == "-m":
        command = [sys.executable, *program]
    elif program[0] in TOOLS:
        command = [str(ROOT / "build/dev/bin" / program[0]), *program[1:]]
    elif (ROOT / program[0]).read_bytes().startswith(b"#!/bin/bash"):
        command = [str(ROOT / program[0])]
    else:
        command = [sys.executable, str(ROOT / program[0])]
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "build/dev/python"), COLUMNS="120")
    run = subprocess.run(
        [*command, *(flags or ["--help"])], env=environment, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{' '.join(program)} has no help:\n{run.stdout}{run.stderr}")
    return run.stdout


def subcommands(tool: str) -> list[str]:
    """List the subcommands of a tool, from its help text."""
    found = re.search(r"^SUBCOMMANDS:\n\n(.*?)\n\n", help_text([tool]), re.MULTILINE | re.DOTALL)
    return re.findall(r"^ +([a-z-]+)", found[1], re.MULTILINE) if found else []


def scripts(folder: str) -> list[str]:
    """List the programs of a folder that have a command line, as paths in the repository."""
    files = [path for path in sorted((ROOT / folder).iterdir()) if path.is_file() and path.suffix in ("", ".py")]
    return [f"{folder}/{path.name}" for path in files if path.read_bytes().startswith(b"#!")]


def programs(source: str) -> list[list[str]]:
    """List the command lines that have a help text: a tool and its subcommands, or the programs of a folder."""
    if source in TOOLS:
        return [[source], *([source, name] for name in subcommands(source))]
    # Programs that import PyTorch at their beginning have no help without it.
    return [[path] for path in scripts(source) if "\nimport torch" not in (ROOT / path).read_text(encoding="utf-8")]


def help_commands(source: str) -> list[Command]:
    """List the commands that a tool's help texts show, or those of all programs of a folder."""
    commands = [command for program in programs(source) for command in commands_of_help(help_text(program))]
    return list(dict.fromkeys(commands))


FOLDERS = ("scripts", "benchmarks", "examples")
# Command lines of modules of the Python package.
MODULES = (["-m", "cs336.launch"], *(["-m", "cs336.results", name] for name in ("plot", "timeline", "mlflow")))
# test_follow_guides.py and test_plugin.py follow these pages from start to end, in folders of their own.
FOLLOWED = ("docs/AddingAPass.md", "docs/AddingAnOp.md", "docs/Plugins.md")
CHECKED_PAGES = tuple(page for page in PAGES if str(page.relative_to(ROOT)) not in FOLLOWED)
SOURCES = (*(str(page.relative_to(ROOT)) for page in CHECKED_PAGES), *TOOLS, *FOLDERS)


def documented_commands(source: str) -> list[Command]:
    """List the commands of a source: a page, a tool, or a folder of programs."""
    if source.endswith(".md"):
        return commands_of_page((ROOT / source).read_text(encoding="utf-8"))
    return help_commands(source)


def known_flags() -> set[str]:
    """Return the flags of all programs, hidden ones included."""
    texts = [help_text(program, "--help-hidden") for tool in TOOLS for program in programs(tool)]
    texts += [help_text(program) for folder in FOLDERS for program in programs(folder)]
    texts += [help_text(module) for module in MODULES]
    return {flag for text in texts for flag in FLAG.findall(text)}


def flags_in_text(page: str) -> list[str]:
    """List the pieces of code in a page's sentences that have a flag of a program of this project."""
    pieces = re.findall(r"`([^`\n]*)`", re.sub(r"^ *```.*?^ *```", "", page, flags=re.MULTILINE | re.DOTALL))
    return [piece for piece in pieces if FLAG.search(piece) and not FOREIGN.match(piece)]

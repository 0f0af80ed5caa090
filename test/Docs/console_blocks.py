# ===- console_blocks.py - Runs the commands of pages ---------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Run the commands of a page's ``console`` blocks and compare their output with the page.

A block is fenced by three backticks and the word ``console``. Its lines that start with ``$`` are shell commands, each
followed by all of its output. A page's commands run in order in one folder, in which ``examples`` is the repository's,
so that a command can read files of an earlier one. A command must succeed; one that shows an error ends with
``|| true``. Run as a program with ``--update``, this module writes the output of the commands into the pages.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Step:
    """A command of a page.

    Attributes
    ----------
    command
        The text after ``$``, with the lines that continue it after a backslash or a pipe.
    shown
        The output in the page.
    """

    command: str
    shown: str


def parse_block(text: str) -> list[Step]:
    """Split a block into its commands and their outputs."""
    steps: list[Step] = []
    continued = False
    for line in text.splitlines(keepends=True):
        if continued:
            steps[-1].command += line
        elif line.startswith("$ "):
            steps.append(Step(line[2:], ""))
        elif not steps:
            raise ValueError(f"a console block starts with a command, not with {line!r}")
        else:
            steps[-1].shown += line
            continue
        continued = line.endswith(("\\\n", "|\n"))
    return steps


def run_command(command: str, folder: pathlib.Path, build: pathlib.Path) -> str:
    """Run a command as a reader would, with the build's programs on PATH.

    Parameters
    ----------
    command
        The command, for bash.
    folder
        The folder to run it in.
    build
        The build whose programs it uses.

    Returns
    -------
    str
        Its whole output.
    """
    environment = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}", COLUMNS="120", LC_ALL="C.UTF-8")
    run = subprocess.run(
        ["bash", "-o", "pipefail", "-ec", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    # A writer ends when the reader of its pipe has ended.
    if run.returncode not in (0, 128 + signal.SIGPIPE):
        raise RuntimeError(f"exit status {run.returncode} of\n{command}{run.stdout}")
    return run.stdout


def run_page(text: str, build: pathlib.Path) -> str:
    """Return the page with the output of all its commands now."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")

        def run_block(match: re.Match[str]) -> str:
            parts = (f"$ {step.command}{run_command(step.command, folder, build)}" for step in parse_block(match[1]))
            return "```console\n" + "".join(parts) + "```"

        return BLOCK.sub(run_block, text)


def pages() -> list[pathlib.Path]:
    """List the pages that have console blocks."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in files if BLOCK.search(path.read_text(encoding="utf-8"))]


def main() -> None:
    """Update the pages, or list the outdated ones."""
    parser = argparse.ArgumentParser(description="Run the commands that the documentation shows.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/dev", help="the build whose programs run")
    parser.add_argument("--update", action="store_true", help="write what the commands print into the pages")
    arguments = parser.parse_args()
    for path in pages():
        old = path.read_text(encoding="utf-8")
        new = run_page(old, arguments.build.resolve())
        if old == new:
            continue
        print(f"{path.relative_to(ROOT)}: {'updated' if arguments.update else 'out of date'}")
        if arguments.update:
            path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()

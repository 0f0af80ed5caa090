# ===- console_blocks.py - The commands that pages show, run ---------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Run the commands of a page's ``console`` blocks and compare what they print with what the page shows.

A block is fenced by three backticks and the word ``console``. Its lines that start with ``$`` are commands of the
shell, each followed by all that it prints. A page's commands run in order in one folder, where ``examples`` is the
repository's, so that a command reads what an earlier one wrote. A command must succeed; one that is to show an error
ends with ``|| true``. Run as a program with ``--update``, this module writes what the commands print into the pages.
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
        What stands after ``$``, with the lines that a backslash or a pipe at the end continues.
    shown
        What the page says that it prints.
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
    """Run a command as a reader would, with the build's programs in the path.

    Parameters
    ----------
    command
        For bash.
    folder
        Where it runs.
    build
        The build whose programs it uses.

    Returns
    -------
    str
        All that it printed.
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
    # A pipe whose reader had enough ends its writer.
    if run.returncode not in (0, 128 + signal.SIGPIPE):
        raise RuntimeError(f"exit status {run.returncode} of\n{command}{run.stdout}")
    return run.stdout


def run_page(text: str, build: pathlib.Path) -> str:
    """Give the page as it would be if all its commands had been run now."""
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
    """Bring the pages up to date, or say which are not."""
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

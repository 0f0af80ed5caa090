# ===- documentation_site.py - The documentation as a static site ---------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Build the static site: the pages with the paths that they have in the repository, so that links work in both."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePath

import pages

CONFIGURATION = pages.ROOT / "docs/mkdocs.yml"


def title_of(file: str) -> str:
    """Return the heading of a page; empty for a page that does not begin with one."""
    first = (pages.ROOT / file).read_text(encoding="utf-8").lstrip().partition("\n")[0]
    return first.removeprefix("# ") if first.startswith("# ") else ""


def navigation_entries(files: list[str]) -> list[str]:
    """Return an entry for each page: under its heading, or under its file's name if headings are missing or equal."""
    titles = [title_of(file) for file in files]
    has_titles = all(titles) and len({*titles}) == len(titles)
    return [f"- {file}" if has_titles else f"- {PurePath(file).stem}: {file}" for file in files]


def expand_navigation(configuration: str, files: list[str]) -> str:
    """Replace patterns in the navigation by entries for the pages that match and are not named elsewhere.

    Parameters
    ----------
    configuration
        The text of mkdocs.yml, with at most one pattern per line.
    files
        All pages.

    Raises
    ------
    ValueError
        If nothing matches a pattern.
    """
    before, key, navigation = configuration.partition("\nnav:\n")
    words = [word.strip("[],") for word in navigation.split()]
    patterns = [word for word in words if "*" in word]
    for pattern in patterns:
        matching = [file for file in files if PurePath(file).match(pattern) and file not in words]
        if not matching:
            raise ValueError(f"no page matches {pattern} in the navigation")
        line = next(line for line in navigation.splitlines() if f"- {pattern}" in line or f"[{pattern}]" in line)
        indent = " " * (len(line) - len(line.lstrip()))
        entries = navigation_entries(matching)
        if line.lstrip() == f"- {pattern}":
            new = "\n".join(indent + entry for entry in entries)
        else:
            new = line.replace(f" [{pattern}]", "") + "".join(f"\n{indent}    {entry}" for entry in entries)
        navigation = navigation.replace(line, new)
    return before + key + navigation


def build_site(source: Path, output: Path) -> int:
    """Copy the pages into a folder and build the site from it; return the exit status of mkdocs.

    Parameters
    ----------
    source
        Folder for the pages, made anew.
    output
        Folder of the site, made anew.
    """
    shutil.rmtree(source, ignore_errors=True)
    pages.copy_documentation(source / "pages")
    files = [str(path.relative_to(pages.ROOT)) for path in pages.pages()]
    configuration = expand_navigation(CONFIGURATION.read_text(encoding="utf-8"), files)
    (source / "mkdocs.yml").write_text(configuration + "docs_dir: pages\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean"]
    command += ["--config-file", str(source / "mkdocs.yml"), "--site-dir", str(output)]
    run = subprocess.run(
        command,
        env=dict(os.environ, NO_MKDOCS_2_WARNING="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode:
        print(run.stdout, end="")
    return run.returncode


def main() -> int:
    """Read the command line and build the site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=pages.ROOT / "build/site-source", help="folder for the pages")
    parser.add_argument("--output", type=Path, default=pages.ROOT / "build/site", help="folder of the site")
    arguments = parser.parse_args()
    try:
        return build_site(arguments.source.resolve(), arguments.output.resolve())
    except ValueError as error:
        print(f"scripts/docs: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

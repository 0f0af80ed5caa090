# ===- fuzz_targets.py - Fuzz targets and their command lines -------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Find the fuzz targets of a source tree, and make the command lines that run them."""

from __future__ import annotations

import dataclasses
import pathlib
import sys

# Programs of test/Runtime/fuzz, and the folders that write_corpus makes for them.
RUNTIME_TARGETS = {
    "executable_fuzzer": "program",
    "parser_fuzzer_executable": "executable",
    "parser_fuzzer_npy": "npy",
    "parser_fuzzer_npz": "npz",
    "parser_fuzzer_safetensors": "safetensors",
}

# A case takes milliseconds. One that takes this many seconds, or a process that takes this many MiB, is a finding.
CASE_SECONDS = 60
MOST_MEMORY = 4096


@dataclasses.dataclass(frozen=True)
class Target:
    """A program that tries cases.

    Attributes
    ----------
    name
        The name of the program.
    preset
        The build preset that it belongs to.
    program
        The program, or the Python file.
    seeds
        The folder of the cases that it starts from; None if it generates all cases itself.
    in_tree
        True if that folder is part of the source tree.
    """

    name: str
    preset: str
    program: pathlib.Path
    seeds: pathlib.Path | None
    in_tree: bool

    @property
    def command(self) -> list[str]:
        """The start of a command line."""
        python = self.program.parents[3] / ".venv/bin/python"
        interpreter = [str(python) if python.exists() else sys.executable] if self.program.suffix == ".py" else []
        return [*interpreter, str(self.program)]

    @property
    def build_targets(self) -> list[str]:
        """The targets to build."""
        if self.program.suffix == ".py":
            return ["cs336_python"]
        return [self.name] if self.in_tree else [self.name, "write_corpus"]


def find_targets(root: pathlib.Path) -> dict[str, Target]:
    """Find the targets of the tree at ``root``: one per folder of test/Fuzz, and those of the runtime."""
    targets = []
    for folder in sorted((root / "test/Fuzz").iterdir()):
        name = f"{folder.name}_fuzzer"
        if (program := folder / f"{name}.py").exists():
            targets.append(Target(name, "dev", program, None, in_tree=True))
        elif (folder / "corpus").is_dir():
            targets.append(Target(name, "fuzz", root / "build/fuzz/bin" / name, folder / "corpus", in_tree=True))
    for name, corpus in RUNTIME_TARGETS.items():
        seeds = root / "build/asan/test/Runtime/fuzz/corpus" / corpus
        targets.append(Target(name, "asan", root / "build/asan/bin" / name, seeds, in_tree=False))
    return {target.name: target for target in targets}


def run_command(
    target: Target, corpus: pathlib.Path, findings: pathlib.Path, seconds: int | None, runs: int | None, seed: int
) -> list[str]:
    """Make the command that tries cases.

    Parameters
    ----------
    target
        The target to run.
    corpus
        The folder for cases that reach new code.
    findings
        The folder for a case that fails.
    seconds, runs
        The limit of time or the number of cases; one of the two.
    seed
        Seed of the random numbers; 0 for a different one in each run.
    """
    limit = f"-max_total_time={seconds}" if runs is None else f"-runs={runs}"
    flags = [limit, f"-seed={seed}", f"-artifact_prefix={findings}/{target.name}-"]
    if target.program.suffix == ".py":
        return [*target.command, *flags]
    flags += [f"-timeout={CASE_SECONDS}", f"-rss_limit_mb={MOST_MEMORY}", "-max_len=1048576", "-print_final_stats=1"]
    return [*target.command, *flags, str(corpus), str(target.seeds)]


def merge_command(target: Target, corpus: pathlib.Path) -> list[str]:
    """Make the command that adds the fewest cases to the tree that reach all code which its own cases do not reach."""
    return [*target.command, "-set_cover_merge=1", "-use_counters=0", str(target.seeds), str(corpus)]


def reproduce_command(target: Target, case: str) -> list[str]:
    """Make the command that runs one case again."""
    return [*target.command, case]

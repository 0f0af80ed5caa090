# ===- shortened_commands.py - Documented commands that a test cannot run ---===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""The documented commands that a test does not run to their end as printed, each with the reason and the replacement.

All other commands are run as printed and must succeed. The files that a reader would bring along are listed here, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Shortened:
    """Commands that are not run to their end as printed.

    Exactly one of the last three attributes is set.

    Attributes
    ----------
    pattern
        A regular expression. The first entry whose pattern is found in a command is used.
    reason
        The reason why they are not run.
    seconds
        Runs the command, and interrupts it after this time: until then there is no error.
    instead
        Runs this command in its place: a dry run, which rejects what the command itself would reject. May refer to
        groups of the pattern.
    only_flags
        Runs nothing. Every flag of the command is in its program's help text, and so is every other word of a script.
    unless
        A message with which the command may fail, because this machine lacks what it needs.
    """

    pattern: str
    reason: str
    seconds: float | None = None
    instead: str | None = None
    only_flags: bool = False
    unless: str | None = None


SETS_UP = "sets up a machine: installs packages, and builds for minutes"
MINUTES = "takes minutes on a CPU"
BUILDS = "builds, or runs whole suites, for minutes"

SHORTENED = [
    # The second run starts with the files of the first one.
    Shortened(r"^scripts/demo\b", MINUTES, instead="scripts/demo --steps 1 && scripts/demo --steps 1"),
    Shortened(r"^scripts/(check|package|docs)\b", SETS_UP, only_flags=True),
    Shortened(r"^scripts/fuzz (?!--list)", "builds with libFuzzer, then runs for minutes", only_flags=True),
    Shortened(r"scripts/compare-compilers ", "needs a build of another commit", only_flags=True),
    Shortened(r"scripts/check-gpu ", "needs a GPU, and runs for an hour", only_flags=True),
    Shortened(r"^cmake --preset (\w+)", BUILDS, instead=r"""cmake --list-presets | grep -q '"\1"'"""),
    # Unlike `-t query`, `-t targets` never runs CMake, which would write the reader's paths into build/dev.
    Shortened(
        r"^ninja -C (\S+) *([\w-]*)",
        BUILDS,
        instead=r"""target=\2; ninja -C \1 -t targets all | grep "^${target:-all}: " > /dev/null""",
    ),
    Shortened(r"^ctest (.*)", BUILDS, instead=r"ctest -N \1"),
    Shortened(r"^(\S*python -m pytest)(.*)", BUILDS, instead=r"\1 --collect-only -q \2"),
    Shortened(r"^(nsys|ncu) ", "needs NVIDIA's Nsight and a GPU", seconds=10, unless="command not found"),
    Shortened(r"--peer torch", "needs PyTorch, and takes minutes", seconds=4, unless="PyTorch"),
    Shortened(
        r"^cs336-bench ((model|attention)\b.*(--size small|--n_layers|--length \S*4096)"
        r"|study (?!--list|mixed_precision_accumulation))",
        MINUTES,
        seconds=4,
    ),
    Shortened(r"^(.*\bcompile_time\.py.*)", MINUTES, instead=r"CS336_COMMIT=none \1 --sizes tiny --runs 1"),
    Shortened(r"\bcourse_reference\.py", "needs PyTorch, a GPU, and the course's code", only_flags=True),
    # Ranks that are interrupted report each other's end.
    Shortened(r"^(.*\bcs336\.launch\b.*\btrain_text\.py.*)", MINUTES, instead=r"\1 --steps 2 --sample-tokens 2"),
    Shortened(r"\btrain_text\.py", MINUTES, seconds=4),
    Shortened(r"--device cuda.*--(random-)?inputs", "needs a GPU", seconds=60, unless="there is no CUDA driver"),
    Shortened(r"^(.*\brank_steps\.py.*)", "has no history of git", instead=r"CS336_COMMIT=none \1"),
    Shortened(r"^ssh-keygen (.*)", "needs OpenSSH", seconds=10, unless="ssh-keygen: command not found"),
    Shortened(r"cs336\.results", "needs pandas, matplotlib or MLflow", seconds=60, unless=r"cs336.results needs"),
    Shortened(r"torch\.from_dlpack", "needs PyTorch, a model in it, and a GPU", only_flags=True),
]

# Commands that make the files that readers bring along.
BROUGHT_ALONG = {
    "batch.npz": """python -c '
import numpy as np
tokens = np.arange(4 * 65).reshape(4, 65) % 100
np.savez("batch.npz", tokens=tokens[:, :-1], targets=tokens[:, 1:])'""",
    "model.json": """echo '{"size": "tiny", "context_length": 64}' >model.json""",
    "model.mlir": "cs336-translate --import-transformer --size tiny --context-length 64 -o model.mlir",
    "model.cs336x": """cs336-translate --import-transformer --size tiny --context-length 64 |
        cs336-translate --emit-executable - -o model.cs336x""",
    "model.safetensors": "cs336-run tiny.mlir --random-inputs --save-params model.safetensors",
    "small-exec.mlir": "cs336-opt --cs336-pipeline small.mlir -o small-exec.mlir",
    "~/.ssh/id_ed25519": "mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 || true",
    "before.json": "cs336-bench allreduce --backend threads --size 1KiB --format json --output before.json",
    "after.json": "cs336-bench allreduce --backend threads --size 1KiB --format json --output after.json",
    "allowed_signers": 'echo "you@example.org $(cat ~/.ssh/id_ed25519.pub)" >allowed_signers',
    "bible.txt": "bible -l0 gen1:1-rev22:21 >bible.txt",
}
WRITES = r"(-o|--out|--output|--outputs|--save-params|--save-state|>)[ =]?{}\b"


def find_shortened(text: str) -> Shortened | None:
    """Return the entry for a command, or None if it is run as printed."""
    return next((entry for entry in SHORTENED if re.search(entry.pattern, text)), None)


def needed_files(text: str) -> list[str]:
    """List the files of `BROUGHT_ALONG` that a command reads."""
    return [
        name
        for name in BROUGHT_ALONG
        if re.search(rf"(?<![\w./]){re.escape(name)}(?!\S)", text)
        and not re.search(WRITES.format(re.escape(name)), text)
    ]

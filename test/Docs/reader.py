# ===- reader.py - Runs commands as a reader of the documentation would -----===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""A scratch copy of the repository, and a shell in it that remembers variables from one command to the next."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from documented_commands import ROOT, Command

# Longest time of a command, in seconds.
LIMIT = 120


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command.

    Attributes
    ----------
    status
        Its exit status; negative if a signal ended it.
    output
        Its whole output.
    is_interrupted
        True if it was interrupted because it still ran at the end of its time.
    """

    status: int
    output: str
    is_interrupted: bool = False


class Reader:
    """Runs commands in a folder that looks like the repository. They do not change the repository.

    Sources, the build and the virtual environment are links. Folders into which commands write are copies or empty.

    Parameters
    ----------
    folder
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._variables = folder.parent / f"{folder.name}-variables"
        for path in ROOT.iterdir():
            if path.name not in (".git", "build", "benchmarks"):
                (folder / path.name).symlink_to(path)
        (folder / "build").mkdir()
        (folder / "build/dev").symlink_to(ROOT / "build/dev")
        shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=shutil.ignore_patterns("results"))
        (folder / "benchmarks/results").mkdir()
        programs = folder.parent / f"{folder.name}-bin"
        programs.mkdir()
        # `less` becomes a pager that does not wait for a key.
        (programs / "less").symlink_to(shutil.which("cat") or "/bin/cat")
        self.home = folder.parent / f"{folder.name}-home"
        self.home.mkdir()
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "CUDA_HOME") if name in os.environ}
        self._environment = kept | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "120",
            "CS336_CACHE_DIR": str(folder.parent / "documented-commands-cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, command: Command, seconds: float | None = None) -> Outcome:
        """Run a command with the variables of the shell that earlier commands left.

        Parameters
        ----------
        command
            The command to run.
        seconds
            Seconds after which it is interrupted, as by Ctrl-C. By default it runs to its end.
        """
        if command.is_python:
            program = self.folder.parent / f"{self.folder.name}-program.py"
            program.write_text(command.text, encoding="utf-8")
            text = f"python {program}"
        else:
            text = command.text
        script = f'[ ! -f "$0" ] || . "$0"\n{text}\nstatus=$?\nexport -p >"$0"\nexit $status\n'
        process = subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", script, str(self._variables)],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        is_interrupted = False
        try:
            output, _ = process.communicate(timeout=seconds or LIMIT)
        except subprocess.TimeoutExpired:
            is_interrupted = True
            output = self._interrupt(process)
        return Outcome(process.returncode, output, is_interrupted)

    @staticmethod
    def _interrupt(process: subprocess.Popen[str]) -> str:
        """End a process and all processes that it started, by Ctrl-C and then by force. Return its output."""
        for ending, patience in ((signal.SIGINT, 10), (signal.SIGKILL, None)):
            os.killpg(process.pid, ending)
            try:
                return process.communicate(timeout=patience)[0]
            except subprocess.TimeoutExpired:
                continue
        raise AssertionError("a killed process ends")

"""Runs of a tool in which one call fails, from a process that was started once: test/lib/FaultInjection."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import cs336

BUILD = Path(cs336.__file__).parents[2]
LIBRARY = BUILD / "lib" / "libcs336_fault_injection.so"
FAULTS = {"fail": 1, "short": 2, "kill": 3, "from then on": 4}


@dataclass(frozen=True)
class Trial:
    """The end of a run, as in ``subprocess.Popen.returncode``, and its output."""

    function: str
    fault: str
    number: int
    code: int
    injected: bool
    output: str

    def __str__(self) -> str:
        return f"{self.function} {self.number} ({self.fault}): exit code {self.code}\n{self.output}"


class FaultTrials:
    """A tool that was started and waits before ``main``.

    Parameters
    ----------
    command
        The tool and its arguments.
    folder
        Calls fail on files below this folder.
    log
        File for the runs' output.
    environment
        Variables in addition to those of this process.
    """

    def __init__(self, command: list[str], folder: Path, log: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.log = log
        ours, its = socket.socketpair()
        self.requests = ours.makefile("rw", encoding="ascii")
        variables = {"LD_PRELOAD": str(LIBRARY), "CS336_FAULT_TRIALS": str(its.fileno()), **environment}
        # Stacks with symbols would take most of the time.
        variables |= {"LLVM_DISABLE_SYMBOLIZATION": "1"}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[its.fileno()],
            )
        ours.close()
        its.close()

    def __enter__(self) -> FaultTrials:
        return self

    def __exit__(self, *_: object) -> None:
        self.requests.close()
        self.process.wait()

    def run(self, function: str, number: int, fault: str) -> Trial:
        """Run the tool with that call failing. Discards the output of earlier runs."""
        os.truncate(self.log, 0)
        self.requests.write(f"{function} {number} {FAULTS[fault]} {self.folder}\n")
        self.requests.flush()
        status, calls = (int(word) for word in self.requests.readline().split())
        output = self.log.read_bytes().lstrip(b"\0").decode(errors="replace")
        code = os.waitstatus_to_exitcode(status)
        injected = calls >= number or (fault == "kill" and code == -9)
        return Trial(function, fault, number, code, injected, output)

    def run_all(self, function: str, fault: str) -> Iterator[Trial]:
        """Run with the first call failing, then with the second, until there are no more calls."""
        number = 1
        while (trial := self.run(function, number, fault)).injected:
            yield trial
            number += 1

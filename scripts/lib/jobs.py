# ===- jobs.py - Processes that run tests, several at a time --------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Run processes beside each other, each with a limit of time, and keep what they print."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Job:
    """A process that runs tests.

    Attributes
    ----------
    name
        What its files in the folder of logs are called.
    suite
        ``tests``, or the tool that it runs under.
    kind
        ``pytest``, ``google`` or ``program``: how its outcomes are known.
    command
        The program and its arguments, which end with the tests where it is pytest.
    tests
        What it is to run.
    """

    name: str
    suite: str
    kind: str
    command: list[str]
    tests: list[str]


@dataclasses.dataclass(frozen=True)
class Ended:
    """What became of a job: its exit status, or None where its limit ended it, and how many seconds it took."""

    job: Job
    status: int | None
    seconds: float


def deal(tests: Sequence[str], number: int) -> list[list[str]]:
    """Deal tests to at most that many processes: neighbours, which take about as long, to different ones."""
    return [part for part in (list(tests[first::number]) for first in range(number)) if part]


def log_path(logs: pathlib.Path, job: Job) -> pathlib.Path:
    """Name the file that holds what a job printed."""
    return logs / f"{job.name}.txt"


def outcomes_path(logs: pathlib.Path, job: Job) -> pathlib.Path:
    """Name the file that holds the outcomes of a job of pytest."""
    return logs / f"{job.name}.outcomes"


def run_jobs(
    pending: Sequence[Job],
    processes: int,
    limit: float,
    root: pathlib.Path,
    logs: pathlib.Path,
    environment: Mapping[str, str],
) -> Iterator[Ended]:
    """Run jobs in a folder, so many at a time, and end each after so many seconds; give them as they end."""
    waiting = collections.deque(pending)
    running: list[tuple[Job, subprocess.Popen[bytes], float]] = []
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                job = waiting.popleft()
                running.append((job, _start(job, root, logs, environment), time.monotonic()))
            time.sleep(0.05)
            for each in list(running):
                job, process, start = each
                status, seconds = process.poll(), time.monotonic() - start
                if status is not None or seconds >= limit:
                    running.remove(each)
                    _kill_group(process)
                    yield Ended(job, status, seconds)
    finally:
        for _, process, _ in running:
            _kill_group(process)


def _start(job: Job, root: pathlib.Path, logs: pathlib.Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    outcomes_path(logs, job).unlink(missing_ok=True)
    streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    with log_path(logs, job).open("wb") as log:
        return subprocess.Popen(job.command, cwd=root, env=environment, stdout=log, **streams, start_new_session=True)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # A tool's own process may be left when the program has ended, and the other way round.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

# ===- jobs.py - Running processes in parallel ----------------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Run processes in parallel, each with a limit of time, and keep their output."""

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
        Name of its files in the folder of logs.
    suite
        ``tests``, or the tool that it runs under.
    kind
        ``pytest``, ``google`` or ``program``: determines how its outcomes are read.
    command
        The program and its arguments. For pytest, they end with the tests.
    tests
        The tests to run.
    """

    name: str
    suite: str
    kind: str
    command: list[str]
    tests: list[str]


@dataclasses.dataclass(frozen=True)
class Ended:
    """The end of a job: its exit status, or None if it was ended at its limit, and its time in seconds."""

    job: Job
    status: int | None
    seconds: float


def deal(tests: Sequence[str], number: int) -> list[list[str]]:
    """Distribute tests over at most `number` processes. Neighbours take about equally long, and are separated."""
    return [part for part in (list(tests[first::number]) for first in range(number)) if part]


def log_path(logs: pathlib.Path, job: Job) -> pathlib.Path:
    """Return the file with the output of a job."""
    return logs / f"{job.name}.txt"


def outcomes_path(logs: pathlib.Path, job: Job) -> pathlib.Path:
    """Return the file with the outcomes of a pytest job."""
    return logs / f"{job.name}.outcomes"


def run_jobs(
    pending: Sequence[Job],
    processes: int,
    limit: float,
    root: pathlib.Path,
    logs: pathlib.Path,
    environment: Mapping[str, str],
) -> Iterator[Ended]:
    """Run jobs in a folder, at most `processes` at a time, each for at most `limit` seconds. Yield them as they end."""
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
    # A tool's own process may outlive the program, and the program may outlive the tool.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

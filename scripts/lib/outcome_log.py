# ===- outcome_log.py - Logs test outcomes as they occur ------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""A pytest plugin (``-p outcome_log --outcome-log FILE``) that writes a line per outcome as soon as it is known.

A process that is killed at its limit, or that crashes, leaves the outcomes so far.
"""

from __future__ import annotations

import pathlib

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--outcome-log", help="append a line per outcome: passed, skipped or failed, and the test")


def pytest_configure(config: pytest.Config) -> None:
    """Log outcomes if a file is named."""
    if path := config.getoption("--outcome-log"):
        config.pluginmanager.register(_OutcomeLog(pathlib.Path(path)))


class _OutcomeLog:
    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Set-up and tear-down are logged only if they do not pass.
        if report.when == "call" or not report.passed:
            with self._path.open("a") as file:
                file.write(f"{report.outcome} {report.nodeid}\n")

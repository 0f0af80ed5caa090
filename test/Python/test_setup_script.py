# ===- test_setup_script.py - What scripts print about their steps ---------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""scripts/check lists its suites, and scripts print the time of each step at their end."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def test_times_are_printed() -> None:
    script = """. "$0"
        begin_step "Debian packages"; SECONDS=65
        begin_step build; SECONDS=4000
        print_steps"""
    printed = run("bash", "-euc", script, ROOT / "scripts/lib/setup.sh")
    assert printed.returncode == 0, printed.stderr
    assert [line.rsplit(maxsplit=1) for line in printed.stdout.splitlines()[1:]] == [
        ["step", "time"],
        ["Debian packages", "1:05"],
        ["build", "65:35"],
        ["total", "66:40"],
    ]


def test_suites_are_listed() -> None:
    listed = run(ROOT / "scripts/check", "--list").stdout
    suites = [line.split()[0] for line in listed.splitlines()]
    assert {"format", "lit", "ctest", "pytest", "docs", "site", "package"} <= {*suites}
    assert listed in run(ROOT / "scripts/check", "--help").stdout
    cases = (ROOT / "scripts/check").read_text(encoding="utf-8")
    assert not [suite for suite in suites if f"\n  {suite}) " not in cases and f"\n  {suite})\n" not in cases]


def test_unknown_suite_is_an_error() -> None:
    failed = run(ROOT / "scripts/check", "lti")
    assert failed.returncode == 1
    assert failed.stderr == "check: error: there is no suite 'lti' (see --list)\n"

# ===- device_tests.py - The tests that use a device ----------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Find the tests that run on the device of test/Python/device.py: pytest's, and GoogleTests named OnAGpu."""

from __future__ import annotations

import ast
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

_GOOGLE_OUTCOME = re.compile(r"\[ +(OK|SKIPPED|FAILED) +\] (\S+) \(\d+ ms\)$", re.MULTILINE)
_GOOGLE_WORDS = {"OK": "passed", "SKIPPED": "skipped", "FAILED": "failed"}


def find_modules(folder: pathlib.Path) -> list[str]:
    """Return the test modules of a folder that import ``device``, directly or through another module of the folder."""
    imports = {path.stem: _imported_names(path) for path in folder.glob("*.py")}

    def reaches_device(module: str, seen: set[str]) -> bool:
        if module == "device":
            return True
        seen.add(module)
        return any(reaches_device(name, seen) for name in imports[module] & imports.keys() - seen)

    return sorted(name for name in imports if name.startswith("test_") and reaches_device(name, set()))


def _imported_names(path: pathlib.Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def collect(python: str, root: pathlib.Path, modules: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """List the tests of modules in test/Python by their pytest ids; end the program if one cannot be imported."""
    files = [f"test/Python/{module}.py" for module in modules]
    command = [python, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{run.stdout}{run.stderr}check-gpu: pytest could not collect the tests; its output is above")
    return [line for line in run.stdout.splitlines() if line.startswith("test/Python/") and "::" in line]


def read_outcomes(path: pathlib.Path) -> dict[str, str]:
    """Read the file of outcome_log: ``passed``, ``skipped`` or ``failed`` by test; empty if no test ended."""
    outcomes: dict[str, str] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            outcome, _, test = line.partition(" ")
            # A test that passed may still fail when it is torn down.
            if outcomes.get(test) != "failed":
                outcomes[test] = outcome
    return outcomes


def list_google_tests(binary: pathlib.Path, environment: Mapping[str, str]) -> list[str]:
    """List the tests of a program that are for a GPU; end the program if it does not start."""
    command = [str(binary), "--gtest_list_tests", "--gtest_filter=*OnAGpu*"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{run.stderr}check-gpu: '{binary}' does not start, or is not a GoogleTest; its output is above")
    names, suite = [], ""
    for line in run.stdout.splitlines():
        if line.startswith("  "):
            names.append(suite + line.split()[0])
        elif line.endswith("."):
            suite = line
    return names


def find_google_tests(folder: pathlib.Path, environment: Mapping[str, str]) -> dict[pathlib.Path, list[str]]:
    """Find the programs of a folder that have tests for a GPU, and return these tests."""
    binaries = [path for path in sorted(folder.glob("*_test")) if os.access(path, os.X_OK)]
    found = {binary: list_google_tests(binary, environment) for binary in binaries}
    return {binary: names for binary, names in found.items() if names}


def read_google_outcomes(output: str) -> dict[str, str]:
    """Read the output of a GoogleTest: ``passed``, ``skipped`` or ``failed`` by test."""
    return {test: _GOOGLE_WORDS[word] for word, test in _GOOGLE_OUTCOME.findall(output)}

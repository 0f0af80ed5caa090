# ===- sanitizer.py - Commands and reports of compute-sanitizer -----------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Commands of compute-sanitizer, and its reports in the mixed output of itself and ``pytest -v``."""

from __future__ import annotations

import dataclasses
import re

TOOLS = ("memcheck", "racecheck", "initcheck")

# The exit status if the program succeeded but the tool reported an error.
FOUND = 99

# Reports beyond these are only counted.
PRINTED = 100

# A line of the tool may start in the middle of a line of the program. Longer rows of equals signs are pytest's.
_LINE = re.compile(r"(?<!=)={9}(?: (?P<body>.*))?$")
_SUMMARY = re.compile(r"(?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards? displayed \(.*\))$")
_NOTICE = re.compile(
    r"COMPUTE-SANITIZER|\w+ SUMMARY: |Target application returned an error|Error: process didn't terminate successfully"
)
_TEST = re.compile(r"(?P<test>test/\S+\.py::.*?)(?: (?:PASSED|SKIPPED|FAILED|ERROR|XFAIL|XPASS)\b.*| ={9}.*|\s*)$")
_KERNEL = re.compile(r"\bat (?P<name>.+?)\+0x[0-9a-f]+")
_OF_PYTORCH = re.compile(r"\bat::native\b|\blibtorch")
_OURS = re.compile(r" in \S*cs336\S*\.so\b")
_RACE = re.compile(r"\w+: Race reported between ")
_OF_CUBLASLT = re.compile(r"nvjet_")


@dataclasses.dataclass(frozen=True)
class Report:
    """One error, hazard or warning.

    Attributes
    ----------
    kind
        The report in the tool's words: ``Invalid __global__ read of size 4 bytes``.
    kernel
        The kernel; empty for calls of the host.
    test
        The test that was running; empty before the first test, and in programs without tests.
    library
        The library that caused the report, or empty for our code. "PyTorch" for a kernel that PyTorch launched;
        "cuBLASLt" for a race within its kernel, on shared memory of a block, which code outside the kernel cannot
        cause.
    """

    kind: str
    kernel: str
    test: str
    library: str


@dataclasses.dataclass(frozen=True)
class Findings:
    """The tool's findings in a process.

    Attributes
    ----------
    reports
        The printed reports.
    not_printed
        The number of other reports; a lower bound if the process was killed before the tool could count.
    """

    reports: list[Report]
    not_printed: int


def command(tool: str, program: list[str]) -> list[str]:
    """Return the command that runs a program under a tool."""
    options = ["--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", str(PRINTED)]
    return ["compute-sanitizer", *options, *program]


def parse_findings(output: str) -> Findings:
    """Find the reports in the output of a process under the tool."""
    blocks: list[tuple[str, list[str]]] = []
    counts = []
    test, inside = "", False
    for line in output.splitlines():
        if found := _TEST.match(line):
            test = found["test"]
        found = _LINE.search(line)
        if not found or (body := found["body"] or "").endswith("="):
            continue
        if summary := _SUMMARY.match(body):
            counts.append(int(summary[1] or summary[2]))
        if not body.strip() or _NOTICE.match(body):
            inside = False
        elif not body.startswith("  "):
            blocks.append((test, [body]))
            inside = True
        elif inside:
            blocks[-1][1].append(body)
    reports = [_make_report(test, lines) for test, lines in blocks]
    if counts:
        return Findings(reports, max(0, sum(counts) - len(reports)))
    return Findings(reports, int(len(reports) >= PRINTED))


def _make_report(test: str, lines: list[str]) -> Report:
    kernels = [found["name"] for line in lines if (found := _KERNEL.search(line))]
    text = "\n".join(lines)
    library = ""
    if _OF_PYTORCH.search(text) and not _OURS.search(text):
        library = "PyTorch"
    elif _RACE.match(lines[0]) and kernels and all(_OF_CUBLASLT.match(kernel) for kernel in kernels):
        library = "cuBLASLt"
    return Report(lines[0].partition(" at ")[0], kernels[0] if kernels else "", test, library)

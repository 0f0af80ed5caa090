# ===- total.py - Sums the results of all test suites ---------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Sum the JUnit files of lit, CTest and pytest, and end with one line: ``N passed, M failed``."""

import argparse
import collections
import dataclasses
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


@dataclasses.dataclass
class SuiteResult:
    """Results of one suite.

    Attributes
    ----------
    passed
        Number of tests that passed.
    failed
        One line per failure.
    skipped
        Number of skipped tests per reason.
    """

    passed: int = 0
    failed: list[str] = dataclasses.field(default_factory=list)
    skipped: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)


def read_junit(path: pathlib.Path) -> SuiteResult:
    """Count the test cases of a JUnit file.

    Parameters
    ----------
    path
        The file. CTest also writes ``<skipped>`` for a test that it could not start; its exit status shows the
        difference.
    """
    result = SuiteResult()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        # CTest writes the name into both attributes.
        name = ".".join(dict.fromkeys(filter(None, (case.get("classname"), case.get("name")))))
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed.append(name)
        elif skip is not None:
            result.skipped[skip.get("message") or "no reason given"] += 1
        else:
            result.passed += 1
    return result


def judge_suite(path: pathlib.Path, status: int) -> SuiteResult:
    """Read a suite's results, and add failures that its tests do not show.

    Parameters
    ----------
    path
        The suite's JUnit file, which may be absent.
    status
        The exit status of the command that ran the suite.
    """
    try:
        result = read_junit(path)
    except FileNotFoundError:
        return SuiteResult(failed=[f"wrote no results (exit status {status})"])
    except ElementTree.ParseError as error:
        return SuiteResult(failed=[f"wrote results that cannot be read: {error}"])
    if not result.passed and not result.failed:
        result.failed.append("ran no test")
    elif status and not result.failed:
        result.failed.append(f"exit status {status}, though no test failed")
    return result


def main() -> int:
    """Print the table, the failures, the reasons for skips, and the total; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=pathlib.Path, required=True, help="folder of SUITE.xml files")
    parser.add_argument("suites", nargs="+", metavar="SUITE=STATUS", help="a suite and its command's exit status")
    arguments = parser.parse_args()

    results: dict[str, SuiteResult] = {}
    for argument in arguments.suites:
        name, _, status = argument.partition("=")
        results[name] = judge_suite(arguments.results / f"{name}.xml", int(status))

    print(f"\n{'suite':<10}{'passed':>8}{'failed':>8}{'skipped':>8}")
    for name, result in results.items():
        print(f"{name:<10}{result.passed:>8}{len(result.failed):>8}{result.skipped.total():>8}")
    for name, result in results.items():
        for reason, count in result.skipped.items():
            print(f"skipped {count} of {name}: {reason}")
    for name, result in results.items():
        for failure in result.failed:
            print(f"FAILED {name}: {failure}")

    passed = sum(result.passed for result in results.values())
    failed = sum(len(result.failed) for result in results.values())
    skipped = sum(result.skipped.total() for result in results.values())
    print(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

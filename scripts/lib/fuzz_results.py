# ===- fuzz_results.py - Outcomes of fuzz targets -------------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Read the output of libFuzzer and make a record of it."""

from __future__ import annotations

import dataclasses
import re

import document

COLUMNS = [
    *document.settings(target="target"),
    *document.results(cases="cases", seconds="time", per_second="cases per second", coverage="coverage"),
    *document.results(corpus="corpus", seed="seed", fault="fault", case="case", reproduce="reproduce", log="log"),
]

FAULTS = (
    re.compile(r"^(?:FAULT: |SUMMARY: \w+Sanitizer: |SUMMARY: libFuzzer: )(.*)$", re.MULTILINE),
    re.compile(r"^==\d+== ?ERROR: (.*)$", re.MULTILINE),
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Results of one run of a target.

    Attributes
    ----------
    cases
        Number of cases that ran.
    seconds
        Time of the run.
    coverage
        Number of control-flow edges reached; 0 if it is not measured.
    corpus
        Number of cases that together reach all of these edges.
    seed
        Seed of the random numbers.
    fault
        How the failed case ended; empty if none failed.
    case
        The file with the failed case; empty if there is none.
    """

    cases: int
    seconds: float
    coverage: int
    corpus: int
    seed: int
    fault: str
    case: str


def read_outcome(log: str, status: int | None, seconds: float) -> Outcome:
    """Read the log of a run that ended with this exit status, or with None if it was ended at its limit."""
    fault, case = "", ""
    if status != 0:
        found = next((match[1] for pattern in FAULTS if (match := pattern.search(log))), "")
        fault = found or ("was ended at its limit" if status is None else f"ended with status {status}")
        case = _last(r"Test unit written to (.+)", log, "")
    cases = int(_last(r"^stat::number_of_executed_units: +(\d+)", log, 0)) or int(_last(r"^#(\d+)\t", log, 0))
    return Outcome(
        cases,
        round(seconds, 1),
        int(_last(r"^#\d+\t.* cov: (\d+)", log, 0)),
        int(_last(r"^#\d+\t.* corp: (\d+)", log, 0)),
        int(_last(r"^INFO: Seed: (\d+)", log, 0)),
        fault,
        case,
    )


def _last(pattern: str, log: str, default: object) -> object:
    found = re.findall(pattern, log, re.MULTILINE)
    return found[-1] if found else default


def describe_outcome(name: str, outcome: Outcome, reproduce: str) -> dict[str, object]:
    """Make the entry of a record."""
    rate = round(outcome.cases / outcome.seconds, 1) if outcome.seconds else 0
    entry = {"target": name} | dataclasses.asdict(outcome) | {"per_second": rate}
    return entry | {"reproduce": reproduce if outcome.case else ""}


def make_record(entries: list[dict[str, object]], head: dict[str, object]) -> dict[str, object]:
    """Make the record. Its member `problems` lists the reasons why the run did not pass."""
    return document.make_document("fuzz", COLUMNS, entries, head) | {"problems": find_problems(entries)}


def find_problems(entries: list[dict[str, object]]) -> list[str]:
    """List the reasons why the run did not pass; empty if it passed."""
    problems = []
    for entry in entries:
        if entry["fault"]:
            where = f"; again: {entry['reproduce']}" if entry["reproduce"] else f"; see {entry['log']}"
            problems.append(f"{entry['target']}: {entry['fault']}{where}")
        elif not entry["cases"]:
            problems.append(f"{entry['target']}: no case ran; see {entry['log']}")
    return problems


def markdown(record: dict[str, object], origin: str) -> str:
    """Write the record as a page."""
    columns = ["target", "cases", "seconds", "per_second", "coverage", "corpus", "fault"]
    lines = ["# Fuzzing", "", origin, "", f"    {record['command']}", ""]
    lines += [
        "Coverage is the number of control-flow edges reached, for targets that measure it.",
        "",
        "| " + " | ".join(column.replace("_", " ") for column in columns) + " |",
        "|---" * len(columns) + "|",
    ]
    for entry in record["results"]:
        cells = [f"{entry[column]:,}" if column == "cases" else str(entry[column] or "none") for column in columns[:-1]]
        lines.append("| " + " | ".join([*cells, entry["fault"] or "none"]) + " |")
    total = sum(entry["cases"] for entry in record["results"])
    lines += ["", f"{total:,} cases."]
    if record["problems"]:
        lines += ["", "Findings:", "", *(f"- {problem}" for problem in record["problems"])]
    return "\n".join(lines) + "\n"

# ===- gpu_results.py - Counts of check-gpu, and its page -----------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Outcomes and reports of processes by suite and module, the problems among them, and the record with its page."""

from __future__ import annotations

import collections
import dataclasses
import pathlib

import device_tests
import document
import jobs
import sanitizer

COUNTS = ("passed", "skipped", "failed", "left_out", "not_reached", "reports", "library_reports")

COLUMNS = [
    *document.settings(suite="suite", module="module"),
    *document.results(**{count: count.replace("_", " ") for count in COUNTS}),
]

# Reports that the tool counted but did not print may belong to any library.
NOT_PRINTED = "(not printed)"


@dataclasses.dataclass
class Results:
    """All counts.

    Attributes
    ----------
    rows
        The COUNTS per suite and module.
    failures
        One line per failed test, and per process that did not end as expected.
    reports
        The number of occurrences of each report.
    """

    rows: dict[tuple[str, str], collections.Counter[str]] = dataclasses.field(default_factory=dict)
    failures: list[str] = dataclasses.field(default_factory=list)
    reports: collections.Counter[tuple[str, sanitizer.Report]] = dataclasses.field(default_factory=collections.Counter)

    def count(self, suite: str, module: str, what: str, number: int = 1) -> None:
        """Add counts to a row."""
        self.rows.setdefault((suite, module), collections.Counter())[what] += number

    def total(self, what: str, suite: str | None = None) -> int:
        """Sum a column over one suite or over all suites."""
        return sum(row[what] for (name, _), row in self.rows.items() if suite in (None, name))


def module_of(test: str) -> str:
    """Return the module of a pytest test, or the name of another test itself."""
    path, found, _ = test.partition("::")
    return pathlib.PurePath(path).stem if found else test


def add_job(results: Results, ended: jobs.Ended, logs: pathlib.Path) -> None:
    """Count the results of a process."""
    job = ended.job
    output = jobs.log_path(logs, job).read_text(errors="replace")
    findings = sanitizer.parse_findings(output) if job.suite in sanitizer.TOOLS else sanitizer.Findings([], 0)
    outcomes = _read_outcomes(ended, output, bool(findings.reports or findings.not_printed), logs)
    for test in job.tests:
        outcome = outcomes.get(test, "not_reached")
        results.count(job.suite, _row_of(job, test), outcome)
        if outcome == "failed":
            results.failures.append(f"{job.suite}: {test} failed; see {job.name}.txt")
    for report in findings.reports:
        module = _row_of(job, report.test or job.name)
        results.count(job.suite, module, "library_reports" if report.library else "reports")
        results.reports[job.suite, report] += 1
    if findings.not_printed:
        results.count(job.suite, NOT_PRINTED, "reports", findings.not_printed)
    if problem := _find_problem(ended, outcomes, findings):
        results.failures.append(f"{job.suite}: {problem}; see {job.name}.txt")


def _row_of(job: jobs.Job, test: str) -> str:
    # Programs and GoogleTests count as modules.
    return module_of(test) if job.kind == "pytest" else job.name.partition("-")[2]


def _read_outcomes(ended: jobs.Ended, output: str, found: bool, logs: pathlib.Path) -> dict[str, str]:
    job = ended.job
    if job.kind == "pytest":
        return device_tests.read_outcomes(jobs.outcomes_path(logs, job))
    if job.kind == "google":
        return device_tests.read_google_outcomes(output)
    if ended.status is None:
        return {}
    succeeded = ended.status == 0 or (found and ended.status == sanitizer.FOUND)
    return {test: "passed" if succeeded else "failed" for test in job.tests}


def _find_problem(ended: jobs.Ended, outcomes: dict[str, str], findings: sanitizer.Findings) -> str:
    """Describe a problem with the end of a process that its tests do not show; empty if there is none."""
    if ended.status is None:
        return ""
    missing = [test for test in ended.job.tests if test not in outcomes]
    if missing:
        return f"a process ended with status {ended.status} before '{missing[0]}' and {len(missing) - 1} others ended"
    if ended.status == 0 or "failed" in outcomes.values():
        return ""
    if ended.status == sanitizer.FOUND and (findings.reports or findings.not_printed):
        return ""
    return f"a process ended with status {ended.status}, though no test failed and nothing was reported"


def find_problems(results: Results, suites: list[str]) -> list[str]:
    """List the reasons why the check did not pass; empty if it passed."""
    problems = list(results.failures)
    problems += [f"{suite}: no test passed" for suite in suites if not results.total("passed", suite)]
    for suite in suites:
        hidden = results.rows.get((suite, NOT_PRINTED), collections.Counter())["reports"]
        if ours := results.total("reports", suite) - hidden:
            problems.append(f"{suite}: {ours} reports outside of libraries' kernels")
        if hidden:
            problems.append(
                f"{suite}: at least {hidden} reports were not printed, because a process prints {sanitizer.PRINTED}; "
                f"if these are of PyTorch's kernels, skip the comparisons with it: --leave-out '{suite}:[torch-'"
            )
    return problems


def make_record(results: Results, suites: list[str], problems: list[str], head: dict[str, object]) -> dict[str, object]:
    """Make the record. Its member `reports` lists the different reports, with their counts."""
    rows = [
        {"suite": suite, "module": module} | {key: row[key] for key in COUNTS}
        for (suite, module), row in sorted(
            results.rows.items(), key=lambda item: (suites.index(item[0][0]), item[0][1])
        )
    ]
    reports = [
        {"suite": suite, "count": count} | dataclasses.asdict(report)
        for (suite, report), count in results.reports.most_common()
    ]
    made = document.make_document("check_gpu", COLUMNS, rows, head)
    return made | {"reports": reports, "problems": problems}


def markdown(record: dict[str, object], origin: str) -> str:
    """Write the record as a page."""
    columns = ["suite", "module", *COUNTS]
    lines = ["# Tests on a GPU", "", origin, "", f"    {record['command']}", ""]
    lines += [
        f"{record['processes']} processes at a time, each ended after {record['seconds']:g} s; tests that had not run "
        "by then were not reached. Reports are compute-sanitizer's. Those in kernels that PyTorch launched, and races "
        "within cuBLASLt's kernels, are counted separately.",
        "",
        "| " + " | ".join(column.replace("_", " ") for column in columns) + " |",
        "|---" * len(columns) + "|",
    ]
    lines += ["| " + " | ".join(str(row[column]) for column in columns) + " |" for row in record["results"]]
    lines += ["", *_verdict(record)]
    kinds = collections.Counter()
    for report in record["reports"]:
        whose = f"{report['library']}'s" if report["library"] else "ours"
        kinds[f"{report['suite']}, {whose}: {report['kind']} in `{report['kernel'] or 'no kernel'}`"] += report["count"]
    if kinds:
        lines += ["", "Reports:", "", *(f"- {count} times {kind}" for kind, count in kinds.most_common())]
    return "\n".join(lines) + "\n"


def _verdict(record: dict[str, object]) -> list[str]:
    lines = ["No test failed, and nothing was reported outside of libraries' kernels."]
    if record["problems"]:
        lines = ["Not passed:", "", *(f"- {problem}" for problem in record["problems"])]
    if missed := sum(row["not_reached"] for row in record["results"]):
        lines += ["", f"{missed} tests were not reached."]
    return lines

"""`scripts/fuzz`: the targets that it finds, their command lines, and the results in libFuzzer's output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cs336
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/lib"))
import fuzz_results
import fuzz_targets

ROOT = Path(__file__).resolve().parents[2]

CLEAN = """\
INFO: Seed: 77
#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb
#4096\tpulse  cov: 310 ft: 500 corp: 40/1Kb lim: 4096 exec/s: 2048 rss: 60Mb
#5000\tDONE   cov: 312 ft: 502 corp: 41/1Kb lim: 4096 exec/s: 1666 rss: 60Mb
Done 5000 runs in 3 second(s)
stat::number_of_executed_units: 5000
stat::average_exec_per_sec:     1666
"""
CRASH = """\
INFO: Seed: 78
#8\tNEW    cov: 312 ft: 502 corp: 2/1Kb lim: 4 exec/s: 0 rss: 60Mb L: 1/1 MS: 1 ChangeByte-
==41==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x55 bp 0x7f sp 0x7f
SUMMARY: AddressSanitizer: heap-buffer-overflow Session.cpp:12:3 in Run
artifact_prefix='out/npy-'; Test unit written to out/npy-crash-0123
stat::number_of_executed_units: 9
"""
ABORT = """\
FAULT: an imported module does not verify
==42== ERROR: libFuzzer: deadly signal
SUMMARY: libFuzzer: deadly signal
artifact_prefix='out/'; Test unit written to out/crash-4567
stat::number_of_executed_units: 12
"""


def test_a_clean_run_is_counted() -> None:
    outcome = fuzz_results.read_outcome(CLEAN, 0, 3.04)
    assert outcome == fuzz_results.Outcome(5000, 3.0, 312, 41, 77, "", "")


@pytest.mark.parametrize(
    ("log", "status", "fault", "case"),
    [
        (CRASH, 1, "heap-buffer-overflow Session.cpp:12:3 in Run", "out/npy-crash-0123"),
        (ABORT, 77, "an imported module does not verify", "out/crash-4567"),
        ("", -11, "ended with status -11", ""),
        (CLEAN, None, "was ended at its limit", ""),
    ],
    ids=["sanitizer", "fault of the target", "signal", "limit"],
)
def test_a_fault_has_a_description_and_a_case(log: str, status: int | None, fault: str, case: str) -> None:
    outcome = fuzz_results.read_outcome(log, status, 1.0)
    assert (outcome.fault, outcome.case) == (fault, case)


def entry(log: str, status: int) -> dict[str, object]:
    outcome = fuzz_results.read_outcome(log, status, 2.0)
    return fuzz_results.describe_outcome("npy", outcome, "build/npy FILE") | {"log": "npy.txt"}


def test_a_finding_is_a_problem_with_a_command_that_shows_it() -> None:
    assert fuzz_results.find_problems([entry(CLEAN, 0)]) == []
    assert fuzz_results.find_problems([entry(CRASH, 1)]) == [
        "npy: heap-buffer-overflow Session.cpp:12:3 in Run; again: build/npy FILE"
    ]
    assert fuzz_results.find_problems([entry("", 0)]) == ["npy: no case ran; see npy.txt"]
    assert fuzz_results.find_problems([entry("", -9)]) == ["npy: ended with status -9; see npy.txt"]


def test_the_page_has_a_row_per_target_and_the_findings() -> None:
    record = fuzz_results.make_record([entry(CLEAN, 0), entry(CRASH, 1)], {"command": "scripts/fuzz"})
    page = fuzz_results.markdown(record, "Today.")
    assert "| npy | 5,000 | 2.0 | 2500.0 | 312 | 41 | none |" in page
    assert "5,009 cases." in page
    assert "- npy: heap-buffer-overflow" in page


def test_targets_are_the_folders_of_the_tree_and_those_of_the_runtime() -> None:
    targets = fuzz_targets.find_targets(ROOT)
    assert {*fuzz_targets.RUNTIME_TARGETS} < {*targets}
    declared = (ROOT / "test/Runtime/fuzz/CMakeLists.txt").read_text()
    for name, corpus in fuzz_targets.RUNTIME_TARGETS.items():
        assert f"cs336_parser_fuzzer({corpus} " in declared or f"cs336_fuzzer({name} " in declared
    declared = (ROOT / "test/Fuzz/CMakeLists.txt").read_text()
    for name, target in targets.items():
        if target.preset == "fuzz":
            assert f"cs336_fuzz_target({name.removesuffix('_fuzzer')} " in declared
            assert any(target.seeds.iterdir()), f"{name} has no seed"


def test_commands_limit_time_or_cases(tmp_path: Path) -> None:
    target = fuzz_targets.find_targets(ROOT)["config_fuzzer"]
    command = fuzz_targets.run_command(target, tmp_path / "corpus", tmp_path, 30, None, 5)
    assert {"-max_total_time=30", "-seed=5", f"-artifact_prefix={tmp_path}/config_fuzzer-"} < {*command}
    assert command[-2:] == [str(tmp_path / "corpus"), str(target.seeds)]
    assert "-runs=10" in fuzz_targets.run_command(target, tmp_path, tmp_path, None, 10, 0)


def test_targets_in_python_take_the_same_flags(tmp_path: Path) -> None:
    target = fuzz_targets.find_targets(ROOT)["arrays_fuzzer"]
    command = fuzz_targets.run_command(target, tmp_path, tmp_path, None, 60, 7)
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert 60 <= fuzz_results.read_outcome(run.stdout, 0, 1.0).cases < 120


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_fuzzer"], "unknown target 'no_fuzzer': the targets are"),
        (["--runs", "5", "--seconds", "5"], "--runs conflicts with --seconds"),
        (["--runs", "0"], "--seconds, --runs and --jobs must be positive"),
        (["--seconds", "0"], "--seconds, --runs and --jobs must be positive"),
        (["--jobs", "0"], "--seconds, --runs and --jobs must be positive"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    run = subprocess.run([str(ROOT / "scripts/fuzz"), *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and message in run.stderr


def test_targets_are_listed() -> None:
    run = subprocess.run([str(ROOT / "scripts/fuzz"), "--list"], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in run.stdout.splitlines()] == list(fuzz_targets.find_targets(ROOT))

"""`scripts/check-gpu`: the parts that it reads from compute-sanitizer and the tests, and its verdict."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/lib"))
import device_tests
import gpu_results
import jobs
import sanitizer
from results_schema import check_columns, validate

ROOT = Path(__file__).resolve().parents[2]

OURS = """\
========= Invalid __global__ read of size 4 bytes
=========     at rms_norm_1a2b+0x1e40 in kernels.cu:12
=========     by thread (0,0,0) in block (2,0,0)
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cs336::CudaDevice::Launch(Kernel const&) [0x1376c] in libcs336-runtime.so
=========         Host Frame: torch::autograd::THPVariable_apply(_object*) [0x49990c] in libtorch_python.so
=========         Host Frame: run in torch_autocast.py:43
========= """
PYTORCHS = """\
========= Uninitialized __global__ memory read of size 2 bytes
=========     at void at::native::elementwise_kernel<(int)128, (int)4>(int, T3)+0x1e40
=========     by thread (0,0,0) in block (2,0,0)
=========         Host Frame: at::native::mul_kernel_cuda(at::TensorIteratorBase&) [0x15d7d2f] in libtorch_cuda.so
=========         Host Frame: run in torch_autocast.py:43
========= """
RACE = """\
========= Error: Race reported between Write access at flash_3c4d(float *)+0x100 in flash.cu:40
=========     and Read access at flash_3c4d(float *)+0x190 in flash.cu:42 [4 hazards]
========= """
LIBRARYS_RACE = """\
========= Error: Race reported between Read access at nvjet_sm90_hsh_64x8_64x16_1x1_h_bz_splitK_NNT+0xaf0
=========     and Write access at nvjet_sm90_hsh_64x8_64x16_1x1_h_bz_splitK_NNT+0x2eb0 [28 hazards]
========= """
SESSION = """\
========= COMPUTE-SANITIZER
============================= test session starts ==============================
collecting ... collected 2 items

test/Python/test_a.py::test_one[(3, 1)-f32] PASSED [ 50%]
test/Python/test_b.py::test_two {reports}
PASSED [100%]

========= 2 passed, 3 deselected, 2 warnings in 41.11s =========
nanobind: leaked 1 instances!
See https://nanobind.readthedocs.io/en/latest/refleaks.html========= {summary}
"""


def findings(summary: str, *reports: str) -> sanitizer.Findings:
    return sanitizer.parse_findings(SESSION.format(reports="\n".join(reports), summary=summary))


def test_a_clean_session_has_no_report() -> None:
    assert findings("ERROR SUMMARY: 0 errors") == sanitizer.Findings([], 0)
    assert findings("RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)") == sanitizer.Findings([], 0)


def test_reports_have_a_kernel_a_test_and_an_origin() -> None:
    found = findings("ERROR SUMMARY: 2 errors", PYTORCHS, OURS)
    assert found.not_printed == 0
    theirs, ours = found.reports
    assert theirs.library == "PyTorch" and theirs.kernel.startswith("void at::native::elementwise_kernel<")
    assert not ours.library and ours.kernel == "rms_norm_1a2b"
    assert ours.kind == "Invalid __global__ read of size 4 bytes"
    assert {theirs.test, ours.test} == {"test/Python/test_b.py::test_two"}


def test_hazards_are_reports() -> None:
    found = findings("RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)", RACE)
    (hazard,) = found.reports
    assert (hazard.kind, hazard.kernel) == ("Error: Race reported between Write access", "flash_3c4d(float *)")
    assert (hazard.library, found.not_printed) == ("", 0)


def test_only_races_within_a_librarys_kernel_are_its_own() -> None:
    (race,) = sanitizer.parse_findings(LIBRARYS_RACE).reports
    assert (race.library, race.kernel) == ("cuBLASLt", "nvjet_sm90_hsh_64x8_64x16_1x1_h_bz_splitK_NNT")
    with_ours = LIBRARYS_RACE.replace("Write access at nvjet", "Write access at cast_1a2b_nvjet")
    # Global memory that it reads and writes belongs to its operands.
    read = OURS.replace("rms_norm_1a2b", "nvjet_sm90_hsh_64x8_64x16_1x1_h_bz_splitK_NNT")
    for text in (with_ours, read, "========= Error: Race reported between two threads\n"):
        (report,) = sanitizer.parse_findings(text).reports
        assert not report.library


def test_reports_beyond_the_printed_ones_are_anyones() -> None:
    assert findings("ERROR SUMMARY: 250 errors", *[PYTORCHS] * 100).not_printed == 150
    # Killed before the summary.
    assert findings("", *[PYTORCHS] * 100).not_printed == 1
    assert findings("", *[PYTORCHS] * 99).not_printed == 0


def test_a_program_that_fails_is_no_report() -> None:
    output = "========= Error: process didn't terminate successfully\n========= Target application returned an error\n"
    assert sanitizer.parse_findings(output + "========= ERROR SUMMARY: 0 errors\n") == sanitizer.Findings([], 0)


def test_a_call_of_the_host_is_a_report_of_ours() -> None:
    call = (
        'Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to "invalid argument" on CUDA API call to cuLaunchKernel.'
    )
    (report,) = sanitizer.parse_findings(f"========= {call}\n=========     Saved host backtrace\n========= \n").reports
    assert (report.kind, report.kernel, report.library) == (call, "", "")


def test_modules_that_have_a_device(tmp_path: Path) -> None:
    files = {
        "device": "",
        "models": "from device import DEVICE",
        "numbers": "import math",
        "test_direct": "import device",
        "test_through": "def test():\n    from models import DEVICE",
        "test_neither": "from numbers import x",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert device_tests.find_modules(tmp_path) == ["test_direct", "test_through"]
    real = device_tests.find_modules(ROOT / "test/Python")
    assert "test_golden" in real and "test_check_gpu" not in real


def test_google_outcomes() -> None:
    output = (
        "[ RUN      ] GemmTest.OnAGpuA\n[       OK ] GemmTest.OnAGpuA (3 ms)\n[  SKIPPED ] GemmTest.OnAGpuB (0 ms)\n"
    )
    output += (
        "[  FAILED  ] GemmTest.OnAGpuC (1 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] GemmTest.OnAGpuC\n"
    )
    expected = {"GemmTest.OnAGpuA": "passed", "GemmTest.OnAGpuB": "skipped", "GemmTest.OnAGpuC": "failed"}
    assert device_tests.read_google_outcomes(output) == expected


def ended(folder: Path, status: int | None, outcomes: str, output: str = "") -> gpu_results.Results:
    """Count the results of a process for two tests."""
    job = jobs.Job("memcheck-0", "memcheck", "pytest", [], ["test/Python/test_a.py::x", "test/Python/test_b.py::y"])
    jobs.outcomes_path(folder, job).write_text(outcomes)
    jobs.log_path(folder, job).write_text(output)
    results = gpu_results.Results()
    gpu_results.add_job(results, jobs.Ended(job, status, 1.0), folder)
    return results


BOTH = "passed test/Python/test_a.py::x\npassed test/Python/test_b.py::y\n"


def test_a_clean_process(tmp_path: Path) -> None:
    results = ended(tmp_path, 0, BOTH)
    assert results.rows == {("memcheck", f"test_{name}"): Counter(passed=1) for name in "ab"}
    assert gpu_results.find_problems(results, ["memcheck"]) == []


def test_a_limit_is_no_failure_but_is_counted(tmp_path: Path) -> None:
    results = ended(tmp_path, None, "passed test/Python/test_a.py::x\n")
    assert results.rows["memcheck", "test_b"] == Counter(not_reached=1)
    assert gpu_results.find_problems(results, ["memcheck"]) == []


def test_a_limit_before_the_first_test_is_a_failure(tmp_path: Path) -> None:
    assert gpu_results.find_problems(ended(tmp_path, None, ""), ["memcheck"]) == ["memcheck: no test passed"]


def test_a_crash_is_a_failure(tmp_path: Path) -> None:
    (problem,) = gpu_results.find_problems(ended(tmp_path, -11, "passed test/Python/test_a.py::x\n"), ["memcheck"])
    assert "ended with status -11 before 'test/Python/test_b.py::y'" in problem


def test_a_status_that_nothing_explains_is_a_failure(tmp_path: Path) -> None:
    (problem,) = gpu_results.find_problems(ended(tmp_path, sanitizer.FOUND, BOTH), ["memcheck"])
    assert "status 99, though no test failed and nothing was reported" in problem


def test_only_pytorchs_reports_are_forgiven(tmp_path: Path) -> None:
    theirs = ended(tmp_path, sanitizer.FOUND, BOTH, f"test/Python/test_b.py::y {PYTORCHS}\n")
    assert theirs.rows["memcheck", "test_b"] == Counter(passed=1, library_reports=1)
    assert gpu_results.find_problems(theirs, ["memcheck"]) == []
    ours = ended(tmp_path, sanitizer.FOUND, BOTH, f"test/Python/test_b.py::y {OURS}\n")
    assert gpu_results.find_problems(ours, ["memcheck"]) == ["memcheck: 1 reports outside of libraries' kernels"]
    many = ended(tmp_path, sanitizer.FOUND, BOTH, "\n".join([PYTORCHS] * 100 + ["========= ERROR SUMMARY: 101 errors"]))
    (problem,) = gpu_results.find_problems(many, ["memcheck"])
    assert "at least 1 reports were not printed" in problem


def test_a_test_that_fails_when_it_is_torn_down(tmp_path: Path) -> None:
    results = ended(tmp_path, 1, BOTH + "failed test/Python/test_b.py::y\n")
    assert results.rows["memcheck", "test_b"] == Counter(failed=1)
    assert len(gpu_results.find_problems(results, ["memcheck"])) == 1


FAKE = f"""#!/bin/sh
# Runs the tests, which set CS336_TEST_TOOL, and reports $FAKE_REPORT. Does not run other programs.
shift 6
case $1 in cs336-bench) exec true ;; esac
[ "$CS336_TEST_TOOL" = memcheck ] || exit
"$@" || exit
printf '%s\\n' "$FAKE_REPORT" '========= ERROR SUMMARY: 1 error'
exit {sanitizer.FOUND}
"""


def run_script(folder: Path, report: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script on the CPU, with a compute-sanitizer that makes the same report in each process."""
    (folder / "bin").mkdir(exist_ok=True)
    tool = folder / "bin/compute-sanitizer"
    tool.write_text(FAKE)
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    environment = os.environ | {"PATH": f"{tool.parent}:{os.environ['PATH']}", "FAKE_REPORT": report}
    command = [sys.executable, str(ROOT / "scripts/check-gpu"), "--device", "cpu", "--processes", "2"]
    command += ["--logs", str(folder / "logs")]
    command += ["--modules", "test_loss_scaling", "--output", str(folder / "out/check"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(("report", "status"), [(PYTORCHS, 0), (OURS, 1)], ids=["PyTorch's", "ours"])
def test_the_script_on_the_cpu(tmp_path: Path, report: str, status: int) -> None:
    options = ["--suites", "tests,memcheck", "--leave-out", "memcheck:pytorch"]
    process = run_script(tmp_path, report, *options)
    assert process.returncode == status, process.stdout + process.stderr
    record = json.loads((tmp_path / "out/check.json").read_text())
    validate(record)
    check_columns(record)
    assert record["device"]["kind"] == "cpu"
    rows = {(row["suite"], row["module"]): row for row in record["results"]}
    tests, checked = rows["tests", "test_loss_scaling"], rows["memcheck", "test_loss_scaling"]
    assert tests["passed"] and not tests["failed"] + tests["not_reached"]
    assert checked["left_out"] and checked["passed"] + checked["left_out"] == tests["passed"]
    assert checked["reports" if status else "library_reports"] == 2
    assert all(rows["memcheck", f"model-{dtype}"]["passed"] == 1 for dtype in ("fp32", "tf32", "bf16", "fp16"))
    page = (tmp_path / "out/check.md").read_text()
    assert page.startswith("# Tests on a GPU\n") and "| memcheck | test_loss_scaling |" in page
    assert ("memcheck: 2 reports outside of libraries' kernels" in page) == bool(status)


def test_the_script_without_time(tmp_path: Path) -> None:
    process = run_script(tmp_path, "", "--suites", "tests", "--seconds", "0.01")
    assert process.returncode == 1, process.stderr
    assert "tests: no test passed" in process.stdout and "tests were not reached." in process.stdout


def test_google_tests_run_under_the_tools(tmp_path: Path) -> None:
    """On a machine without a GPU, GoogleTests skip themselves; pytest's tests, which would fail there, are left out."""
    options = ["--device", "cuda", "--suites", "memcheck", "--leave-out", "memcheck:OnAGpuAllTypes"]
    options += ["--leave-out", "memcheck:test_loss_scaling", "--gtest", str(Path(shutil.which("gemm_test")).parent)]
    process = run_script(tmp_path, OURS, *options)
    record = json.loads((tmp_path / "out/check.json").read_text())
    rows = {row["module"]: row for row in record["results"]}
    gemm, relu = rows["gemm_test"], rows["relu_command_test"]
    assert (gemm["passed"] + gemm["skipped"], gemm["left_out"]) == (2, 1), process.stdout + process.stderr
    assert (relu["passed"] + relu["skipped"], relu["reports"]) == (2, 1)
    assert process.returncode == 1 and "memcheck: 3 reports outside of libraries' kernels" in process.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suites", "synccheck"], "unknown suite 'synccheck'"),
        (["--modules", "test_check_gpu"], "'test_check_gpu' is not a module of test/Python that uses a device"),
        (["--leave-out", "racecheck"], "--leave-out must be a suite, a colon, and"),
        (["--gtest", "/nowhere"], "there is no folder '/nowhere'"),
    ],
)
def test_bad_arguments(tmp_path: Path, arguments: list[str], message: str) -> None:
    process = run_script(tmp_path, "", *arguments)
    assert process.returncode == 2 and message in process.stderr

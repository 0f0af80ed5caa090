"""The scripts in `benchmarks/` without packages, tools and files: `--help` works, and errors are one sentence."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import cs336
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("*.py") if path.read_text().startswith("#!"))

# The flags that a script requires, and its error if no package is installed and no tool is on PATH.
MISSING = {
    "compile_time.py": ([], "error: cs336-translate is not on PATH: build it and set PATH=build/dev/bin:$PATH"),
    "gpu_parity.py": ([], "error: the package cs336 is missing"),
    "kernel_bandwidth.py": ([], "error: the package cs336 is missing"),
    "ladder.py": (["--output", "x", "x.json"], "error: the package matplotlib is missing"),
    "memory_budgets.py": ([], "error: cs336-bench is not on PATH"),
    "memory_peaks.py": ([], "error: cs336-bench is not on PATH"),
    "model_steps.py": ([], "error: cs336-bench is not on PATH"),
    "rank_steps.py": (["ddp"], "error: cs336-bench is not on PATH"),
    "study.py": (["pytorch_attention"], "error: cs336-bench is not on PATH"),
    "text_curve.py": (["--output", "x", "x", "x"], "error: the package matplotlib is missing"),
    "training_curve.py": (["--output", "x", "x"], "error: the package cs336 is missing"),
}


def run(script: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the standard library alone (-S and -E), and an empty PATH."""
    command = [sys.executable, "-S", "-E", str(BENCHMARKS / script), *flags]
    environment = os.environ | {"PATH": "", "CS336_COMMIT": "0"}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_requires_no_package(script: str) -> None:
    process = run(script, "--help")
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith(f"usage: {script}")
    assert "show this help message" in process.stdout


@pytest.mark.parametrize("script", MISSING)
def test_a_missing_requirement_is_one_sentence(script: str) -> None:
    flags, error = MISSING[script]
    process = run(script, *flags)
    assert process.returncode == 1
    assert process.stderr.startswith(error)
    assert process.stderr.count("\n") == 1 and not process.stdout


def test_course_reference_requires_the_package(tmp_path: Path) -> None:
    (tmp_path / "cs336_basics").mkdir()
    (tmp_path / "cs336_basics" / "model.py").touch()
    process = run("course_reference.py", "--course", str(tmp_path))
    assert process.returncode == 1
    assert process.stderr.startswith("error: the package cs336 is missing") and process.stderr.count("\n") == 1


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for flags, writer in ((["ladder.py", "none.json"], "cs336-bench"), (["text_curve.py", "a", "b"], "train_text.py")):
        command = [sys.executable, str(BENCHMARKS / flags[0]), *flags[1:], "--output", "out"]
        process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert process.returncode == 1
        assert process.stderr.startswith("error: cannot read ") and process.stderr.count("\n") == 1
        assert f"{writer} writes it" in process.stderr


@pytest.mark.skipif(cs336.best_device() != "cpu", reason="this machine has a GPU")
@pytest.mark.parametrize("flags", [["kernel_bandwidth.py"], ["profiler_agreement.py", "--part", "ours"]])
def test_a_missing_gpu_is_one_sentence(flags: list[str]) -> None:
    command = [sys.executable, str(BENCHMARKS / flags[0]), *flags[1:]]
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert process.returncode == 1
    assert process.stderr == "error: the device cuda cannot be used: 'cs336-bench doctor' shows what is missing\n"


def test_a_peer_without_pytorch_is_rejected_before_measuring(tmp_path: Path) -> None:
    process = run("memory_peaks.py", "--peer-python", str(tmp_path / "none"))
    assert process.stderr == f"error: --peer-python: cannot start {tmp_path}/none: No such file or directory\n"
    # An interpreter that finds no package.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    process = run("memory_peaks.py", "--peer-python", str(python))
    assert process.stderr == f"error: --peer-python: {python} lacks torch: pass a Python that has torch\n"

# ===- test_clients.py - The runtime's clients under ThreadSanitizer -------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""`cs336-run` and the Python package on the instrumented runtime of `build/tsan`.

The clients come from `build/dev`. MLIR and Python are not instrumented: the sanitizer's runtime library, which is
loaded first, ignores their accesses to memory. It checks their threads, locks and allocations, and the whole runtime.
`scripts/check tsan` builds both.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS, PACKAGE, RUNTIME = ROOT / "build/dev/bin", ROOT / "build/dev/python", ROOT / "build/tsan/lib"


def run(*command: object, **variables: str) -> str:
    """Run a client and return its output. A report of the sanitizer is a failure."""
    compiler = ["clang-22", f"-print-file-name=libclang_rt.tsan-{platform.machine()}.so"]
    sanitizer = subprocess.run(compiler, check=True, capture_output=True, text=True).stdout.strip()
    environment = os.environ | {
        "LD_PRELOAD": sanitizer,
        "LD_LIBRARY_PATH": str(RUNTIME),
        "PYTHONPATH": str(PACKAGE),
        # Children of fork() start threads of their own.
        "TSAN_OPTIONS": "die_after_fork=0 ignore_noninstrumented_modules=1",
    }
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, cwd=ROOT, env=environment | variables
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ThreadSanitizer" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def executable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training step of a small Transformer."""
    folder = tmp_path_factory.mktemp("tsan")
    model = ["--size", "tiny", "--context-length", "32", "--mode", "train", "-o", folder / "tiny.mlir"]
    subprocess.run([TOOLS / "cs336-translate", "--import-transformer", *model], check=True)
    emit = ["--emit-executable", folder / "tiny.mlir", "-o", folder / "tiny.cs336x"]
    subprocess.run([TOOLS / "cs336-translate", *emit], check=True)
    return folder / "tiny.cs336x"


def test_clients_load_the_instrumented_runtime() -> None:
    maps = run(sys.executable, "-c", "import cs336; print(open('/proc/self/maps').read())")
    assert str(RUNTIME / "libcs336-runtime.so") in maps
    assert "libclang_rt.tsan" in maps


@pytest.mark.parametrize("flags", [[], ["--check-nan", "--poison-memory"], ["--profile"]], ids=" ".join)
def test_cs336_run(executable: Path, flags: list[str], tmp_path: Path) -> None:
    """GEMMs of oneDNN and our own, kernels, initial values and files, on more threads than processors."""
    common = [TOOLS / "cs336-run", executable, "--random-inputs", "--num-threads", "5", "--steps", "3"]
    printed = run(*common, *flags, "--save-state", tmp_path / "state.safetensors")
    assert "step 3" in printed
    assert "step 3" in run(*common, *flags, "--params", tmp_path / "state.safetensors")


@pytest.mark.parametrize("flag", ["--ranks", "--nproc"])
def test_cs336_run_on_several_ranks(flag: str, tmp_path: Path) -> None:
    """Sessions of threads, and of processes, that exchange values."""
    program = tmp_path / "mean.cs336x"
    source = ROOT / "test/Tools/Inputs/mean.mlir"
    subprocess.run([TOOLS / "cs336-translate", "--emit-executable", source, "-o", program], check=True)
    printed = run(TOOLS / "cs336-run", program, flag, "2", "--num-threads", "3", "--random-inputs", "--steps", "9")
    assert printed.count("step 9") == 2


def test_python_package() -> None:
    """Sessions that several threads call, and children of fork()."""
    printed = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test/Python/test_threads.py")
    assert " passed" in printed
    assert "skipped" not in printed

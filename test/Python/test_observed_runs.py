"""`cs336-run --check-nan` and `--dump-values` on the device of these tests, from which values may have to be copied."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from device import DEVICE
from nan_program import BAD, PROGRAM


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return a program, and inputs with one element without a logarithm."""
    program, inputs = tmp_path / "program.mlir", tmp_path / "inputs.npz"
    program.write_text(PROGRAM)
    np.savez(inputs, **BAD)
    return program, inputs


def run(files: tuple[Path, Path], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cs336-run from the build that the tests run in."""
    program, inputs = files
    command = ["cs336-run", str(program), "--inputs", str(inputs), "--device", DEVICE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ)


def test_the_first_nan_has_a_command_and_a_place(files: tuple[Path, Path]) -> None:
    process = run(files, "--check-nan")
    assert process.returncode == 1
    assert re.search(r"launch '\S+' .*second.* first to write NaN at \[1, 1\]", process.stderr), process.stderr


def test_dumped_values_are_what_the_device_computed(files: tuple[Path, Path]) -> None:
    process = run(files, "--dump-values", "*gemm_first*")
    assert process.returncode == 0, process.stderr
    values = r"f32\[2, 3\] min -1 max 6 mean 2\.5; first 1 2 3 4 -1 6$"
    dumped = [line for line in process.stdout.splitlines() if line.startswith("[")]
    assert len(dumped) == 1
    assert re.search(values, dumped[0]), process.stdout


def test_what_a_run_needs_survives_poisoned_memory(files: tuple[Path, Path], tmp_path: Path) -> None:
    np.savez(files[1], arg0=np.array([[1, 2, 3], [4, 5, 6]], np.float32), arg1=np.eye(3, dtype=np.float32))
    output = tmp_path / "outputs.npz"
    process = run(files, "--steps", "3", "--poison-memory", "--check-nan", "--outputs", str(output))
    assert process.returncode == 0, process.stderr
    (result,) = np.load(output).values()
    np.testing.assert_allclose(result, np.log([[1, 2, 3], [4, 5, 6]]), rtol=1e-6)

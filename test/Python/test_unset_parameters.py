"""A run with parameters that were neither initialized, nor loaded, nor set is an error, which names them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cs336
import numpy as np
import pytest

TOOLS = Path(cs336.__file__).parents[2] / "bin"
CONFIG = cs336.TransformerConfig(16, 32, 1, 2, vocab_size=16, context_length=8, batch_size=1)
INPUTS = {"tokens": np.zeros((1, 8), np.int32), "targets": np.zeros((1, 8), np.int32)}
# `w` has no cs336.init.
DOUBLE = """
func.func @forward(%x: tensor<3xf32> {cs336.kind = "input", cs336.name = "x"},
                   %w: tensor<3xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<3xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  %y = cs336.mul %x, %w : tensor<3xf32>
  return %y : tensor<3xf32>
}
"""


@pytest.fixture(scope="module")
def executable() -> cs336.Executable:
    return cs336.compile(cs336.build(CONFIG, "train"))


def test_training_needs_parameters(executable: cs336.Executable, tmp_path: Path) -> None:
    session = cs336.Session(executable)
    with pytest.raises(RuntimeError, match=r"variables without a value \(\d+\): .*: initialize the session, load"):
        session.run("train", INPUTS)
    with pytest.raises(RuntimeError, match="variables without a value"):
        session.save(tmp_path / "zeros.safetensors")
    assert not (tmp_path / "zeros.safetensors").exists()
    session.initialize(0)
    session.run("train", INPUTS)
    other = cs336.Session(executable)
    other.set_parameters(session.parameters())
    other.run("train", INPUTS)


def test_parameters_without_an_initial_value_must_be_given() -> None:
    session = cs336.Session(cs336.compile(cs336.parse(DOUBLE)))
    session.initialize(0)
    x = np.arange(3, dtype=np.float32)
    with pytest.raises(RuntimeError, match=r"\(1\): w: the program has no initial values \(cs336.init\)"):
        session.run("forward", {"x": x})
    session["w"] = np.full(3, 2, np.float32)
    np.testing.assert_array_equal(session.run("forward", {"x": x})["y"], 2 * x)


def test_cs336_run_needs_them_too(tmp_path: Path) -> None:
    program, parameters = tmp_path / "double.mlir", tmp_path / "w.npz"
    program.write_text(DOUBLE)
    command = [TOOLS / "cs336-run", program, "--random-inputs"]
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "variables without a value (1): w: the program has no initial values" in failed.stderr
    np.savez(parameters, w=np.ones(3, np.float16))
    done = subprocess.run([*command, "--params", parameters], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

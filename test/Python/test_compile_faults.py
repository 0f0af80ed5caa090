"""Compilation with an empty cache while calls on files fail, one at a time, or the process is killed before one.

A cache that cannot be read or written costs time, but does not fail a compilation. After any fault, a later compilation
gives the same bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import cs336
import pytest
from fault_trials import BUILD, LIBRARY, FaultTrials, Trial

PROGRAM = """
func.func @forward(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = cs336.exp %a : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
"""
KINDS = {
    "open": ["fail", "kill"],
    "write": ["fail", "short", "kill"],
    "fsync": ["fail", "kill"],
    "rename": ["fail", "kill"],
    "unlink": ["fail", "kill"],
    "flock": ["fail"],
    "read": ["fail", "short"],
    "pread": ["fail", "short"],
    "mkdir": ["fail", "kill"],
    "fstat": ["fail"],
    "close": ["fail"],
}
OLD = b"of an earlier compilation"


class Compiler:
    """Run cs336-translate on one program, with a cache and an output of its own."""

    def __init__(self, folder: Path, device: list[str]) -> None:
        self.cache, self.out, self.log = folder / "cache", folder / "out", folder / "log"
        self.out.mkdir()
        self.output = self.out / "program.cs336x"
        program = folder / "program.mlir"
        program.write_text(PROGRAM)
        translate = str(BUILD / "bin" / "cs336-translate")
        self.command = [translate, "--emit-executable", str(program), *device, "-o", str(self.output)]

    def trials(self, faulty: Path) -> FaultTrials:
        return FaultTrials(self.command, faulty, self.log, {"CS336_CACHE_DIR": str(self.cache)})

    def compile(self, trials: FaultTrials, function: str = "open", number: int = 0, fault: str = "fail") -> Trial:
        """Compile over an earlier output; ``number`` 0 stands for no fault."""
        for path in self.out.iterdir():
            path.unlink()
        self.output.write_bytes(OLD)
        return trials.run(function, number, fault)


@pytest.fixture(params=["cpu", "cuda"])
def compiler(request: pytest.FixtureRequest, tmp_path: Path) -> Compiler:
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built")
    if request.param == "cpu":
        return Compiler(tmp_path, [])
    try:
        cs336.compile(PROGRAM, device="cuda", architectures=["sm_90a"], use_cache=False)
    except ValueError as error:
        pytest.skip(str(error))
    return Compiler(tmp_path, ["--device", "cuda", "--arch", "sm_90a"])


def run_all(compiler: Compiler, faulty: Path, expected: bytes) -> Iterator[Trial]:
    """Run every trial from an empty cache, and after each a compilation without a fault."""
    with compiler.trials(faulty) as trials:
        for function, faults in KINDS.items():
            for fault in faults:
                number, injected = 1, True
                while injected:
                    shutil.rmtree(compiler.cache, ignore_errors=True)
                    trial = compiler.compile(trials, function, number, fault)
                    after = compiler.output.read_bytes()
                    assert after == expected if trial.code == 0 else after in (OLD, expected), trial
                    assert trial.fault == "kill" or list(compiler.out.iterdir()) == [compiler.output], trial
                    number, injected = number + 1, trial.injected
                    if not injected:
                        break
                    yield trial
                    again = compiler.compile(trials)
                    assert again.code == 0, (trial, again)
                    assert compiler.output.read_bytes() == expected, (trial, again)


def without_fault(compiler: Compiler) -> bytes:
    with compiler.trials(compiler.cache) as trials:
        trial = compiler.compile(trials)
    assert trial.code == 0, trial
    return compiler.output.read_bytes()


def test_every_call_on_files_of_the_cache(compiler: Compiler) -> None:
    injected = set()
    for trial in run_all(compiler, compiler.cache, without_fault(compiler)):
        # llvm::pruneCache ends the process if it cannot close the file with the time of its last run.
        if trial.function != "close" or "IO failure on output stream" not in trial.output:
            assert trial.code == (-9 if trial.fault == "kill" else 0), trial
        injected.add((trial.function, trial.fault))
    assert {("open", "fail"), ("write", "short"), ("rename", "kill"), ("mkdir", "fail")} <= injected


def test_every_call_on_files_of_the_output(compiler: Compiler) -> None:
    outcomes = set()
    for trial in run_all(compiler, compiler.out, without_fault(compiler)):
        assert trial.code in ((-9,) if trial.fault == "kill" else (0, 1)), trial
        assert trial.code != 1 or "error: " in trial.output, trial
        outcomes.add((trial.function, trial.fault, trial.code))
    assert {("open", "fail", 1), ("write", "fail", 1), ("write", "short", 0), ("rename", "fail", 1)} <= outcomes

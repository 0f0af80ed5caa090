"""cs336-run while one call fails: every allocation, and every mmap, mprotect and new thread, one at a time.

Every run has completed its start-up. It ends with the output of a run without a fault, or with an error and exit code
1; its files are then those of before or those of a whole run.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cs336
import pytest
from fault_trials import BUILD, LIBRARY, FaultTrials, Trial

# A training step with GEMMs, kernels and a check of integers.
TRAINING = """
func.func @train(
    %w1: tensor<4x3xf32> {cs336.kind = "parameter", cs336.name = "w1", cs336.init = #cs336.init<ones>},
    %w2: tensor<2x4xf32> {cs336.kind = "parameter", cs336.name = "w2", cs336.init = #cs336.init<ones>},
    %x: tensor<5x3xf32> {cs336.kind = "input", cs336.name = "x"},
    %y: tensor<5xi64> {cs336.kind = "input", cs336.name = "y", cs336.bound = 2 : i64})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 1.0e-02>} {
  %0 = cs336.linear %x, %w1 : tensor<5x3xf32>, tensor<4x3xf32> -> tensor<5x4xf32>
  %1 = cs336.relu %0 : tensor<5x4xf32>
  %2 = cs336.linear %1, %w2 : tensor<5x4xf32>, tensor<2x4xf32> -> tensor<5x2xf32>
  %loss = cs336.cross_entropy %2, %y : tensor<5x2xf32>, tensor<5xi64> -> tensor<f32>
  return %loss : tensor<f32>
}
"""
RUN = ["--random-inputs", "--num-threads", "2"]
# libgomp ends the process if it has no memory for its data per thread.
ERROR = re.compile(r"error: |libgomp: Out of memory")
# Messages of the dynamic linker and of libraries without memory.
MEMORY = re.compile(
    r"[oO]ut of memory|cannot allocate|Cannot allocate memory|not enough host memory|cannot start thread"
    r"|cannot create shared object descriptor|a code object cannot be linked: \S+: (cannot open|failed to map)"
)


class Workplace:
    """Return a compiled program, a checkpoint of it, and a folder for the outputs of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "train.cs336x"
        self.checkpoint = folder / "begin.safetensors"
        self.out = folder / "out"
        self.out.mkdir()
        cs336.compile(cs336.parse(TRAINING)).save(self.program)
        subprocess.run(self.command("--save-state", str(self.checkpoint)), check=True, capture_output=True)

    def command(self, *flags: str) -> list[str]:
        return [str(BUILD / "bin" / "cs336-run"), str(self.program), *RUN, *flags]

    def trials(self, *flags: str) -> FaultTrials:
        return FaultTrials(self.command(*flags), self.out, self.folder / "log", {"OMP_NUM_THREADS": "2"})

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    def restore(self, files: dict[str, bytes]) -> None:
        for path in self.out.iterdir():
            path.unlink()
        for name, data in files.items():
            (self.out / name).write_bytes(data)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built")
    return Workplace(tmp_path_factory.mktemp("faults"))


def flags_of(run: str, workplace: Workplace) -> list[str]:
    out = workplace.out
    return {
        "train": ["--outputs", str(out / "o.npz"), "--save-state", str(out / "s.safetensors")],
        "resume": ["--params", str(workplace.checkpoint), "--save-params", str(out / "p.npz")],
        "npy": ["--outputs", str(out / "loss.npy")],
    }[run]


def check(trial: Trial, whole: Trial, before: dict[str, bytes], after: dict[str, bytes], new: dict[str, bytes]) -> None:
    """Assert the conditions after every trial."""
    if trial.fault == "kill" or trial.function == "malloc":
        # The destructor of nlohmann::json allocates, and ends the process if it cannot: as after a kill, the next run
        # removes the file.
        after = {name: data for name, data in after.items() if not name.endswith(".tmp")}
    # oneDNN ends the process if nothing can be allocated while it cleans up a failed GEMM.
    is_by_onednn = trial.code == -signal.SIGABRT and trial.function == "malloc" and trial.fault == "from then on"
    assert trial.code in (0, 1) or trial.fault == "kill" or is_by_onednn, trial
    if trial.code == 0:
        assert (trial.output, after) == (whole.output, new), trial
    if trial.code == 1:
        assert ERROR.search(trial.output), trial
    assert after.keys() <= before.keys() | new.keys(), (trial, after.keys())
    for name in new:
        assert after.get(name) in (before.get(name), new[name]), (trial, name)


def run_all(workplace: Workplace, run: str, function: str, faults: list[str]) -> Iterator[Trial]:
    """Run every trial, alternately without files and with files of other contents."""
    with workplace.trials(*flags_of(run, workplace)) as trials:
        workplace.restore({})
        whole = trials.run("open", 0, "fail")
        assert whole.code == 0, whole
        new = workplace.contents()
        old = dict.fromkeys(new, b"of an earlier run")
        for fault in faults:
            number, injected = 1, True
            while injected:
                before = old if number % 2 else {}
                workplace.restore(before)
                trial = trials.run(function, number, fault)
                check(trial, whole, before, workplace.contents(), new)
                number, injected = number + 1, trial.injected
                if injected:
                    yield trial


@pytest.mark.parametrize("fault", ["fail", "from then on"])
@pytest.mark.parametrize("run", ["train", "resume"])
def test_every_allocation(workplace: Workplace, run: str, fault: str) -> None:
    ends = Counter[int]()
    for trial in run_all(workplace, run, "malloc", [fault]):
        ends[trial.code] += 1
        assert trial.code != 1 or MEMORY.search(trial.output), trial
    assert ends[1] > 1000
    assert ends[-signal.SIGABRT] <= 20


@pytest.mark.parametrize("run", ["train", "resume"])
@pytest.mark.parametrize("function", ["mmap", "mprotect", "clone3", "madvise", "memfd_create"])
def test_every_system_call_for_memory_and_threads(workplace: Workplace, run: str, function: str) -> None:
    trials = list(run_all(workplace, run, function, ["fail", "from then on"]))
    for trial in trials:
        assert trial.code == 0 or function == "memfd_create" or MEMORY.search(trial.output), trial
    assert trials or function == "madvise"


@pytest.mark.parametrize("run", ["train", "resume", "npy"])
def test_every_call_on_files_of_outputs(workplace: Workplace, run: str) -> None:
    kinds = {
        "open": ["fail", "kill"],
        "write": ["fail", "short", "kill"],
        "fsync": ["fail", "kill"],
        "rename": ["fail", "kill"],
        "unlink": ["fail", "kill"],
        "flock": ["fail"],
        "fstat": ["fail"],
        "close": ["fail"],
    }
    found = {name: list(run_all(workplace, run, name, faults)) for name, faults in kinds.items()}
    for name in ("open", "write", "fsync", "rename"):
        assert {trial.fault for trial in found[name]} == set(kinds[name]), name

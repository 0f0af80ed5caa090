"""Kernels on the CPU do not access bytes outside of their operands.

Sanitizers do not check machine code of the compiler. `guarded-run` runs each command of a program on copies of its
operands that begin, and in a second run end, next to a page that cannot be accessed: an access outside of them ends the
process.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import cs336
import pytest
import reference
from compiled_model import optimizer, transformer_config
from device import DEVICE
from golden_file import Golden
from operation_cases import CASES
from random_graphs import random_program

pytestmark = [
    pytest.mark.skipif(DEVICE != "cpu", reason="guard pages are for the CPU"),
    pytest.mark.skipif(not shutil.which("guarded-run"), reason="guarded-run is not part of a package"),
]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# Sizes that no vector, cache line or tile divides.
ODD = reference.Config(101, 13, 18, 2, 3, 31, batch_size=3)


def transformer(config: reference.Config, mode: str) -> str:
    return str(cs336.build(transformer_config(config), mode, "f32", optimizer(reference.Optimizer(max_norm=1.0))))


def operations(dtype: str) -> str:
    """Every differentiable operation with its gradient; operations with a type of their own only in float64."""
    cases = [case for case in CASES if dtype == "f64" or not case.is_narrow]
    programs = [case.program(case.arrays()).text("forward_backward") for case in cases]
    return "\n".join(programs).replace("f64>", f"{dtype}>")


def graphs(dtype: str) -> str:
    return "\n".join(random_program(f"g{seed}", seed, dtype).text("forward_backward") for seed in range(40))


PROGRAMS: dict[str, Callable[[], str]] = {path.stem: path.read_text for path in sorted(EXAMPLES.glob("*.mlir"))}
PROGRAMS |= {
    "golden-forward": lambda: transformer(Golden().config, "forward"),
    "golden-train": lambda: transformer(Golden().config, "train"),
    "odd-forward": lambda: transformer(ODD, "forward"),
    "odd-train": lambda: transformer(ODD, "train"),
    "operations-f64": lambda: operations("f64"),
    "operations-f32": lambda: operations("f32"),
    "graphs-f32": lambda: graphs("f32"),
    "graphs-mixed": lambda: graphs("mixed"),
}
FLAGS = [
    ["--cpu", "host", "--dtype", "fp32", "--fusion", "all"],
    ["--cpu", "host", "--dtype", "bf16", "--fusion", "all"],
    ["--cpu", "generic", "--dtype", "fp32", "--fusion", "none"],
    ["--cpu", "generic", "--dtype", "bf16", "--fusion", "flash"],
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_commands_stay_within_their_operands(name: str, tmp_path: Path) -> None:
    source = tmp_path / "program.mlir"
    source.write_text(PROGRAMS[name]())
    files = []
    for number, flags in enumerate(FLAGS):
        files.append(tmp_path / f"{number}.cs336x")
        subprocess.run(["cs336-translate", "--emit-executable", source, *flags, "-o", files[-1]], check=True)
    done = subprocess.run(["guarded-run", *files], capture_output=True, text=True)
    assert done.returncode == 0, f"{FLAGS[len(done.stdout.splitlines()) - 1]}: {done.stderr}"
    commands = int(done.stdout.splitlines()[-1].split()[0])
    assert commands > len(FLAGS)

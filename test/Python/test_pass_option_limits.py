"""Every integer option of every pass, at the limits of its type and beyond: the pass succeeds or reports an error.

The options come from the output of `cs336-opt --help`, so that a new one joins the test.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache

import pass_pipelines
import pytest
from device import DEVICE

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="passes do not run on a device")

# The names of integers on LLVM's command lines.
TYPES = ("int", "uint", "long", "ulong")
VALUES = [-(1 << 63) - 1, -(1 << 63), -(1 << 31), -1, 0, 1, 3, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 47]
VALUES += [1 << 62, (1 << 62) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64]

TO_COMMANDS = ["--cs336-decompose", "--canonicalize", "--cse", "--convert-cs336-to-exec"]


def run(arguments: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["cs336-opt", *arguments], input=text, capture_output=True, text=True, timeout=300)


@cache
def integer_options() -> list[tuple[str, str]]:
    """Return passes and pipelines of this project, each with the name of an option."""
    listing = subprocess.run(["cs336-opt", "--help"], capture_output=True, text=True, check=True).stdout
    found, name = [], ""
    for line in listing.splitlines():
        if entry := re.match(r"  --([\w-]+)", line):
            name = entry[1]
        option = re.match(r"    --([\w-]+)=<(\w+)>", line)
        if option and option[2] in TYPES and name.startswith(("cs336-", "exec-")):
            found.append((name, option[1]))
    return found


@cache
def training_step() -> str:
    flags = "--d-model 8 --d-ff 12 --num-layers 3 --num-heads 2 --vocab-size 11 --context-length 4 --mode train"
    command = ["cs336-translate", "--import-transformer", *flags.split()]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@cache
def program_for(name: str) -> str:
    """Return the program that the pass is meant for."""
    before = TO_COMMANDS if name.startswith("exec-") else pass_pipelines.REQUIRED.get(name, [])
    done = run(before, training_step())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_options_are_found() -> None:
    expected = {("cs336-checkpoint", "every"), ("cs336-pipeline", "recompute-pointwise")}
    expected |= {("cs336-scale-loss", "interval"), ("exec-plan-memory", "alignment")}
    assert expected <= set(integer_options())


@pytest.mark.parametrize(("name", "option"), integer_options(), ids=["-".join(pair) for pair in integer_options()])
def test_limits_give_an_error_or_a_program(name: str, option: str) -> None:
    outcomes = set()
    for value in VALUES:
        done = run([f"--{name}={option}={value}", "-o", "/dev/null"], program_for(name))
        assert done.returncode in (0, 1), f"{option}={value}: {done.returncode}: {done.stderr[-2000:]}"
        assert (done.returncode == 0) != ("error: " in done.stderr or "for the --" in done.stderr), (value, done.stderr)
        outcomes.add(done.returncode)
    # Numbers outside of the option's type must be rejected.
    assert outcomes == {0, 1}

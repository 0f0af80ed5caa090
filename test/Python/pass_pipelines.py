"""Passes over the cs336 dialect, each with the passes that must run before it, for tests that run them one by one."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache

CLEANUP = ["--canonicalize", "--cse"]
GRADIENTS = ["--cs336-decompose", *CLEANUP, "--cs336-differentiate"]
DIFFERENTIATE = [*GRADIENTS, "--cs336-optimizer", *CLEANUP]

# Passes whose contract requires gradients before them, or the whole step.
AFTER_DIFFERENTIATE = [
    "cs336-hoist-invariants",
    "cs336-fuse-epilogues",
]
ON_GRADIENTS = [
    "cs336-checkpoint",
    "cs336-selective-checkpoint",
    "cs336-distribute",
    "cs336-recompute-pointwise",
    "cs336-optimizer",
]
REQUIRED = {
    "cs336-bound-indices": ["--cs336-name-ports"],
    # In one type of elements, all layout operations of the model are at the borders of kernels.
    "cs336-move-layouts": ["--cs336-autocast=dtype=bf16", *DIFFERENTIATE],
    "cs336-fuse-elementwise": [*DIFFERENTIATE, "--cs336-move-layouts"],
    # Without casts, no parameter needs a shadow.
    "cs336-weight-shadows": ["--cs336-autocast=dtype=bf16", *DIFFERENTIATE],
    **dict.fromkeys(ON_GRADIENTS, GRADIENTS),
    **dict.fromkeys(AFTER_DIFFERENTIATE, DIFFERENTIATE),
}

# Pipeline options that disable optional passes of every level of fusion.
NO_OTHERS = "hoist-invariants=false merge-gemms=false"


@cache
def registered_passes() -> list[str]:
    """List the project's passes that cs336-opt registers, so that a new pass joins the tests."""
    listing = subprocess.run(["cs336-opt", "--list-passes"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  --((?:cs336|cuda|exec|convert-cs336)-[\w-]+)\s", listing, re.MULTILINE)
    assert {"cs336-decompose", "exec-plan-memory", "convert-cs336-to-exec"} <= set(names)
    return names


def pass_names() -> list[str]:
    """List the registered passes that change functions of the cs336 dialect."""
    return [name for name in registered_passes() if name.startswith("cs336-") and name != "cs336-print-cost"]


def flags_of(name: str) -> list[str]:
    """Return flags of cs336-opt: the pass, after the passes that it requires."""
    return [*REQUIRED.get(name, []), f"--{name}"]


def rounds(name: str) -> bool:
    """Return true if values have fewer digits after the pass. Others may only change the order of sums."""
    return any(flag.startswith("--cs336-autocast") for flag in flags_of(name))


def run_passes(text: str, *flags: str) -> str:
    """Return the output of cs336-opt, from the build that the tests run in, for the program."""
    run = subprocess.run(["cs336-opt", *flags], input=text, capture_output=True, text=True, env=os.environ)
    assert run.returncode == 0, run.stderr
    return run.stdout

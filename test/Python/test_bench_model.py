"""`cs336-bench model` on the device of these tests: a GPU's own time, kernels and memory beside the host's."""

from __future__ import annotations

import json
import os
import statistics
import subprocess

import pytest
from device import DEVICE, times_kernels

MODEL = ["--d-model", "16", "--d-ff", "24", "--num-layers", "2", "--num-heads", "2", "--vocab-size", "31"]
MODEL += ["--context-length", "7", "--batch-size", "2", "--steps", "3", "--warmup", "1", "--no-mfu"]
OF_GPUS = [
    "event_ms",
    "event_step_ms",
    "launches",
    "gap_us_per_node",
    "idle_us_per_node",
    "device_memory_mib",
]


def measure(*arguments: str) -> dict:
    """Return the row of cs336-bench from the build that the tests run in."""
    command = ["cs336-bench", "model", *MODEL, "--device", DEVICE, "--format", "json", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr
    (row,) = json.loads(process.stdout)["results"]
    return row


@times_kernels
@pytest.mark.parametrize("mode", ["forward", "train"])
def test_what_follows_from_what(mode: str) -> None:
    row = measure("--mode", mode, "--profile")
    assert len(row["step_ms"]) == 3
    assert row["load_seconds"] > 0
    assert row["distinct_kernels"] > 0
    assert row["mfu"] is None
    assert row["kernels_ms"] > 0
    if DEVICE == "cpu":
        assert [row[key] for key in OF_GPUS] == [None] * len(OF_GPUS)
        return
    assert len(row["event_step_ms"]) == 3
    assert row["event_ms"] == statistics.median(row["event_step_ms"])
    assert row["launches"] == int(row["launches"]) > 0
    gap = (row["event_ms"] - row["kernels_ms"]) * 1e3 / row["launches"]
    assert row["gap_us_per_node"] == pytest.approx(gap, rel=1e-9, abs=1e-9)
    # The GPU counts the memory of all processes: others may have freed more than this one has allocated.
    assert row["device_memory_mib"] >= 0


def test_kernels_are_counted_only_when_profiled() -> None:
    row = measure()
    assert [row[key] for key in ("kernels_ms", "launches", "gap_us_per_node", "idle_us_per_node")] == [None] * 4
    assert (row["event_ms"] is None) == (DEVICE == "cpu")

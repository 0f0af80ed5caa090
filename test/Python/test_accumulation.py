"""0.01 added a thousand times, in the four ways of the accumulation study, gives the numbers of its write-up."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from device import DEVICE

# Keyed by the type of the sum, the type of the terms, and the way of adding.
PRINTED = {
    ("float32", "float32", "s += x"): "10.00013351",
    ("float16", "float16", "s += x"): "9.95312500",
    ("float32", "float16", "s += x, widened once"): "10.00213623",
    ("float32", "float16", "s += x.float(), widened each time"): "10.00213623",
}


@pytest.mark.parametrize("fusion", ["none", "all"])
def test_compiled_sums_are_the_printed_ones(fusion: str) -> None:
    command = ["cs336-bench", "accumulate", "--device", DEVICE, "--fusion", fusion, "--format", "json"]
    process = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr
    rows = json.loads(process.stdout)["results"]
    assert {row["fusion"] for row in rows} == {fusion}
    sums = {(row["sum_dtype"], row["addend_dtype"], row["addition"]): f"{row['result']:.8f}" for row in rows}
    assert sums == PRINTED

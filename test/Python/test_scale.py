"""Compiling does not grow with depth where it need not, and large models are planned in little time and memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cs336
import pytest

PLAN = """
import json, resource, sys, time
import cs336
begin = time.perf_counter()
config = cs336.TransformerConfig.named(sys.argv[1])
module = cs336.build(config, "train").run_passes("cs336-pipeline")
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": seconds, "peak_kib": peak, "parameters": config.parameter_count()}))
"""


def kernels(num_layers: int) -> set[str]:
    config = cs336.TransformerConfig(64, 96, num_layers, 2, vocab_size=50, context_length=16, batch_size=2)
    text = str(cs336.build(config, "train").run_passes("cs336-pipeline"))
    return set(re.findall(r"exec\.kernel @(\S+?)\(", text))


def test_layers_share_kernels() -> None:
    two, twelve = kernels(2), kernels(12)
    assert two
    assert two == twelve


@pytest.mark.parametrize(
    ("size", "parameters"), [("small", 128_625_408), ("2.7B", 3_406_809_600)], ids=["small", "2.7B"]
)
def test_planning_a_training_step_is_small(size: str, parameters: int, record_property) -> None:
    """Time is recorded (the targets are 0.5 s and 3 s of an idle machine), memory is asserted."""
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", PLAN, size], capture_output=True, text=True, check=True, env=environment
    )
    result = json.loads(done.stdout)
    record_property("seconds", result["seconds"])
    record_property("peak_mib", result["peak_kib"] >> 10)
    print(f"{size}: {result['seconds']:.2f} s, {result['peak_kib'] >> 10} MiB")
    assert result["parameters"] == parameters
    assert result["peak_kib"] < 1 << 20
    assert result["seconds"] < 60

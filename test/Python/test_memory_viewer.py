"""PyTorch's own viewer reads the memory snapshots of `cs336-bench`.

`CS336_MEMORY_VIZ` names torch/utils/viz/MemoryViz.js of a checkout of PyTorch. No wheel contains it, so the tests are
skipped without it. `memory_snapshot.py` checks the rules of this file everywhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from memory_snapshot import PLANS

VIEWER = os.environ.get("CS336_MEMORY_VIZ", "")
SCRIPT = Path(__file__).with_name("memory_viewer.mjs")

pytestmark = pytest.mark.skipif(
    not VIEWER or not shutil.which("node"), reason="requires CS336_MEMORY_VIZ=…/torch/utils/viz/MemoryViz.js and node"
)


@pytest.mark.parametrize("flags", PLANS)
def test_the_viewer_draws_the_timeline(flags: list[str], tmp_path: Path) -> None:
    snapshot, timeline = tmp_path / "s.pickle", tmp_path / "t.json"
    command = [
        "cs336-bench",
        "plan",
        "--device",
        "cuda",
        *flags,
        "--snapshot",
        str(snapshot),
        "--timeline",
        str(timeline),
    ]
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    process = subprocess.run(["node", str(SCRIPT), VIEWER, str(snapshot)], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    drawn = json.loads(process.stdout)
    plan = json.loads(timeline.read_text())
    assert drawn["peak"] == max(command["active"] for command in plan["commands"])
    # Each allocation and each variable is an area, with its frames.
    assert drawn["elements"] == len(plan["residents"]) + len(plan["allocations"])
    assert drawn["areas"] == min(drawn["elements"], 15000)
    kinds = {each["kind"] for each in (*plan["residents"], *plan["allocations"])}
    assert set(drawn["categories"]) == kinds | {"unknown"}
    assert all(label.count("\n") == 3 for label in drawn["labels"])
    assert any("layer:0:layers.0.attn" in label for label in drawn["labels"])

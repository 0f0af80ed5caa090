"""Checks plans of every rung: the first and the last one equal those of flags, and each pass changes the program."""

import json
import sys
from pathlib import Path

RUNGS = {
    "fp32": ["none", "hoist-invariants", "merge-gemms", "fuse-elementwise", "fuse-epilogues", "fuse-softmax"],
    "bf16": ["none", "hoist-invariants", "merge-gemms", "autocast", "fuse-elementwise", "fuse-epilogues"],
}
RUNGS["fp32"] += ["flash-attention"]
RUNGS["bf16"] += ["weight-shadows", "fuse-softmax", "flash-attention", "fuse-updates"]


def program(row: dict) -> dict:
    """Return the properties that distinguish programs."""
    return {key: row[key] for key in ("dtype", "commands", "distinct_kernels", "total_mib", "gigabytes", "kernels")}


ladder, default, none = (json.loads(Path(path).read_text())["results"] for path in sys.argv[1:])
for top, plain in zip(RUNGS, default, strict=True):
    rungs = [row for row in ladder if row["ladder"] == top]
    assert [row["added"] for row in rungs] == RUNGS[top], [row["added"] for row in rungs]
    assert plain["added"] is None and program(rungs[-1]) == program(plain)
    assert program(rungs[0]) == program(none[0])
    for row, before in zip(rungs[1:], rungs, strict=False):
        # A GEMM in bfloat16 has no addend: residuals are in float32. Updates of so small a model are not fused.
        is_idle = top == "bf16" and row["added"] in ("fuse-epilogues", "fuse-updates")
        assert (program(row) == program(before)) == is_idle, row["added"]
    assert rungs[-1]["commands"] < rungs[0]["commands"]

"""Checks the JSON of `cs336-bench norm-error --mean 0`."""

import json
import sys

rows = json.load(sys.stdin)["results"]
errors = {(row["input_dtype"], row["arithmetic_dtype"]): row["error"] for row in rows}
assert len(rows) == len(errors) == 5
assert 1e-9 < errors["f32", "f32"] < 1e-6
# The rounding of inputs alone is at most half a unit in the last place: 2^-12 and 2^-9.
assert 1e-5 < errors["f16", "f32"] <= errors["f16", "f16"] < 1e-2
assert 1e-4 < errors["bf16", "f32"] <= errors["bf16", "bf16"] < 1e-1
assert errors["bf16", "f32"] > errors["f16", "f32"]

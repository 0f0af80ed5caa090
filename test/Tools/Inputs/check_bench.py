"""Checks the JSON of `cs336-bench model --size tiny --context-length 4,8 --steps 4`."""

import json
import pathlib
import statistics
import sys

document = json.loads(pathlib.Path(sys.argv[1]).read_text())
assert document["benchmark"] == "model" and document["device"]["kind"] == "cpu"
results = document["results"]
assert [result["context_length"] for result in results] == [4, 8]
for result in results:
    times = result["step_ms"]
    assert len(times) == 4 and min(times) > 0 and result["status"] == "ok"
    assert abs(result["parameters_millions"] - 3.084928) < 1e-9
    for key, value in [
        ("mean_ms", statistics.fmean(times)),
        ("std_ms", statistics.pstdev(times)),
        ("median_ms", statistics.median(times)),
        ("min_ms", min(times)),
        ("mfu", result["gflops_per_second"] / result["peak_gflops_per_second"]),
        ("tokens_per_second", result["context_length"] / statistics.fmean(times) * 1e3),
    ]:
        assert abs(result[key] - value) <= 1e-9 * value, key

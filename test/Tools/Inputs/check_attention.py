"""Checks the JSON of `cs336-bench attention`: full and causal, fp32 and bf16, none and all, 2 x 2 x 8 x 8, 3 steps."""

import json
import pathlib
import statistics
import sys

document = json.loads(pathlib.Path(sys.argv[1]).read_text())
assert document["benchmark"] == "attention" and document["device"]["kind"] == "cpu"
results = document["results"]
cases = [(result["mask"], result["dtype"], result["fusion"]) for result in results]
assert cases == [(m, t, f) for m in ("full", "causal") for t in ("fp32", "bf16") for f in ("none", "all")]
for result in results:
    forward, loss, both = (result[f"{name}_step_ms"] for name in ("forward", "loss", "forward_backward"))
    assert len(forward) == len(loss) == len(both) == 3 and result["status"] == "ok"
    flops = 4 * 2 * 2 * 8 * 8 * 8 * (0.5 if result["mask"] == "causal" else 1)
    for key, value in [
        ("forward_median_ms", statistics.median(forward)),
        ("forward_sum_ms", sum(forward)),
        ("backward_median_ms", statistics.median(both) - statistics.median(loss)),
        ("backward_sum_ms", sum(both) - sum(loss)),
        ("forward_tflops", flops / statistics.median(forward) * 1e-9),
    ]:
        assert abs(result[key] - value) <= 1e-9 * abs(value), key
    # q, k, v and the gradient of the output at least, plus the gradients.
    size = 2 * 2 * 8 * 8 * (4 if result["dtype"] == "fp32" else 2) / 2**20
    assert 4 * size <= result["before_backward_mib"] < result["backward_peak_mib"]
    assert 4 * size <= result["forward_peak_mib"]
    for name in ("forward", "backward"):
        ratio, interval = result[f"{name}_speedup"], result[f"{name}_speedup_interval"]
        assert ratio is None or (interval[0] <= ratio <= interval[1] <= 1.5 * interval[0])
    assert (result["forward_speedup_interval"] is None) == (result["fusion"] == "none")
    assert result["forward_commands"] > 0 and result["backward_commands"] > 0

"""Checks results of `cs336-bench ddp` on the CPU, and the trace of all ranks of their last row."""

import json
import math
import statistics
import sys
from pathlib import Path

report = json.loads(Path(sys.argv[1]).read_text())
rows = report["results"]
assert report["benchmark"] == "ddp"
print(", ".join(f"{row['distribute']} {row['ranks']}" for row in rows))

for row in rows:
    assert len(row["step_ms"]) == 3 and math.isclose(row["mean_ms"], statistics.mean(row["step_ms"]), rel_tol=1e-6)
    tokens = row["ranks"] * row["batch_size"] * row["context_length"]
    assert math.isclose(row["tokens_per_second"], tokens / row["mean_ms"] * 1e3, rel_tol=1e-6)
    assert row["values"] == "agree" and row["rank_spread"] == 0
    assert row["system"] == "cs336"
    # One command at a time: nothing hides communication, and both make up most of a step. Collectives of at most 1 µs
    # between two commands do not count.
    exposed = row["exposed_ms"] + row["imbalance_ms"]
    assert row["communication_ms"] - 1e-3 * row["collectives"] <= exposed * (1 + 1e-6)
    assert exposed <= row["communication_ms"] * (1 + 1e-6) and row["imbalance_ms"] >= -1e-9
    assert row["communication_ms"] + row["compute_ms"] <= row["profiled_step_ms"]
    # Every gather is waited for, from the end of the computation before it.
    waits = [row[key] for key in ("gathers", "late_gathers", "gather_wait_ms")]
    if row["distribute"] == "fsdp":
        assert 0 < waits[0] < row["collectives"] and math.isclose(waits[1], waits[0])
        assert 0 < waits[2] <= row["profiled_step_ms"] - row["compute_ms"]
    else:
        assert waits == [None, None, None]
    assert (row["communication_ms"] > 0) == (row["collectives"] > 0) == (row["sent_mib"] > 0) == (row["ranks"] > 1)

one, *others = rows
for row in others:
    # Modes on as many ranks have the same batches, so the same loss; others have other batches.
    same = next(other for other in others if other["ranks"] == row["ranks"])
    assert math.isclose(row["first_loss"], same["first_loss"], rel_tol=1e-2)

# One all-reduce of every gradient and the loss: 2·S·(n − 1)/n bytes.
two, three = (next(row for row in rows if row["distribute"] == "flat" and row["ranks"] == n) for n in (2, 3))
assert two["collectives"] == three["collectives"] == 1
assert math.isclose(three["sent_mib"] / two["sent_mib"], 4 / 3, rel_tol=1e-6)
# A rank of two stores half of the sharded parameters.
sharded = next(row for row in rows if row["distribute"] == "fsdp" and row["ranks"] == 2)
initial, peak, before, after = sharded["planned_memory"]
whole = two["planned_memory"][0]
assert [moment["moment"] for moment in sharded["planned_memory"]] == [
    "initialised",
    "peak",
    "before optimizer",
    "after optimizer",
]
assert whole["parameter"] / 2 <= initial["parameter"] < 0.6 * whole["parameter"]
assert two["planned_memory"][2]["gradient"] > 0

events = json.loads(Path(sys.argv[2]).read_text())["traceEvents"]
names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
assert names == [f"rank {rank}: cpu" for rank in range(3)], names
assert {event["pid"] for event in events if event.get("args", {}).get("phase") == "communication"} == {0, 1, 2}
print("trace of ranks", ", ".join(str(rank) for rank in sorted({event["pid"] for event in events})))

"""Writes files for `cs336-bench compare` into a folder: results of made-up all-reduces, and files that it rejects."""

import json
import pathlib
import statistics
import sys

FOLDER = pathlib.Path(sys.argv[1])


def column(key, role, unit=None, **more):
    return {"key": key, "title": key.replace("_", " "), "unit": unit, "role": role} | more


COLUMNS = [
    column("ranks", "setting"),
    column("size_bytes", "setting", "B"),
    column("time_ms", "result", "ms", samples=["times_ms"]),
    column("startup_ms", "result", "ms"),
    column("times_ms", "data", "ms"),
]


def document(times, ranks=2, **changes):
    """Return the results of all-reduces whose steps, by size, are `times`; no steps are a time that is missing."""
    rows = [
        {
            "ranks": ranks,
            "size_bytes": size,
            "time_ms": statistics.median(steps) if steps else None,
            "startup_ms": 1.0,
            "times_ms": steps,
        }
        for size, steps in times.items()
    ]
    return {
        "schema": "cs336.results",
        "version": 2,
        "benchmark": "allreduce",
        "command": "cs336-bench allreduce --format json",
        "producer": {"version": "0.1.0", "commit": "unknown"},
        "device": {"kind": "cpu", "processor": "first", "num_threads": 0},
        "columns": COLUMNS,
        "results": rows,
    } | changes


def without_schema(document):
    """Return the document as version 1 was."""
    return {key: value for key, value in document.items() if key not in ("schema", "version", "columns", "producer")}


BEFORE = {
    1000: [10.0, 10.1, 9.9, 10.0, 10.0],
    2000: [10.0, 10.1, 9.9, 10.0, 10.0],
    3000: [10.0] * 5,
    4000: [6.0, 8.0, 10.0, 14.0, 18.0],
    5000: [10.0] * 5,
    7000: [10.0] * 5,
    8000: [10.0, 10.0],
}
AFTER = {
    1000: [8.0, 8.1, 7.9, 8.0, 8.0],
    2000: [12.5, 12.6, 12.4, 12.5, 12.5],
    3000: [9.9] * 5,
    4000: [6.0, 7.0, 8.0, 12.0, 18.0],
    6000: [10.0] * 5,
    7000: [],
    8000: [5.0, 5.0],
}
before, after = document(BEFORE), document(AFTER)
few = {1000: [10.0] * 5}
seconds = [each | {"unit": "s"} if each["key"] == "time_ms" else each for each in COLUMNS]
unmeasured = [{key: value for key, value in each.items() if key != "samples"} for each in COLUMNS]
answers = [column("ranks", "answer")]
half = [column("ranks", "setting"), column("half", "setting"), *COLUMNS[1:]]
gpu = {"kind": "cuda", "processor": "second", "num_threads": 0, "gpu": "NVIDIA H200"}

FILES = {
    "before": before,
    "after": after,
    "before-1": without_schema(before),
    "after-1": without_schema(after),
    "study": [before, document(few, benchmark="first only"), document({1: [1.0] * 3})],
    "study-after": [after, document({1: [1.0] * 3})],
    "record": {"study": "distributed", "documents": [without_schema(before)]},
    "mixed": [before, without_schema(after)],
    "gpu": document(AFTER, device=gpu),
    "seconds": document(AFTER, columns=seconds),
    "unmeasured": document(AFTER, columns=unmeasured),
    "answers": document(AFTER, columns=answers),
    "half": document(AFTER, columns=half),
    "undescribed": {key: value for key, value in before.items() if key != "columns"},
    "ranks": document(AFTER, ranks=3),
    "twice": before | {"results": before["results"] + before["results"][:1]},
    "others": document(few, schema="others.results"),
    "later": document(few, version=3),
    "unversioned": document(few, version=None),
    "unknown": without_schema(document(few, benchmark="sorting")),
    "rowless": {key: value for key, value in before.items() if key != "results"},
    "numbers": document(few, results=[1, 2]),
    "object": {"results": 1},
    "list": [1],
    "empty": [],
}
for name, value in FILES.items():
    (FOLDER / f"{name}.json").write_text(json.dumps(value))
(FOLDER / "broken.json").write_text('{"schema": ')

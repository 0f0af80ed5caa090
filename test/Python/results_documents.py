"""Documents of results for tests of `cs336.results`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def make_document(
    benchmark: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]], samples: Mapping[str, str]
) -> dict[str, Any]:
    """Return a document of version 2.

    Parameters
    ----------
    benchmark
        Its subcommand.
    columns
        The role of each column, and after a space its unit.
    rows
        The values of each row, in the order of `columns`.
    samples
        For statistics of steps, the column with the steps.
    """
    described = []
    for key, text in columns.items():
        role, _, unit = text.partition(" ")
        column = {"key": key, "title": key.replace("_", " "), "role": role, "unit": unit or None}
        described.append(column | ({"samples": [samples[key]]} if key in samples else {}))
    return {
        "schema": "cs336.results",
        "version": 2,
        "benchmark": benchmark,
        "command": f"cs336-bench {benchmark}",
        "producer": {"version": "0.1.0", "commit": "0123abcd"},
        "device": {"kind": "cpu", "processor": "a processor", "num_threads": 2},
        "columns": described,
        "results": [dict(zip(columns, row, strict=True)) for row in rows],
    }


def write(path: Path, document: object) -> Path:
    """Write JSON and return its path."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def allreduce(sizes: Sequence[int] = (1024, 65536, 1000000)) -> dict[str, Any]:
    """Return all-reduces of two types by two backends with two numbers of ranks. Times differ in every row."""
    columns = {
        **{"backend": "setting", "ranks": "setting", "size_bytes": "setting B", "count": "setting"},
        **{"dtype": "setting", "op": "setting", "time_ms": "result ms", "busbw_gb_s": "result GB/s"},
        **{"wrong": "result", "times_ms": "data ms"},
    }
    rows = []
    for backend in ("tcp", "threads"):
        for ranks in (2, 4):
            for dtype, width in (("fp32", 4), ("bf16", 2)):
                for size in sizes:
                    time = (size / 1e6 + 0.01) * ranks * width * (3 if backend == "tcp" else 1)
                    times = [time * 0.9, time, time * 1.2]
                    rows.append([backend, ranks, size, size // width, dtype, "sum", time, size / time, 0, times])
    return make_document("allreduce", columns, rows, {"time_ms": "times_ms"})


def ddp(ranks: Sequence[int] = (2,)) -> dict[str, Any]:
    """Return steps of data-parallel training by mode, with the share of communication."""
    columns = {
        **{"mode": "setting", "ranks": "setting", "median_ms": "result ms", "communication_percent": "result %"},
        **{"status": "result", "step_ms": "data ms"},
    }
    rows = [
        [mode, number, time * number / 2, share, "ok", [time * number / 2 + more for more in (-1, 0, 2)]]
        for number in ranks
        for mode, time, share in (("naive", 30, 40), ("flat", 25, 30), ("overlapped", 20, 9), ("bucketed", 18, 8))
    ]
    return make_document("ddp", columns, rows, {"median_ms": "step_ms"})

"""Makes records that conform to docs/Results.schema.json, as the documents of `cs336-bench` do."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from record import commit, describe

Row = dict[str, Any]

# The last words of keys, and the units that they name, as in lib/Bench/Report/ResultsSchema.cpp.
UNITS = {
    "ms": "ms",
    "us": "us",
    "ns": "ns",
    "seconds": "s",
    "us_per_node": "us/node",
    "bytes": "B",
    "mib": "MiB",
    "gigabytes": "GB",
    "gb_s": "GB/s",
    "gflop": "GFLOP",
    "gflops_per_second": "GFLOP/s",
    "tflops": "TFLOP/s",
    "flop_per_byte": "FLOP/B",
    "tokens_per_second": "tokens/s",
    "percent": "%",
    "millions": "10^6",
}


def get_unit(key: str) -> str | None:
    """Return the unit that the end of a key names; None for text, counts and ratios."""
    return next((unit for words, unit in UNITS.items() if key == words or key.endswith(f"_{words}")), None)


@dataclass(frozen=True)
class Column:
    """A column of a document.

    Attributes
    ----------
    key
        The key of the column in rows. Its end names the unit.
    title
        The heading in tables, without the unit.
    role
        "setting", "result" or "data".
    samples
        The key of the list that the column is a statistic of; empty if there is none.
    """

    key: str
    title: str
    role: str = "result"
    samples: str = ""

    def describe(self) -> Row:
        """Return the element of `columns`."""
        unit = get_unit(self.key)
        described = {"key": self.key, "title": f"{self.title} ({unit})" if unit else self.title}
        described |= {"unit": unit, "role": self.role}
        return described | ({"samples": [self.samples]} if self.samples else {})


def settings(**titles: str) -> list[Column]:
    """Return settings by their keys."""
    return [Column(key, title, "setting") for key, title in titles.items()]


def results(**titles: str) -> list[Column]:
    """Return results by their keys."""
    return [Column(key, title) for key, title in titles.items()]


def median(key: str, title: str, samples: str) -> list[Column]:
    """Return a median and the list of which it is the median."""
    return [Column(key, title, samples=samples), Column(samples, f"{title}, each", "data")]


def find_bench() -> str | None:
    """Return the path of `cs336-bench`, on PATH or beside the package cs336; None if there is none."""
    if found := shutil.which("cs336-bench"):
        return found
    package = importlib.util.find_spec("cs336")
    if package is None or not package.origin:
        return None
    return shutil.which("cs336-bench", path=str(Path(package.origin).parents[2] / "bin"))


def ask_bench(bench: str, device: str) -> Row | None:
    """Return `producer` and `device` as `cs336-bench` writes them, or None if it cannot use the device."""
    # The shortest command whose document describes the device.
    command = [bench, "accumulate", "--count", "1", "--fusion", "none", "--device", device, "--format", "json"]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if process.returncode != 0:
        return None
    document = json.loads(process.stdout)
    return {"producer": document["producer"], "device": document["device"]}


def describe_device(device: str) -> Row:
    """Return `producer` and `device`, or end the program if they cannot be found.

    Call it before measuring, so that a missing tool costs no measurement.
    """
    bench = find_bench()
    if not bench:
        sys.exit("error: cs336-bench is not on PATH: build it and set PATH=build/dev/bin:$PATH")
    described = ask_bench(bench, device)
    if not described:
        sys.exit(f"error: cs336-bench cannot use the device {device}: 'cs336-bench doctor' shows what is missing")
    return described


def describe_sources() -> Row:
    """Return `producer` for records that no build of `cs336-bench` measured: version and commit of this source tree."""
    text = (Path(__file__).parents[1] / "CMakeLists.txt").read_text()
    version = re.search(r"^project\(cs336-opt VERSION ([0-9.]+)", text, re.MULTILINE)
    return {"producer": {"version": version[1] if version else "0.0.0", "commit": commit()}}


def make_document(benchmark: str, columns: list[Column], rows: Iterable[Row], head: Row) -> Row:
    """Return a document.

    Parameters
    ----------
    benchmark
        The name of the benchmark.
    columns
        The columns in order.
    rows
        Values by the keys of columns. Missing values become null.
    head
        The members of `record.describe`, and those of `describe_device` or `describe_sources`.

    Raises
    ------
    ValueError
        If a row has a key that no column describes.
    """
    keys = [column.key for column in columns]
    table = []
    for row in rows:
        if unknown := row.keys() - set(keys):
            raise ValueError(f"no column of {benchmark} describes {', '.join(sorted(unknown))}")
        table.append({key: row.get(key) for key in keys})
    start = {"schema": "cs336.results", "version": 2, "benchmark": benchmark}
    return start | head | {"columns": [column.describe() for column in columns], "results": table}


def add_columns(document: Row, columns: list[Column], rows: list[Row]) -> Row:
    """Return a document of `cs336-bench` with more columns: `rows` has their values, in the order of its rows."""
    keys = [column.key for column in columns]
    described = [column for column in document["columns"] if column["key"] not in keys]
    described += [column.describe() for column in columns]
    table = [row | {key: more.get(key) for key in keys} for row, more in zip(document["results"], rows, strict=True)]
    return document | {"columns": described, "results": table}


def wrap_documents(argv: list[str], documents: list[Row], **members: object) -> Row:
    """Return a record that contains the documents of several commands."""
    return {"schema": "cs336.record", "version": 1} | describe(argv) | members | {"documents": documents}

#!/usr/bin/env python3
"""Records a study's measurements: every number as JSON, and a table for each of its commands.

What follows `--` is given to `cs336-bench study`, which PATH must have: a study's name, and flags in place of its own.
What is complete when it ends early is recorded too, and the record says so.

PATH=build/dev/bin:$PATH python3 benchmarks/study.py --output DIR/attention -- pytorch_attention --length 256,1024
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import bench_tool
from record import describe, origin, write

Row = dict[str, object]

# Digits of a number that is more than a measurement.
DIGITS = {"result": 10}


def format_value(key: str, value: object) -> str:
    """The cell's text; nothing for what was not measured."""
    if value is None:
        return ""
    return f"{value:.{DIGITS.get(key, 4)}g}" if isinstance(value, float) else str(value)


def table(rows: list[Row]) -> list[str]:
    """What all rows share, then a column for each other value, fractions last; lists and objects the JSON has alone."""
    kinds = {key: {type(row.get(key)) for row in rows} for row in rows for key in row}
    keys = sorted((key for key in kinds if not kinds[key] & {list, dict}), key=lambda key: float in kinds[key])
    shared = {key: rows[0].get(key) for key in keys if all(row.get(key) == rows[0].get(key) for row in rows)}
    columns = [key for key in keys if key not in shared]
    lines = []
    if said := [f"{key} {format_value(key, value)}" for key, value in shared.items() if value is not None]:
        lines += ["All: " + ", ".join(said) + ".", ""]
    if columns:
        lines += ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        lines += ["| " + " | ".join(format_value(key, row.get(key)) for key in columns) + " |" for row in rows]
    return lines


def markdown(record: Row) -> str:
    """The record as a page."""
    lines = [
        f"# Study {record['study']}",
        "",
        origin(record),
        *(["It ended early: measurements are missing."] if record["incomplete"] else []),
        "",
        f"    {record['command']}",
    ]
    for document in record["documents"]:
        lines += ["", f"## {str(document['benchmark']).capitalize()}", "", f"    {document['command']}", ""]
        lines += table(document["results"])
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--output", type=Path, help="writes OUTPUT.json and OUTPUT.md")
    arguments.add_argument("arguments", nargs="+", help="after --: a study, and flags")
    args = arguments.parse_args()
    documents, incomplete, code = bench_tool.run(["study", *args.arguments])
    documents = [document for document in (documents if isinstance(documents, list) else [documents])
                 if document["results"]]  # fmt: skip
    if not documents:
        sys.exit("it ended before anything was measured")
    record = describe(sys.argv) | {"study": args.arguments[0], "incomplete": incomplete, "documents": documents}
    write(record, markdown(record), args.output)
    sys.exit(code)


if __name__ == "__main__":
    main()

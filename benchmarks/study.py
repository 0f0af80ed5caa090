#!/usr/bin/env python3
"""Records a study's measurements: every number as JSON, and one table per command.

All arguments after `--` are passed to `cs336-bench study`, which must be on PATH: a study's name, and flags that
replace its own. If it ends early, the complete measurements are recorded, and the record is marked as incomplete.

PATH=build/dev/bin:$PATH python3 benchmarks/study.py --output DIR/attention -- pytorch_attention --length 256,1024
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import bench_tool
from document import wrap_documents
from record import origin, write

Row = dict[str, object]

# Digits of numbers that are exact results instead of measurements.
DIGITS = {"result": 10}


def format_value(key: str, value: object) -> str:
    """Return the cell's text; empty if it was not measured."""
    if value is None:
        return ""
    return f"{value:.{DIGITS.get(key, 4)}g}" if isinstance(value, float) else str(value)


def table(rows: list[Row]) -> list[str]:
    """Return the values that all rows share, then one column per other value, fractions last; no lists and objects."""
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
    """Return the record as a page."""
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
    arguments.add_argument("--output", type=Path, help="write OUTPUT.json and OUTPUT.md")
    arguments.add_argument("arguments", nargs="+", help="a study and its flags, after --")
    args = arguments.parse_args()
    documents, incomplete, code = bench_tool.run(["study", *args.arguments])
    documents = [document for document in (documents if isinstance(documents, list) else [documents])
                 if document["results"]]  # fmt: skip
    if not documents:
        sys.exit("cs336-bench ended before it had measured anything")
    record = wrap_documents(sys.argv, documents, study=args.arguments[0], incomplete=incomplete)
    write(record, markdown(record), args.output)
    sys.exit(code)


if __name__ == "__main__":
    main()

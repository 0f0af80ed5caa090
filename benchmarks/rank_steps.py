#!/usr/bin/env python3
"""Records measurements of several ranks: every number as JSON, and a table of the columns that have values.

The arguments after `--` are a command of cs336-bench, `ddp` or `allreduce`, and its flags. cs336-bench must be on PATH.
If it ends early, the complete measurements are recorded, and the record is marked as incomplete.

PATH=build/dev/bin:$PATH python3 benchmarks/rank_steps.py --output DIR/ddp -- ddp --size tiny --ranks 2
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import bench_tool
from record import describe, origin, write

Row = dict[str, object]


def table_columns(document: Row) -> list[Row]:
    """Return the descriptions of the columns for a table.

    Omits columns without values, columns of lists and objects, and settings that several rows have in common.
    """

    def is_shown(column: Row) -> bool:
        values = [row.get(column["key"]) for row in document["results"]]
        if all(value is None for value in values) or any(isinstance(value, list | dict) for value in values):
            return False
        return column["role"] != "setting" or len(values) == 1 or any(value != values[0] for value in values)

    return [column for column in document["columns"] if is_shown(column)]


def format_value(value: object) -> str:
    """Return a value as text of at most four significant digits, unless it is an integer."""
    if value is None:
        return ""
    return (
        f"{value:.4g}"
        if isinstance(value, float) and value < 1e4
        else f"{value:.0f}"
        if isinstance(value, float)
        else str(value)
    )


def write_table(document: Row) -> list[str]:
    """Return the lines of a table in Markdown."""
    columns = table_columns(document)
    lines = [" | ".join(str(column["title"]) for column in columns), "|".join("---" for _ in columns)]
    lines += [" | ".join(format_value(row.get(column["key"])) for column in columns) for row in document["results"]]
    return [f"| {line} |" if "---" not in line else f"|{line}|" for line in lines]


def main() -> int:
    """Run the command, print its table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="write PATH.json and PATH.md")
    parser.add_argument("arguments", nargs="+", help="the command of cs336-bench and its flags, after --")
    options = parser.parse_args()
    document, incomplete, code = bench_tool.run(options.arguments)
    if not document["results"]:
        sys.exit("cs336-bench ended before it had measured a row")
    # The command of the record contains the tool's arguments.
    record = document | describe(sys.argv) | {"incomplete": incomplete}
    page = [f"# cs336-bench {options.arguments[0]}", "", f"`{record['command']}`", "", origin(record), ""]
    if incomplete:
        page += ["Incomplete: the command ended before it had measured everything.", ""]
    write(record, "\n".join([*page, *write_table(document)]) + "\n", options.output)
    return code


if __name__ == "__main__":
    sys.exit(main())

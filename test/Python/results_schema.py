"""Validation of JSON files of `cs336-bench` against docs/Results.schema.json."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/Results.schema.json").read_text())
# Units that titles name in another way.
TITLE_UNITS = {"µs/node": "us/node", "M": "10^6"}


def validate(document: object) -> None:
    """Raise jsonschema.ValidationError if the document does not conform to the schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="the schema needs a validator")
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def bench(*arguments: str) -> Any:
    """Return the JSON that cs336-bench writes."""
    command = ["cs336-bench", *arguments, "--format", "json"]
    process = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def check_columns(document: dict[str, Any]) -> None:
    """Check what a JSON Schema cannot express: rows have the keys of columns, and units are those of titles."""
    columns = {column["key"]: column for column in document["columns"]}
    assert len(columns) == len(document["columns"])
    assert document["results"] and all(set(row) == set(columns) for row in document["results"])
    assert any(column["role"] == "setting" for column in columns.values())
    for key, column in columns.items():
        if named := re.search(r"\((.+)\)$", column["title"]):
            assert TITLE_UNITS.get(named[1], named[1]) == column["unit"], key
        values = [row[key] for row in document["results"] if row[key] is not None]
        if column["unit"] is not None:
            numbers = [number for value in values for number in (value if isinstance(value, list) else [value])]
            assert all(isinstance(number, (int, float)) for number in numbers), key
        if column["role"] == "setting":
            assert all(isinstance(value, (str, int, float)) for value in values), key
        for samples in column.get("samples", []):
            assert columns[samples]["unit"] == column["unit"]
            assert all(len(row[samples]) > 1 for row in document["results"] if row[key] is not None)

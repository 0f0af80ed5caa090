"""Validation of JSON files of `cs336-bench` against docs/Results.schema.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/Results.schema.json").read_text())


def validate(document: object) -> None:
    """Raise jsonschema.ValidationError if the document does not conform to the schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="the schema needs a validator")
    jsonschema.Draft202012Validator(SCHEMA).validate(document)

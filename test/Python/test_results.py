"""`cs336.results.load` reads what `cs336-bench` writes, and records of earlier versions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cs336
import pytest

RECORDS = Path(__file__).resolve().parents[2] / "benchmarks/results"
ALLREDUCE = ["allreduce", "--backend", "threads", "--ranks", "2,3", "--size", "1000,3000", "--steps", "3"]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Give a file that cs336-bench has written."""
    path = tmp_path / "results.json"
    command = ["cs336-bench", *ALLREDUCE, "--format", "json", "--output", str(path)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    return path


def change(path: Path, **members: object) -> Path:
    """Write other members into a document."""
    document: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps(document | members))
    return path


def test_rows_and_descriptions_are_those_of_the_file(written: Path) -> None:
    pytest.importorskip("pandas")
    document = json.loads(written.read_text())
    (frame,) = cs336.results.load(written)
    assert list(frame.columns) == [column["key"] for column in document["columns"]]
    assert list(frame["size_bytes"]) == [1000, 3000, 1000, 3000]
    assert list(frame["time_ms"]) == [row["time_ms"] for row in document["results"]]
    assert list(frame["times_ms"]) == [row["times_ms"] for row in document["results"]]
    assert (frame.attrs["units"]["time_ms"], frame.attrs["units"]["ranks"]) == ("ms", None)
    assert (frame.attrs["roles"]["ranks"], frame.attrs["roles"]["times_ms"]) == ("setting", "data")
    assert frame.attrs["titles"]["busbw_gb_s"] == "busbw (GB/s)"
    assert {key: frame.attrs[key] for key in ("version", "benchmark", "steps")} == {
        "version": 2,
        "benchmark": "allreduce",
        "steps": 3,
    }
    assert frame.attrs["device"] == document["device"] and "results" not in frame.attrs


def test_arrays_of_studies_are_several_frames(written: Path) -> None:
    pytest.importorskip("pandas")
    document = json.loads(written.read_text())
    written.write_text(json.dumps([document, document | {"benchmark": "second"}]))
    assert [frame.attrs["benchmark"] for frame in cs336.results.load(written)] == ["allreduce", "second"]


@pytest.mark.parametrize("name", ["h200-small-graphs", "h200-mixed-precision", "h200-ladder-small"])
def test_records_of_version_1_are_read(name: str) -> None:
    pytest.importorskip("pandas")
    path = RECORDS / f"{name}.json"
    record = json.loads(path.read_text())
    documents = record.get("documents", [record])
    frames = cs336.results.load(path)
    assert [len(frame) for frame in frames] == [len(document["results"]) for document in documents]
    assert {frame.attrs["version"] for frame in frames} == {1}
    for frame, document in zip(frames, documents, strict=True):
        assert set(frame.columns) == set(document["results"][0]) and frame.attrs["units"] == {}


def test_other_files_are_errors(written: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"has version 3 of cs336\.results; this package reads 1 and 2"):
        cs336.results.load(change(written, version=3))
    with pytest.raises(
        ValueError, match=r"the schema of '.*' is 'others', expected 'cs336\.results': pass a file that"
    ):
        cs336.results.load(change(written, schema="others"))
    with pytest.raises(ValueError, match="does not conform to version 2"):
        cs336.results.load(change(written, schema="cs336.results", version=2, columns=[{"title": "time"}]))
    with pytest.raises(ValueError, match="has no results: pass a file that cs336-bench has written"):
        cs336.results.load(change(written, results=[1]))
    written.write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        cs336.results.load(written)
    with pytest.raises(OSError, match=r"none\.json"):
        cs336.results.load(tmp_path / "none.json")


def test_versions_are_not_mixed(written: Path) -> None:
    pytest.importorskip("pandas")
    document = json.loads(written.read_text())
    written.write_text(json.dumps([document, {"benchmark": "model", "results": [{"median_ms": 1.5}]}]))
    with pytest.raises(ValueError, match=r"has documents of versions 1 and 2, .*: load them from a file each"):
        cs336.results.load(written)


def test_missing_pandas_is_named(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"cs336\.results needs pandas: install it with 'pip install pandas'"):
        cs336.results.load(written)

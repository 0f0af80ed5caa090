"""`benchmarks/record.py`: a record replaces an earlier one completely or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import record


def test_a_record_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "new" / "h200-2.7b"
    record.write({"date": "old"}, "# Old\n", output)
    record.write({"date": "new"}, "# New\n", output)
    assert {path.name: path.read_text() for path in output.parent.iterdir()} == {
        "h200-2.7b.json": '{\n  "date": "new"\n}\n',
        "h200-2.7b.md": "# New\n",
    }
    assert capsys.readouterr().out == "# Old\n\n# New\n\n"


def test_an_earlier_record_outlives_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a full disk, which the kernel reports at the latest when the file is flushed."""
    output = tmp_path / "record"
    record.write({"date": "old"}, "# Old\n", output)

    def fail(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        record.write({"date": "new"}, "# New\n", output)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "record.json": '{\n  "date": "old"\n}\n',
        "record.md": "# Old\n",
    }

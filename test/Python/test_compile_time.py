"""`benchmarks/compile_time.py` on the CPU: the compiled programs and the number of runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import compile_time


def measure(folder: Path, monkeypatch: pytest.MonkeyPatch, *flags: str) -> tuple[dict, str]:
    """Return the record and its page."""
    command = ["compile_time.py", "--sizes", "tiny", "--output", str(folder / "record"), *flags]
    monkeypatch.setattr(sys, "argv", command)
    compile_time.main()
    return json.loads((folder / "record.json").read_text()), (folder / "record.md").read_text()


def test_what_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forward, page = measure(tmp_path, monkeypatch, "--mode", "forward", "--runs", "1")
    assert page.startswith("# Compiling a forward pass\n") and "\nOne whole process each.\n" in page
    both, page = measure(tmp_path, monkeypatch, "--mode", "forward_backward", "--runs", "2")
    assert page.startswith("# Compiling a loss and its gradients\n") and "\nMedians of 2 whole processes.\n" in page
    assert (both["mode"], both["runs"]) == ("forward_backward", 2)
    assert forward["context_length"] == forward["results"][0]["context_length"] == 256
    assert forward["results"][0]["distinct_kernels"] < both["results"][0]["distinct_kernels"]


def test_context_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    measured = compile_time.measure

    def keep(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float]:
        commands.append(command)
        return measured(command, environment)

    monkeypatch.setattr(compile_time, "measure", keep)
    record, page = measure(tmp_path, monkeypatch, "--mode", "forward", "--runs", "1", "--context-length", "16")
    assert record["context_length"] == record["results"][0]["context_length"] == 16
    assert " Context 16, batch 4.\n" in page
    (imported,) = (command for command in commands if "--import-transformer" in command)
    assert imported[imported.index("--context-length") + 1] == "16"


def test_what_starts_on_a_gpu() -> None:
    row = {"size": "tiny", "num_layers": 2, "dtype": "fp32", "fusion": "all", "distinct_kernels": 9}
    row |= {f"{state}_{part}_seconds": 0.5 for state in ("cold", "warm") for part in ("compile", "load")}
    lines = compile_time.start_markdown({"runs": 1, "results": [row]})
    assert lines[0].startswith("One process each with an empty cache (cold), each followed by one")
    assert lines[-1] == "| tiny | 2 | fp32 | all | 9 | 0.50 + 0.50 | 1.00 | 0.50 + 0.50 | 1.00 |"
    lines = compile_time.start_markdown({"runs": 3, "results": [row]})
    assert lines[0].startswith("Medians of 3 processes with an empty cache (cold)")

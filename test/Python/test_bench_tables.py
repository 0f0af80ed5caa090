"""Tables of every command of `cs336-bench` that runs on a CPU: how wide they are, and that programs can read them."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

WIDEST = 120
MODEL = ["--size", "tiny", "--num-layers", "1", "--context-length", "8", "--vocab-size", "50", "--batch-size", "2"]
STEPS = ["--steps", "2", "--warmup", "0"]
ATTENTION = ["--batch-size", "1", "--length", "8,12", "--head-dim", "8", *STEPS]

COMMANDS = {
    "model": ["model", *MODEL, *STEPS, "--mode", "forward,forward_backward,train", "--dtype", "fp32,bf16"],
    "model, one row": ["model", *MODEL, *STEPS, "--per-step"],
    "model, ladder": ["model", *MODEL, *STEPS, "--ladder", "--dtype", "bf16", "--no-mfu"],
    "model, profile": ["model", *MODEL, *STEPS, "--profile", "--no-mfu", "--fusion", "none,all", "--mode", "train"],
    "attention": ["attention", *ATTENTION, "--mask", "full,causal", "--dtype", "fp32,bf16", "--fusion", "none,all"],
    "attention, ladder": ["attention", *ATTENTION, "--ladder", "--dtype", "bf16", "--num-heads", "1,2"],
    "plan": ["plan", *MODEL, "--memory-limit", "2MiB", "--largest", "1000"],
    "plan, sweep": ["plan", *MODEL, "--mode", "forward,train", "--dtype", "fp32,bf16", "--fusion", "none,all"],
    "plan, ladder": ["plan", "--size", "2.7B", "--num-layers", "1", "--ladder", "--dtype", "bf16", "--device", "cuda"],
    "accumulate": ["accumulate", "--fusion", "none,all"],
    "dtypes": ["dtypes"],
    "norm-error": ["norm-error", "--rows", "4"],
    "doctor": ["doctor"],
    "study benchmarking_script": [
        *["study", "benchmarking_script", *MODEL[:2], "--context-length", "8,16", "--batch-size", "1", "--steps", "1"],
        *["--no-mfu"],
    ],
    "study mixed_precision_accumulation": ["study", "mixed_precision_accumulation"],
    "study benchmarking_mixed_precision": [
        *["study", "benchmarking_mixed_precision", *MODEL[:4], "--context_length", "8", "--vocab-size", "50"],
        *["--batch-size", "1", "--num-heads", "2", *STEPS, "--rows", "4"],
    ],
    "study pytorch_attention": ["study", "pytorch_attention", *ATTENTION],
    "study torch_compile": [
        *["study", "torch_compile", *MODEL[:4], "--context_length", "8", "--vocab-size", "50", "--batch-size", "1"],
        *["--head-dim", "8", "--mode", "forward", *STEPS, "--no-mfu", "--peer="],
    ],
}  # fmt: skip


def bench(*arguments: str) -> str:
    """Return the output of cs336-bench from the build that the tests run in."""
    process = subprocess.run(["cs336-bench", *arguments], capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr
    return process.stdout


def width(line: str) -> int:
    """Return the number of columns that the line takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)


@pytest.mark.parametrize("name", COMMANDS)
def test_default_tables_fit(name: str) -> None:
    lines = bench(*COMMANDS[name]).splitlines()
    assert len(lines) > 1
    assert [line for line in lines if width(line) > WIDEST] == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if not name.startswith(("study", "doctor"))])
def test_csv_is_read_back(name: str) -> None:
    # An empty line separates tables, each of which begins with its header.
    tables: list[list[list[str]]] = [[]]
    for record in csv.reader(io.StringIO(bench(*COMMANDS[name], "--format", "csv"))):
        if record:
            tables[-1].append(record)
        else:
            tables.append([])
    for header, *rows in tables:
        assert rows and len(set(header)) == len(header)
        assert {len(row) for row in rows} == {len(header)}


def test_all_formats_have_the_same_rows(tmp_path: Path) -> None:
    # Sums, which two runs compute alike.
    def run(format: str) -> str:
        path = tmp_path / f"sums.{format}"
        assert bench("accumulate", "--count", "10", "--format", format, "--output", str(path)) == ""
        return path.read_text()

    results = json.loads(run("json"))["results"]
    rows = list(csv.DictReader(io.StringIO(run("csv"))))
    assert [{key: str(row[key]) for key in ("sum_dtype", "addition", "count")} for row in results] == [
        {key: row[key] for key in ("sum_dtype", "addition", "count")} for row in rows
    ]
    for result, row in zip(results, rows, strict=True):
        assert float(row["result"]) == pytest.approx(result["result"], abs=1e-8)
    texts = [row["result"] for row in rows]
    for format in ("table", "markdown", "latex", "typst"):
        page = run(format)
        assert [text for text in texts if text not in page] == []


def test_latex_and_typst_are_well_formed() -> None:
    plan = COMMANDS["plan"]
    latex = bench(*plan, "--format", "latex")
    tables = latex.count("\\begin{table}")
    assert tables == latex.count("\\end{table}") == latex.count("\\begin{tabular}") >= 4
    assert "d128 ff512 L1 h4" in latex and "layers.0.ffn" in latex
    plain = latex.replace("\\\\", "").replace("\\_", "").replace("\\%", "")
    assert "_" not in plain and "%" not in plain
    # Every row of a table has as many cells as the table has columns.
    for table in latex.split("\\begin{tabular}{")[1:]:
        columns = table.index("}")
        rows = [line for line in table.splitlines() if line.endswith("\\\\")]
        assert rows and {line.count(" & ") + 1 for line in rows} == {columns}
    typst = bench(*plan, "--format", "typst")
    assert typst.count("#figure(") == tables and typst.count("(") == typst.count(")")
    assert typst.count('"') % 2 == 0


@pytest.mark.parametrize("command", ["model", "attention", "plan", "accumulate", "dtypes", "norm-error", "doctor"])
def test_unknown_columns_are_refused_before_anything_runs(command: str) -> None:
    arguments = COMMANDS[command] + ["--columns", "nothing"]
    process = subprocess.run(["cs336-bench", *arguments], capture_output=True, text=True, env=os.environ)
    assert process.returncode == 1 and process.stdout == ""
    assert process.stderr.startswith("cs336-bench: error: --columns: unknown column 'nothing'; the columns are ")


def test_files_are_replaced_only_by_a_whole_report(tmp_path: Path) -> None:
    path = tmp_path / "sums.csv"
    path.write_text("before")
    process = subprocess.run(
        ["cs336-bench", "accumulate", "--columns", "nothing", "--output", str(path)], capture_output=True
    )
    assert process.returncode == 1 and path.read_text() == "before"
    bench("accumulate", "--count", "1", "--format", "csv", "--output", str(path))
    assert path.read_text().startswith("sum_dtype,") and list(tmp_path.iterdir()) == [path]

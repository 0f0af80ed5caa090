# ===- test_recorded_numbers.py - README's numbers are those of records ----===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Every number in README's table, and in its sentences about measurements, is in the record that it names."""

from __future__ import annotations

import json
import re
import statistics
from typing import Any

import pytest
from documented_commands import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
# A table row that ends with the name of a record.
ROW = re.compile(r"^\| (?P<cells>.*) \| `(?P<record>[\w.-]+)` \|$", re.MULTILINE)
VARIANTS = {
    "eager": "eager",
    "compiled": "compile",
    "compiled, CUDA graphs": "graphs",
    "compiled, CUDA graphs, cuDNN": "graphs-cudnn",
    "the course's code, eager": "course",
    "the course's code, torch.compile": "course-compiled",
}


def read_record(name: str) -> dict[str, Any]:
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))


def is_rounding(printed: str, value: float) -> bool:
    """Return whether a printed number is a value, rounded to the digits that are printed."""
    digits = len(printed.partition(".")[2])
    return abs(float(printed) - value) <= 0.5 * 10.0**-digits * (1 + 1e-9)


def find_cell(description: str, variant: str, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Find the measurement that a row describes, such as ``small, training, fp32, 4 × 256``."""
    context = re.search(r"\d × (\d+)", description)
    dtype = re.search(r"fp32|tf32|bf16|fp16", description)
    wanted = {
        "size": re.split(r"[, ]", description)[0],
        "mode": "forward" if "forward" in description else "train",
        "dtype": dtype[0] if dtype else "bf16",
        "context_length": int(context[1]) if context else 256,
        "fusion": "all",
    }
    found = [
        cell
        for cell in results
        if all(cell[key] == value for key, value in wanted.items()) and cell.get(f"torch_{variant}_median_ms")
    ]
    assert len(found) == 1, f"{len(found)} measurements for {wanted}"
    return found[0]


def wrong_numbers(row: re.Match[str]) -> list[str]:
    """List the numbers of a row that its record does not have."""
    description, peer, *numbers = (text.strip() for text in row["cells"].split("|"))
    variant = VARIANTS[peer]
    cell = find_cell(description, variant, read_record(row["record"])["results"])
    ratio = cell[f"torch_{variant}_ratio"]
    assert ratio is not None, "the values of both sides disagree"
    values = [cell[f"torch_{variant}_median_ms"], cell["median_ms"], ratio]
    values += [cell.get(f"torch_{variant}_device_mib"), cell.get("device_memory_mib")] if len(numbers) == 5 else []
    return [
        f"{printed}: the record has {value}"
        for printed, value in zip(numbers, values, strict=True)
        if printed and not is_rounding(printed, value)
    ]


@pytest.mark.parametrize("row", list(ROW.finditer(README)), ids=lambda row: row["record"])
def test_row_is_recorded(row: re.Match[str]) -> None:
    assert not wrong_numbers(row)


def test_tables_are_found() -> None:
    assert len(list(ROW.finditer(README))) >= 7


def test_wrong_number_is_noticed() -> None:
    row = ROW.search("| small, training, 4 × 256 | compiled, CUDA graphs | 5.38 | 3.64 | 1.48 | `h200-small-graphs` |")
    assert row
    assert wrong_numbers(row) == ["3.64: the record has 3.63491"]


def numbers_before(record: str) -> list[str]:
    """List the numbers with a fraction in the item of README's list that names a record."""
    items = [item for item in re.split(r"\n- |\n\n", README) if f"(`{record}`)" in item and not item.startswith("|")]
    assert len(items) == 1
    return re.findall(r"\d+\.\d+", items[0].replace(record, ""))


def test_ladder_is_recorded() -> None:
    levels = [
        cell["median_ms"]
        for document in read_record("h200-ladder-large")["documents"]
        for cell in document["results"]
        if (cell["ladder"], cell["mode"], cell["context_length"]) == ("bf16", "train", 256)
    ]
    (ratio,) = numbers_before("h200-ladder-large")
    assert is_rounding(ratio, levels[0] / levels[-1])


def test_two_gpus_are_recorded() -> None:
    results = read_record("h200x2-ddp-factors-2.7b-graphs")["results"]
    medians = {cell["distribute"]: cell["median_ms"] for cell in results}
    _size, zero1, bucket, peer = numbers_before("h200x2-ddp-factors-2.7b-graphs")
    assert is_rounding(zero1, medians["zero1"])
    assert is_rounding(bucket, medians["bucket"])
    assert is_rounding(peer, medians["torch graphs-flat-bf16"])


def test_held_out_loss_is_recorded() -> None:
    comparison = next(item for item in read_record("h200-curve-2000")["comparisons"] if item["dtype"] == "bf16")
    ours, theirs = numbers_before("h200-curve-2000")
    assert is_rounding(ours, statistics.mean(comparison["ours"]))
    assert is_rounding(theirs, comparison["peer_mean"])


def test_attention_is_recorded() -> None:
    page = (ROOT / "benchmarks/results/h200-ladder-attention.md").read_text(encoding="utf-8")
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    header = next(cells for cells in table if cells[0] == "step")
    row = next(cells for cells in table if cells[0] == "8 × 8192 × 128, full, bf16, backward")
    ours, theirs = numbers_before("h200-ladder-attention")
    assert is_rounding(ours, float(row[header.index("flash-attention (ms)")]))
    assert any(
        is_rounding(theirs, float(cell)) for cell, name in zip(row, header, strict=True) if "compiled" in name and cell
    )

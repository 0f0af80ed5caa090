"""`benchmarks/ladder.py`: a table and pictures from recorded JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "ladder.py"
TIMES = {"none": 8.0, "elementwise": 4.0, "softmax": 2.0, "flash": 1.0}


def attention(fusion: str, backward: float | None) -> dict:
    row = {"batch_size": 8, "num_heads": 1, "length": 1024, "head_dim": 64, "mask": "full", "dtype": "bf16"}
    times = {"forward_median_ms": TIMES[fusion], "backward_median_ms": backward}
    peer = {"torch_compiled_forward_median_ms": 3.0, "torch_compiled_forward_ratio": 3.0 / TIMES[fusion]}
    mismatch = {"torch_compiled_backward_median_ms": 6.0, "torch_compiled_backward_ratio": None}
    return row | {"fusion": fusion} | times | peer | mismatch


def model(fusion: str) -> dict:
    row = {"size": "small", "batch_size": 4, "context_length": 256, "dtype": "bf16", "mode": "train"}
    return row | {"fusion": fusion, "median_ms": 10 * TIMES[fusion]}


def run(folder: Path, *documents: object) -> subprocess.CompletedProcess[str]:
    paths = []
    for index, document in enumerate(documents):
        paths.append(str(folder / f"{index}.json"))
        Path(paths[-1]).write_text(json.dumps(document))
    command = [sys.executable, str(SCRIPT), *paths, "--output", str(folder / "out" / "ladder")]
    return subprocess.run(command, capture_output=True, text=True)


def test_table_and_pictures(tmp_path: Path) -> None:
    rows = [attention("none", None), *(attention(level, 2 * TIMES[level]) for level in ("elementwise", "flash"))]
    study = [
        {"benchmark": "attention", "results": rows},
        {"benchmark": "model", "command": "cs336-bench model", "results": [model(level) for level in TIMES]},
    ]
    process = run(tmp_path, study, {"benchmark": "accumulate", "results": []})
    assert process.returncode == 0, process.stderr
    out = tmp_path / "out"
    assert (out / "ladder.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "ladder.svg").read_text()
    assert json.loads((out / "ladder.json").read_text())["documents"][0] == study[0]
    page = (out / "ladder.md").read_text()
    assert "![Speed-up by level](ladder.svg)" in page
    assert "\n    cs336-bench model\n    python3 " in page
    # Softmax was not measured for attention; a peer with other values has no column of backward times.
    assert "| 8 × 1024 × 64, full, bf16, forward | 8.000 | 4.000 | 1.000 | 2.00 | 4.00 | 8.00 | 3.000 | 3.00 |" in page
    assert "| 8 × 1024 × 64, full, bf16, backward | no time | 8.000 | 2.000 |  | 4.00 |  |  |  |" in page
    assert "| small, 4 × 256, bf16, train | 80.000 | 40.000 | 20.000 | 10.000 | 2.00 | 2.00 | 2.00 | 8.00 |" in page


def test_a_ladder_changes_types_on_its_way(tmp_path: Path) -> None:
    def rung(added: str, dtype: str, milliseconds: float, theirs: float) -> dict:
        peer = {"torch_eager_median_ms": theirs, "torch_eager_ratio": theirs / milliseconds}
        row = model("none") | {"dtype": dtype, "median_ms": milliseconds, "ladder": "bf16", "added": added}
        return row | {"fusion": "none" if added in ("none", "autocast") else "flash"} | peer

    rows = [rung("none", "fp32", 12, 30), rung("autocast", "bf16", 6, 9), rung("flash-attention", "bf16", 4, 9)]
    process = run(tmp_path, {"benchmark": "model", "results": [*rows, model("none"), model("flash")]})
    assert process.returncode == 0, process.stderr
    page = (tmp_path / "out" / "ladder.md").read_text()
    assert "## Model, to bf16" in page and "## Model\n" in page
    assert "| step | none (ms) | autocast (ms) | flash-attention (ms) | × autocast | × flash-attention |" in page
    # PyTorch's time is that of the type of the top rung.
    assert "| small, 4 × 256, bf16, train | 12.000 | 6.000 | 4.000 | 2.00 | 1.50 | 3.00 | 9.000 | 2.25 |" in page
    assert "| small, 4 × 256, bf16, train | 80.000 | 10.000 | 8.00 | 8.00 |" in page


def test_one_level_is_no_ladder(tmp_path: Path) -> None:
    process = run(tmp_path, {"benchmark": "model", "results": [model("none")]})
    assert process.returncode != 0 and "no step at two levels" in process.stderr

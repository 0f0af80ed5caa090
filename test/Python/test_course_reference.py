"""`benchmarks/course_reference.py`: our step on the CPU, and when a ratio is printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cs336
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import course_reference


def test_our_losses_fall() -> None:
    config = cs336.TransformerConfig.named("tiny", context_length=8, batch_size=2)
    module = cs336.build(config, mode="train", optimizer=cs336.Optimizer(form="cs336_2026"))
    session = cs336.Session(cs336.compile(module))
    session.initialize(0)
    step = course_reference.our_step(session, course_reference.make_batch(config))
    losses, times = course_reference.time_steps(step, warmup=10, steps=2)
    assert len(losses) == course_reference.COMPARED
    assert len(times) == 2
    assert losses[-1] < 0.95 * losses[0]


def make_cell(difference: float) -> course_reference.Cell:
    cell = {"size": "small", "batch_size": 4, "context_length": 512, "dtype": "bf16"}
    cell |= {"losses": [9.0, 8.0], "median_ms": 5.0}
    for variant in course_reference.VARIANTS:
        course_reference.add_variant(cell, variant, [9.0, 8.0 + difference], [60.0, 70.0, 80.0])
    return cell


def test_ratio_requires_equal_losses() -> None:
    assert make_cell(0.03)["torch_course_ratio"] == pytest.approx(14.0)
    assert make_cell(0.04)["torch_course_ratio"] is None


def test_page_has_both_variants() -> None:
    record = {"date": "2026-01-01", "commit": "0", "machine": "a GPU", "command": "x", "results": [make_cell(0.0)]}
    page = course_reference.markdown(json.loads(json.dumps(record)))
    assert "| small | 4 × 512 | bf16 | eager | 70.00 | 5.00 | 14.00 | 0.0e+00 |\n" in page
    assert "| small | 4 × 512 | bf16 | torch.compile | 70.00 |" in page
    record["results"] = [make_cell(1.0)]
    assert "| eager | 70.00 | 5.00 |  | 1.1e-01 |\n" in course_reference.markdown(record)


def test_missing_course_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["course_reference.py", "--course", str(tmp_path)])
    with pytest.raises(SystemExit):
        course_reference.main()
    assert f"--course: there is no cs336_basics/model.py in {tmp_path}" in capsys.readouterr().err

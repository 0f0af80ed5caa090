"""`benchmarks/training_curve.py` beside a peer in NumPy, so that PyTorch is not needed."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import curve_report
import training_curve
from numpy_peer import numpy_peer
from results_schema import check_columns, validate

VOCABULARY = 23
MODEL = json.dumps({"d_model": 16, "d_ff": 24, "num_layers": 1, "num_heads": 2})
FLAGS = "--context 8 --batch 2 --steps 25 --lr 1e-2 --min-lr 1e-3 --warmup-steps 5 --held-out-every 10".split()
FLAGS += "--held-out-batches 3 --device cpu --seeds 2".split()

# Trains the NumPy model of these tests; `shift` is added to its held-out losses, 0 for an honest peer.
PEER = """\
    adamw = reference.AdamW(parameters, reference.Optimizer(**job["optimizer"]))
    batches, held = (np.load(job[name]) for name in ("batch", "held_out"))

    def evaluate():
        pairs = zip(held["tokens"], held["targets"])
        return float(np.mean([reference.loss(parameters, x, y, config) for x, y in pairs])) + {shift}

    losses, held_out = [], [(0, evaluate())]
    for tokens, targets in zip(batches["tokens"], batches["targets"]):
        loss, gradients = reference.loss_and_gradients(parameters, tokens, targets, config)
        adamw.step(gradients)
        losses.append(float(loss))
        if len(losses) % job["held_out_every"] == 0 or len(losses) == len(batches["tokens"]):
            held_out.append((len(losses), evaluate()))
    print(json.dumps({{"losses": losses, "held_out": held_out, "seconds": 1.5}}), flush=True)
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Write token files of a sequence that can be learnt: each token determines the next, except for some noise."""
    rng = np.random.default_rng(0)
    tokens = np.where(rng.random(3000) < 0.2, rng.integers(0, VOCABULARY, 3000), np.arange(3000) * 3 % VOCABULARY)
    folder = tmp_path / "text"
    folder.mkdir()
    tokens[:2500].astype("<u2").tofile(folder / "train.bin")
    tokens[2500:].astype("<u2").tofile(folder / "held_out.bin")
    meta = {"vocab_size": VOCABULARY, "train_tokens": 2500, "held_out_tokens": 500, "unigram_entropy": 3.1}
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def run(text: Path, monkeypatch: pytest.MonkeyPatch, *flags: str, shift: float = 0.0) -> tuple[dict, str]:
    """Return the record and its page."""
    peer = text / "peer"
    peer.write_text(f"#!{sys.executable}\n" + numpy_peer(PEER, shift=shift))
    peer.chmod(peer.stat().st_mode | stat.S_IXUSR)
    command = ["training_curve.py", str(text), "--size", MODEL, *FLAGS, "--peer-python", str(peer), *flags]
    monkeypatch.setattr(sys, "argv", [*command, "--output", str(text / "out" / "curve")])
    training_curve.main()
    assert "<svg" in (text / "out" / "curve.svg").read_text()
    record = json.loads((text / "out" / "curve.json").read_text())
    validate(record)
    check_columns(record)
    return record, (text / "out" / "curve.md").read_text()


def test_the_same_types_and_seeds_give_the_same_curves(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, page = run(text, monkeypatch, "--dtype", "fp32", "--peer-dtype", "fp32")
    assert [(each["side"], each["seed"]) for each in record["results"]] == [
        ("cs336-opt", 0), ("cs336-opt", 1), ("PyTorch", 0), ("PyTorch", 1)]  # fmt: skip
    for each in record["results"]:
        assert [step for step, _ in each["held_out"]] == [0, 10, 20, 25]
        assert len(each["losses"]) == 25
        assert each["held_out"][-1][1] < each["held_out"][0][1] - 0.3
    # Rounding in float32, which 25 steps amplify.
    assert [each["seed"] for each in record["pairs"]] == [0, 1]
    for each in record["pairs"]:
        assert each["first_10_difference"] < 1e-5 and each["difference"] < 1e-4
        assert abs(each["held_out_difference"]) < 1e-4
    assert record["results"][0]["losses"] != record["results"][1]["losses"]
    (comparison,) = record["comparisons"]
    assert comparison["inside_at_end"] and comparison["inside"] == comparison["evaluations"] == 8
    assert (
        "lie within PyTorch's mean ± 2 standard deviations in fp32" in page and "![Losses by step](curve.svg)" in page
    )


def test_every_type_stands_beside_pytorchs(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, page = run(text, monkeypatch, "--dtype", "bf16,fp16", "--peer-dtype", "fp32", shift=0.5)
    assert [each["dtype"] for each in record["comparisons"]] == ["bf16", "fp16"]
    assert all(each["mean_difference"] == pytest.approx(-0.5, abs=0.05) for each in record["comparisons"])
    assert not any(each["inside_at_end"] for each in record["comparisons"])
    assert record["pairs"] == [] and page.count("lie **outside**") == 2


def test_one_seed_says_nothing_of_the_spread(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, page = run(text, monkeypatch, "--dtype", "fp32", "--peer-dtype", "fp32", "--seeds", "1")
    assert record["comparisons"] == [] and len(record["pairs"]) == 1 and "within" not in page


def test_pages_of_records_without_a_schema_are_written_again() -> None:
    recorded = Path(__file__).parents[2] / "benchmarks/results/h200-curve-2000"
    page = curve_report.markdown(json.loads(recorded.with_suffix(".json").read_text()), f"{recorded.name}.svg")
    assert "lie within PyTorch's mean" in page and "| PyTorch, bf16 | 2 |" in page


def test_smoothing_starts_at_the_first_step() -> None:
    losses = list(np.arange(200.0))
    smoothed = curve_report.smooth(losses)
    assert smoothed[0] == 0 and smoothed[2] == 1 and smoothed[199] == pytest.approx(np.mean(losses[150:]))


def test_unknown_types_are_named(text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        run(text, monkeypatch, "--dtype", "bf16,fp8")
    assert "fp8 is not one of fp32, tf32, bf16, fp16" in capsys.readouterr().err

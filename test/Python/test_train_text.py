"""Tests `examples/train_text.py`: settings that a resumed run may change, its curve, and errors of files."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import cs336
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "train_text.py"
# One thread, on which the last bits of the CPU's results depend.
FLAGS = (
    "--d-model 16 --d-ff 32 --num-layers 1 --num-heads 2 --context-length 8 --batch-size 2 --warmup-steps 1 "
    "--eval-batches 1 --device cpu --threads 1 --sample-tokens 0"
).split()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_bytes(random.Random(0).randbytes(2000))
    return path


def train(text: Path, out: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(text), "--out", str(out), *FLAGS, *flags]
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def losses(out: Path) -> dict[int, str]:
    rows = [line.split(",") for line in (out / "curve.csv").read_text().splitlines()[1:]]
    return {int(row[0]): row[1] for row in rows}


def test_resume_goes_on_past_the_first_run(text: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train(text, whole, "--steps", "6", "--cosine-steps", "3").returncode == 0
    assert train(text, parts, "--steps", "3").returncode == 0
    resumed = train(text, parts, "--steps", "6", "--eval-every", "2", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming with another eval_every: 50 -> 2\nresuming with another steps: 3 -> 6\n" in resumed.stdout
    assert "resuming after step 3\n" in resumed.stdout
    # The learning rate follows the three steps of the first run's schedule, then stays.
    assert losses(parts) == losses(whole)
    assert sorted(losses(parts)) == [1, 2, 3, 4, 5, 6]
    settings = json.loads((parts / "config.json").read_text())
    assert (settings["steps"], settings["eval_every"], settings["optimizer"]["cosine_steps"]) == (6, 2, 3)


def test_resume_refuses_what_changes_the_curve(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert train(text, out, "--steps", "2").returncode == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    refused = train(text, out, "--steps", "4", "--lr", "0.5", "--seed", "7", "--d-model", "32", "--resume")
    assert refused.returncode == 1
    assert (
        "other settings, which change the curve: model.d_model: 16 -> 32, optimizer.lr: 0.001 -> 0.5, seed: 0 -> 7; "
        "give the flags of the first run" in refused.stderr
    )
    assert "steps" not in refused.stderr.split("curve:")[1].split(";")[0]
    cosine = train(text, out, "--steps", "4", "--cosine-steps", "9", "--resume")
    assert cosine.returncode == 1
    assert "optimizer.cosine_steps: 2 -> 9" in cosine.stderr
    batches = train(text, out, "--steps", "4", "--eval-batches", "2", "--resume")
    assert batches.returncode == 1
    assert "eval_batches: 1 -> 2" in batches.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_cosine_steps_must_exceed_the_warm_up(text: Path, tmp_path: Path) -> None:
    refused = train(text, tmp_path / "run", "--warmup-steps", "5", "--cosine-steps", "5")
    assert refused.returncode == 2
    assert "--cosine-steps is 5, must be more than the 5 of --warmup-steps" in refused.stderr


@pytest.mark.parametrize(("out", "reason"), [("/proc/x", "No such file or directory"), ("text", "File exists")])
def test_a_folder_that_cannot_be_made_is_named(text: Path, out: str, reason: str) -> None:
    refused = train(text, text.parent / out, "--steps", "1")
    assert refused.returncode == 1
    message = f"train_text: error: --out: cannot make the folder '{text.parent / out}': {reason}: pass another folder\n"
    assert refused.stderr == message


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("{a", "is not JSON: Expecting property name"),
        ("[]", "is not a JSON object"),
        ("{}", "holds no settings of a run"),
    ],
)
def test_broken_settings_are_named(text: Path, tmp_path: Path, settings: str, reason: str) -> None:
    out = tmp_path / "run"
    assert train(text, out, "--steps", "1").returncode == 0
    (out / "config.json").write_text(settings)
    refused = train(text, out, "--steps", "2", "--resume")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"train_text: error: {out / 'config.json'} {reason}")
    assert refused.stderr.endswith(": --overwrite starts anew\n") and refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("meta.json", "{a", "meta.json is not JSON: Expecting property name"),
        ("meta.json", "{}", "meta.json: vocab_size is None, must be an integer"),
        ("tokenizer.json", "{a", "tokenizer.json cannot be read: "),
    ],
)
def test_broken_folders_of_tokens_are_named(tmp_path: Path, file: str, content: str, reason: str) -> None:
    pytest.importorskip("tokenizers")
    (tmp_path / "meta.json").write_text('{"vocab_size": 300}')
    (tmp_path / file).write_text(content)
    refused = train(tmp_path, tmp_path / "run", "--steps", "1")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"train_text: error: {tmp_path}/{reason}")
    assert refused.stderr.endswith(": write the folder again with prepare_text.py\n")

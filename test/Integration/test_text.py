"""From a text file to a trained model: tokenizer, token files, training, resuming, sampling."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cs336
import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
MODEL = "--d-model 32 --d-ff 64 --num-layers 1 --num-heads 2 --context-length 32 --batch-size 4".split()
RUN = [*MODEL, *"--lr 5e-3 --warmup-steps 5 --eval-every 10 --eval-batches 2 --checkpoint-every 20".split()]


def run(script: str, *arguments: object, fails: bool = False) -> str:
    """Run an example and return its output."""
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    command = [sys.executable, str(ROOT / "examples" / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the repository's own prose."""
    path = tmp_path_factory.mktemp("text") / "prose.txt"
    pages = [ROOT / "LICENSE", *sorted((ROOT / "docs").rglob("*.md"))]
    path.write_text("\n".join(page.read_text() for page in pages) * 3)
    return path


@pytest.fixture(scope="module")
def data(text: Path) -> Path:
    out = text.parent / "tokens"
    run("prepare_text.py", text, "--vocab-size", 400, "--held-out", 0.1, "--out", out)
    return out


def curve(out: Path) -> list[list[str]]:
    """Return step, loss and held-out loss of every step, as they are in the file."""
    with (out / "curve.csv").open(newline="") as file:
        return [row[:3] for row in csv.reader(file)]


def test_token_files_hold_the_text(text: Path, data: Path) -> None:
    meta = json.loads((data / "meta.json").read_text())
    tokenizer = Tokenizer.from_file(str(data / "tokenizer.json"))
    train, held_out = (np.memmap(data / f"{part}.bin", "<u2", "r") for part in ("train", "held_out"))
    assert meta["vocab_size"] == tokenizer.get_vocab_size() == 400
    assert (train.size, held_out.size) == (meta["train_tokens"], meta["held_out_tokens"])
    assert max(train.max(), held_out.max()) < 400
    decoded = tokenizer.decode(train) + tokenizer.decode(held_out)
    assert sorted(decoded) == sorted(text.read_text())
    assert tokenizer.decode(train[:200]) == text.read_text()[: len(tokenizer.decode(train[:200]))]
    assert 0.02 < held_out.size / (train.size + held_out.size) < 0.25
    assert 0 < meta["unigram_entropy"] < np.log(400)


def test_training_beats_the_unigram_entropy_and_writes_everything(data: Path, tmp_path: Path) -> None:
    printed = run("train_text.py", data, *RUN, "--steps", 120, "--out", tmp_path, "--sample-tokens", 20)
    rows = curve(tmp_path)[1:]
    assert [int(row[0]) for row in rows] == list(range(1, 121))
    assert float(rows[-1][2]) < json.loads((data / "meta.json").read_text())["unigram_entropy"]
    assert float(rows[-1][1]) < float(rows[0][1]) - 0.5
    assert "held-out" in printed
    assert "tokens/s" in printed
    assert (tmp_path / "sample.txt").read_text().startswith("And ")
    checkpoint = load_file(tmp_path / "checkpoint.safetensors")
    assert int(checkpoint["adamw.step"]) == 120
    assert checkpoint["layers.0.attn.q_proj.weight"].shape == (32, 32)
    assert checkpoint["adamw.m.layers.0.attn.q_proj.weight"].shape == (32, 32)


def stop_at(step: int, statement: str, flags: list[object]) -> subprocess.CompletedProcess[str]:
    """Run train_text.py, which executes `statement` before its n-th step."""
    script = (
        "import sys, runpy, cs336\n"
        "step = cs336.Session.run\n"
        "count = 0\n"
        "def run(self, entry, inputs):\n"
        "    global count\n"
        "    count += entry == 'train'\n"
        f"    if count == {step}: {statement}\n"
        "    return step(self, entry, inputs)\n"
        "cs336.Session.run = run\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    command = [sys.executable, "-c", script, ROOT / "examples" / "train_text.py", *flags]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)


def test_a_resumed_run_repeats_the_curve(data: Path, tmp_path: Path) -> None:
    """Stop after the checkpoint of step 20, as if killed at step 27, and resume."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    flags = [data, *RUN, "--steps", 40, "--sample-tokens", 0]
    run("train_text.py", *flags, "--out", whole)
    assert stop_at(27, "raise KeyboardInterrupt", [*flags, "--out", parts]).returncode == 130
    assert len(curve(parts)) == 1 + 26
    assert "resuming after step 20" in run("train_text.py", *flags, "--out", parts, "--resume")
    assert curve(parts) == curve(whole)
    final = [load_file(out / "checkpoint.safetensors") for out in (whole, parts)]
    for name, value in final[0].items():
        assert value.tobytes() == final[1][name].tobytes(), name


def test_a_checkpoint_is_not_lost_unasked(data: Path, tmp_path: Path) -> None:
    flags = ["train_text.py", data, *RUN, "--steps", 20, "--sample-tokens", 0, "--out", tmp_path]
    run(*flags, "--seed", 1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    refused = run(*flags, "--seed", 2, fails=True)
    assert "--resume" in refused
    assert "--overwrite" in refused
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    run(*flags, "--seed", 2, "--overwrite")
    assert (tmp_path / "checkpoint.safetensors").read_bytes() != before["checkpoint.safetensors"]


@pytest.mark.parametrize("torn", [b"\0" * 100, b"21,0.5", b"21,0.5,,\0\0\0\0\n"])
def test_a_torn_curve_can_be_resumed(data: Path, tmp_path: Path, torn: bytes) -> None:
    """Rows that a loss of power leaves after the last whole row."""
    flags = ["train_text.py", data, *RUN, "--steps", 20, "--sample-tokens", 0, "--out", tmp_path]
    run(*flags)
    path = tmp_path / "curve.csv"
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert "resuming after step 20" in run(*flags, "--resume")
    assert path.read_bytes() == whole
    path.write_bytes(whole[: whole.index(b"\n19,") + 1] + torn)
    assert "the rows of steps 19 to 20 are missing or damaged" in run(*flags, "--resume")
    assert len(curve(tmp_path)) == 1 + 18


def test_resuming_keeps_the_curve_before_its_first_step(data: Path, tmp_path: Path) -> None:
    flags = [data, *RUN, "--steps", 40, "--sample-tokens", 0, "--out", tmp_path]
    assert stop_at(27, "raise KeyboardInterrupt", flags).returncode == 130
    whole = curve(tmp_path)[: 1 + 20]
    assert stop_at(1, "import os; os._exit(9)", [*flags, "--resume"]).returncode == 9
    assert curve(tmp_path) == whole


@pytest.mark.parametrize("name", ["train.bin", "held_out.bin"])
def test_tokens_that_vanish_are_an_error(data: Path, tmp_path: Path, name: str) -> None:
    """A mapped file that shrinks would end the process by SIGBUS."""
    own = tmp_path / "tokens"
    shutil.copytree(data, own)
    flags = [own, *RUN, "--steps", 20, "--sample-tokens", 0, "--out", tmp_path / "run"]
    size = (own / name).stat().st_size
    stopped = stop_at(5, f"import os; os.truncate({str(own / name)!r}, 10)", flags)
    assert stopped.returncode == 1, stopped.stderr
    assert f"train_text: error: {own / name} had {size} bytes when the run began, but has 10 now" in stopped.stderr
    shutil.copy(data / name, own)
    run("train_text.py", *flags, "--resume")


def test_any_file_trains_byte_by_byte(text: Path, tmp_path: Path) -> None:
    run("train_text.py", text, *RUN, "--steps", 20, "--out", tmp_path, "--sample-tokens", 8, "--temperature", 0)
    losses = [float(row[1]) for row in curve(tmp_path)[1:]]
    assert abs(losses[0] - np.log(256)) < 1.5
    assert losses[-1] < losses[0]


def test_what_the_scripts_refuse(text: Path, data: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("too short")
    assert "too short" in run("prepare_text.py", short, fails=True)
    assert "No such file" in run("prepare_text.py", tmp_path / "none.txt", fails=True)
    assert "--vocab-size" in run("prepare_text.py", text, "--vocab-size", 100000, fails=True)
    assert "tokens" in run("train_text.py", short, *RUN, "--out", tmp_path / "run", fails=True)
    odd = shutil.copytree(data, tmp_path / "odd")
    with (odd / "train.bin").open("ab") as file:
        file.write(b"x")
    assert "must have 2 per token" in run("train_text.py", odd, *RUN, "--out", tmp_path / "run", fails=True)
    (odd / "train.bin").unlink()
    assert "train.bin is not a regular file" in run("train_text.py", odd, *RUN, "--out", tmp_path / "run", fails=True)
    assert "multiple of num_heads" in run("train_text.py", data, "--d-model", 30, "--num-heads", 4, fails=True)
    run("train_text.py", data, *RUN, "--steps", 20, "--out", tmp_path / "run", "--sample-tokens", 0)
    refused = run("train_text.py", data, *RUN, "--seed", 30, "--out", tmp_path / "run", "--resume", fails=True)
    assert "other settings, which change the curve" in refused
    assert "seed: 0 -> 30" in refused

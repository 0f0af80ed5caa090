"""`cs336-bench model --peer torch` against peers without PyTorch: an honest one, and ones that fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from fake_python import make_python
from numpy_peer import numpy_peer
from ratios import check_ratio

MODEL = ["--d-model", "16", "--d-ff", "24", "--num-layers", "2", "--num-heads", "2", "--vocab-size", "31"]
MODEL += ["--context-length", "7", "--batch-size", "2", "--steps", "3", "--warmup", "1"]

# Computes the answer with the NumPy model of these tests; `scale` is 1 for an honest peer.
HONEST = """\
    batch = np.load(job["batch"])
    loss, gradients = reference.loss_and_gradients(parameters, batch["tokens"], batch["targets"], config)
    if job["mode"] == "train" and job["optimizer"]["max_norm"] > 0:
        gradients = reference.clip(gradients, job["optimizer"]["max_norm"])
    norm = None if job["mode"] == "forward" else reference.gradient_norm(gradients)
    times = [1000.0 * (job["warmup"] + 1)] * job["steps"]
    print(json.dumps({{"loss": loss * {scale}, "grad_norm": norm, "step_ms": times, "first_call_s": 1.5}}), flush=True)
"""


@pytest.fixture
def peer(tmp_path: Path):
    """Make an interpreter that runs the given program instead of its arguments."""

    def make(program: str) -> str:
        return make_python(tmp_path, program)

    return make


def run(peer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cs336-bench from the build that the tests run in."""
    command = ["cs336-bench", "model", *MODEL, "--peer-python", peer, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ)


def results(process: subprocess.CompletedProcess[str]) -> list[dict]:
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)["results"]


def test_values_agree_with_an_independent_model(peer) -> None:
    honest = peer(numpy_peer(HONEST, scale=1.0))
    rows = results(
        run(honest, "--mode", "forward,forward_backward,train", "--peer", "torch:eager,sdpa", "--format", "json")
    )
    assert [row["mode"] for row in rows] == ["forward", "forward_backward", "train"]
    for row in rows:
        for variant in ("eager", "sdpa"):
            difference = row[f"torch_{variant}_difference"]
            assert difference["loss"] < 1e-6
            assert (difference["grad_norm"] is None) == (row["mode"] == "forward")
            assert row["mode"] == "forward" or difference["grad_norm"] < 1e-5
            assert row[f"torch_{variant}_median_ms"] == 2000.0
            check_ratio(row, f"torch_{variant}_ratio", 2000.0 / row["median_ms"])


def test_the_peer_has_the_same_optimizer(peer, tmp_path: Path) -> None:
    log = f"    open({str(tmp_path / 'log')!r}, 'a').write(line)\n"
    honest = peer(numpy_peer(log + HONEST, scale=1.0))
    flags = [
        "--max-norm",
        "0.1",
        "--weight-decay",
        "0.9",
        "--lr-cosine-steps",
        "7",
        "--peer",
        "torch",
        "--format",
        "json",
    ]
    (row,) = results(run(honest, "--mode", "train", *flags))
    assert row["torch_eager_difference"]["grad_norm"] < 1e-5 and row["torch_eager_ratio_interval"]
    (job,) = (tmp_path / "log").read_text().splitlines()
    settings = {"max_norm": 0.1, "weight_decay": 0.9, "cosine_steps": 7, "warmup_steps": 0, "lr": 1e-3, "min_lr": 0}
    settings |= {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
    assert json.loads(job)["optimizer"] == settings
    other = run(honest, "--mode", "train", "--adamw-form", "cs336_2025", "--peer", "torch")
    assert other.returncode == 1 and "updates as torch.optim.AdamW does, and the model as cs336_2025" in other.stderr


def test_what_was_measured_before_an_error_is_printed(peer) -> None:
    """The peer answers one job and ends."""
    process = run(peer(numpy_peer(HONEST + "    break\n", scale=1.0)), "--mode", "forward,train", "--peer", "torch",
                  "--format", "json")  # fmt: skip
    assert process.returncode == 2
    rows = json.loads(process.stdout)["results"]
    assert [row["mode"] for row in rows] == ["forward", "train"]
    assert [row["torch_eager_median_ms"] for row in rows] == [2000.0, None]
    assert "ended without an answer" in process.stderr and "cells of --peer are missing" in process.stderr


def test_a_ladder_has_the_peer_in_the_type_at_its_top(peer, tmp_path: Path) -> None:
    log = f"    open({str(tmp_path / 'log')!r}, 'a').write(line)\n"
    flags = ["--ladder", "--dtype", "bf16", "--peer", "torch", "--format", "json"]
    rows = results(run(peer(numpy_peer(log + HONEST, scale=1.0)), *flags))
    assert [row["dtype"] for row in rows] == ["fp32"] * 3 + ["bf16"] * (len(rows) - 3)
    assert [row["torch_eager_median_ms"] for row in rows] == [None] * 3 + [2000.0] * (len(rows) - 3)
    assert [json.loads(line)["dtype"] for line in (tmp_path / "log").read_text().splitlines()] == ["bf16"]


def test_a_mismatch_prints_no_ratio(peer) -> None:
    wrong = peer(numpy_peer(HONEST, scale=1.01))
    (row,) = results(run(wrong, "--mode", "train", "--peer", "torch", "--format", "json"))
    assert row["torch_eager_ratio"] is None and row["torch_eager_difference"]["loss"] == pytest.approx(0.0099, rel=0.01)
    table = run(wrong, "--mode", "train", "--peer", "torch", "--format", "markdown")
    assert (
        "eager ratio" in table.stdout
        and " mismatch |" in table.stdout
        and "| 9.9e-03, " in re.sub(" +", " ", table.stdout)
    )


def test_lack_of_memory_is_a_cell(peer) -> None:
    process = run(
        peer('import sys\nfor line in sys.stdin: print(\'{"error": "out of memory"}\', flush=True)'), "--peer", "torch"
    )
    assert process.returncode == 0 and process.stdout.rstrip().endswith(" OOM")


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.stdin.readline()", "ended without an answer"),
        ("import a_library_that_is_not_there", "ended without an answer"),
        ("import sys; sys.stdin.readline(); print('torch is here')", "not answer with a JSON object: torch is here"),
        ("import sys; sys.stdin.readline(); print('{}')", "no step_ms or loss"),
    ],
)
def test_a_broken_peer_is_an_error(peer, program: str, message: str) -> None:
    process = run(peer(program), "--peer", "torch")
    assert process.returncode != 0 and message in process.stderr


def test_unknown_peers_and_interpreters_are_named(peer) -> None:
    assert "unknown --peer 'jax': expected torch, or torch:" in run("python3", "--peer", "jax").stderr
    assert "unknown --peer 'torch:fast': expected torch, or torch:" in run("python3", "--peer", "torch:fast").stderr
    assert "/nowhere/python cannot be started" in run("/nowhere/python", "--peer", "torch").stderr

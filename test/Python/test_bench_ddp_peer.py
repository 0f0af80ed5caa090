"""`cs336-bench ddp` and `allreduce` with `--peer torch` against peers without PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from fake_python import make_python
from numpy_peer import numpy_peer

MODEL = ["--d-model", "16", "--d-ff", "24", "--num-layers", "2", "--num-heads", "2", "--vocab-size", "31"]
MODEL += ["--context-length", "7", "--batch-size", "2", "--steps", "3", "--warmup", "1", "--no-profile"]

# Computes the mean over ranks with the NumPy model of these tests; `scale` is 1 for an honest peer.
HONEST = """\
    losses, means = [], {{}}
    for path in job["batches"]:
        batch = np.load(path)
        loss, gradients = reference.loss_and_gradients(parameters, batch["tokens"], batch["targets"], config)
        losses.append(loss)
        for name, gradient in gradients.items():
            means[name] = means.get(name, 0) + gradient / job["ranks"]
    assert len(losses) == job["ranks"]
    answer = {{"loss": np.mean(losses) * {scale}, "grad_norm": reference.gradient_norm(means)}}
    answer |= {{"step_ms": [1000.0 * job["ranks"]] * job["steps"], "first_call_s": 1.5}}
    print(json.dumps(answer), flush=True)
"""

# Answers a job of collectives; `wrong` is 0 for an honest peer.
COLLECTIVES = """
for line in sys.stdin:
    job = json.loads(line)
    answers = [{"wrong": WRONG, "times_ms": [1000.0] * job["steps"]} for case in job["cases"]]
    open(LOG, "a").write(line)
    print(json.dumps({"cases": answers}), flush=True)
"""

# Answers the question for packages as a Python without PyTorch.
NO_TORCH = """
import json, sys
print(json.dumps({"versions": {}, "missing": {"torch": "No module named 'torch'"}}))
sys.exit()
"""


@pytest.fixture
def peer(tmp_path: Path):
    """Make an interpreter that runs the given program instead of its arguments."""

    def make(program: str, **check: str) -> str:
        return make_python(tmp_path, program, **check)

    return make


def run(command: str, peer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cs336-bench from the build that the tests run in."""
    flags = [*MODEL, *arguments] if command == "ddp" else arguments
    line = ["cs336-bench", command, *flags, "--peer-python", peer, "--format", "json"]
    return subprocess.run(line, capture_output=True, text=True, env=os.environ)


def results(process: subprocess.CompletedProcess[str]) -> list[dict]:
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)["results"]


def test_values_of_all_ranks_agree_with_an_independent_model(peer) -> None:
    honest = peer(numpy_peer(HONEST, scale=1.0))
    rows = results(run("ddp", honest, "--distribute", "none,flat,zero1,fsdp", "--peer", "torch:ddp,zero,fsdp"))
    assert [(row["distribute"], row["ranks"]) for row in rows] == [
        ("none", 1),
        *[(f"torch {variant}", 1) for variant in ("ddp", "zero", "fsdp")],
        ("flat", 2),
        ("zero1", 2),
        ("fsdp", 2),
        *[(f"torch {variant}", 2) for variant in ("ddp", "zero", "fsdp")],
    ]
    assert {row["values"] for row in rows} == {"agree"}
    own = {row["distribute"]: row for row in rows if row["ranks"] == 2}
    for variant, mode in (("ddp", "flat"), ("zero", "zero1"), ("fsdp", "fsdp")):
        row = own[f"torch {variant}"]
        assert row["system"] == "torch" and row["compared_with"] == mode and row["median_ms"] == 2000.0
        assert row["first_loss"] == pytest.approx(own[mode]["first_loss"], rel=1e-5)
        assert row["first_grad_norm"] == pytest.approx(own[mode]["first_grad_norm"], rel=1e-4)
        # One rank took half as long.
        assert row["scaling_efficiency"] == 0.5


def test_a_mismatch_has_no_ratio(peer) -> None:
    wrong = peer(numpy_peer(HONEST, scale=1.01))
    *_, row = results(run("ddp", wrong, "--distribute", "none,flat", "--peer", "torch"))
    assert row["distribute"] == "torch ddp" and row["values"] == "modes differ"
    assert row["torch_over_cs336"] is None and row["scaling_efficiency"] is None


def test_a_peer_that_fails_leaves_our_rows(peer) -> None:
    process = run("ddp", peer("import sys; sys.stdin.readline()"), "--distribute", "none,flat", "--peer", "torch")
    assert process.returncode == 2 and "cells of --peer are missing" in process.stderr
    rows = json.loads(process.stdout)["results"]
    assert [row["distribute"] for row in rows] == ["none", "torch ddp", "flat", "torch ddp"]
    assert [row["mean_ms"] is None for row in rows] == [False, True, False, True]


@pytest.mark.parametrize("command", ["ddp", "allreduce"])
def test_without_pytorch_our_rows_are_measured(peer, command: str) -> None:
    flags = ["--distribute", "flat"] if command == "ddp" else ["--size", "1KiB", "--steps", "2"]
    process = run(command, peer("", check=NO_TORCH), *flags, "--peer", "torch")
    assert process.returncode == 2 and "No module named 'torch'" in process.stderr
    own, theirs = json.loads(process.stdout)["results"]
    key = "mean_ms" if command == "ddp" else "time_ms"
    assert own[key] > 0 and theirs[key] is None


def test_another_form_of_adamw_is_an_error(peer) -> None:
    process = run("ddp", peer(numpy_peer(HONEST, scale=1.0)), "--adamw-form", "cs336_2025", "--peer", "torch")
    assert process.returncode == 1 and "updates as torch.optim.AdamW does" in process.stderr


def collectives(log: Path, wrong: int) -> str:
    return COLLECTIVES.replace("WRONG", str(wrong)).replace("LOG", repr(str(log)))


def test_collectives_have_a_ratio(peer, tmp_path: Path) -> None:
    flags = ["--collective", "all_reduce,all_gather,reduce_scatter", "--op", "sum,mean", "--size", "1KiB,2KiB"]
    flags += ["--ranks", "2,3", "--backend", "tcp,threads", "--steps", "3", "--peer", "torch:plain,graph"]
    rows = results(run("allreduce", peer(collectives(tmp_path / "log", wrong=0)), *flags))
    theirs = [row for row in rows if row["backend"] == "torch plain gloo"]
    # gloo has no means and no reduce-scatters, and CPUs have no graphs.
    assert {(row["collective"], row["op"]) for row in theirs} == {("all_reduce", "sum"), ("all_gather", None)}
    assert {row["ranks"] for row in theirs} == {2, 3} and len(theirs) == 8
    assert {row["backend"] for row in rows} == {"tcp", "threads", "torch plain gloo"}
    for row in theirs:
        (own,) = (
            other
            for other in rows
            if other["backend"] == "tcp"
            and all(other[key] == row[key] for key in ("collective", "op", "ranks", "size_bytes"))
        )
        assert row["time_ms"] == 1000.0 and row["wrong"] == own["wrong"] == 0
        if row["torch_over_cs336"] is not None:  # Not hidden by noise.
            assert row["torch_over_cs336"] == pytest.approx(1000.0 / own["time_ms"], rel=1e-6)
    jobs = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(job["ranks"], job["device"], job["variant"]) for job in jobs] == [(2, "cpu", "plain"), (3, "cpu", "plain")]
    assert jobs[0]["cases"][0] == {"collective": "all_reduce", "dtype": "fp32", "op": "sum", "count": 256, "chain": 1}


def test_wrong_elements_have_no_ratio(peer, tmp_path: Path) -> None:
    flags = ["--size", "1KiB", "--steps", "3", "--peer", "torch"]
    own, theirs = results(run("allreduce", peer(collectives(tmp_path / "log", wrong=7)), *flags))
    assert own["torch_over_cs336"] is None
    assert theirs["wrong"] == 7 and theirs["torch_over_cs336"] is None

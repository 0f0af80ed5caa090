"""`cs336-bench attention --peer torch` against peers without PyTorch: an honest one, and ones that fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from device import DEVICE
from fake_python import make_python
from ratios import check_ratio

# Attention in NumPy, or only its scores, on the tensors that the tool wrote; `scale` is 1 for an honest peer.
HONEST = """
import json, sys
sys.path.insert(0, {folder!r})
import numpy as np
import numpy_attention
from safetensors.numpy import load_file, save_file

for line in sys.stdin:
    job = json.loads(line)
    tensors = {{name: value.astype(np.float64) for name, value in load_file(job["inputs"]).items()}}
    values = numpy_attention.compute(job, tensors)
    save_file({{name: np.ascontiguousarray(value * {scale}, np.float32) for name, value in values.items()}},
              job["values"])
    steps = job["steps"]
    print(json.dumps({{"forward_ms": [1000.0] * steps, "backward_ms": [2500.0] * steps}}), flush=True)
"""


@pytest.fixture
def peer(tmp_path: Path):
    """Make an interpreter that runs the given program instead of its arguments."""

    def make(program: str) -> str:
        return make_python(tmp_path, program)

    return make


def run(peer: str, *arguments: str, length: int = 11) -> subprocess.CompletedProcess[str]:
    """Run cs336-bench from the build that the tests run in."""
    command = ["cs336-bench", "attention", "--batch-size", "2", "--length", str(length), "--head-dim", "8"]
    command += ["--device", DEVICE]
    command += ["--steps", "3", "--warmup", "0", "--format", "json", "--peer-python", peer, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ)


def results(process: subprocess.CompletedProcess[str]) -> list[dict]:
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)["results"]


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("fusion", ["none", "elementwise", "softmax", "flash", "all"])
def test_values_agree_with_numpy(peer, heads: int, fusion: str) -> None:
    honest = peer(HONEST.format(folder=str(Path(__file__).parent), scale=1.0))
    arguments = ["--num-heads", str(heads), "--fusion", fusion, "--mask", "full,causal", "--peer", "torch:naive,sdpa"]
    rows = results(run(honest, *arguments))
    assert [row["mask"] for row in rows] == ["full", "causal"]
    for row in rows:
        for variant in ("naive", "sdpa"):
            difference = row[f"torch_{variant}_difference"]
            assert difference["output"] < 1e-6 and difference["gradient"] < 1e-5
            assert row[f"torch_{variant}_forward_ratio_interval"] is not None
            check_ratio(row, f"torch_{variant}_forward_ratio", 1000.0 / row["forward_median_ms"])
            # With so few numbers noise may hide the backward pass, which is a difference.
            check_ratio(row, f"torch_{variant}_backward_ratio", 2500.0 / (row["backward_median_ms"] or 1))


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("fusion", ["none", "all"])
def test_scores_alone_agree_with_numpy(peer, heads: int, fusion: str) -> None:
    honest = peer(HONEST.format(folder=str(Path(__file__).parent), scale=1.0))
    arguments = ["--num-heads", str(heads), "--fusion", fusion, "--mask", "full,causal", "--part", "scores,whole"]
    rows = results(run(honest, *arguments, "--peer", "torch:naive"))
    assert [row["part"] for row in rows] == ["scores", "whole"] * 2
    for row in rows:
        assert row["torch_naive_difference"]["output"] < 1e-6 and row["torch_naive_difference"]["gradient"] < 1e-5
    scores, whole = rows[:2]
    assert scores["forward_tflops"] * scores["forward_median_ms"] == pytest.approx(
        whole["forward_tflops"] * whole["forward_median_ms"] / 2
    )
    for variant in ("sdpa", "flash", "cudnn", "flex"):
        stderr = run(honest, *arguments, "--peer", f"torch:naive,{variant}").stderr
        assert f"--part scores conflicts with torch:{variant}, which computes whole attention" in stderr


SCORES = ["plain", "window:4", "cached:5", "alibi", "relative:3", "softcap:1.5", "documents:4"]


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize(
    ("dtype", "fusion", "part", "tolerance"),
    [("fp32", "none,all", "whole,scores", 1e-5), ("fp16", "all", "whole", 5e-3)],
)
def test_score_functions_agree_with_numpy(
    peer, heads: int, mask: str, dtype: str, fusion: str, part: str, tolerance: float
) -> None:
    honest = peer(HONEST.format(folder=str(Path(__file__).parent), scale=1.0))
    scores = [score for score in SCORES if mask == "causal" or not score.startswith(("window", "cached"))]
    arguments = ["--num-heads", str(heads), "--mask", mask, "--score", ",".join(scores), "--no-mfu"]
    arguments += ["--part", part, "--dtype", dtype, "--fusion", fusion, "--peer", "torch:naive"]
    rows = results(run(honest, *arguments, length=12))
    assert {row["score"] for row in rows} == set(scores)
    for row in rows:
        assert max(row["torch_naive_difference"].values()) < tolerance, (row["score"], row["part"], row["fusion"])


def test_rates_count_visible_pairs(peer) -> None:
    """Pairs are areas of the 12 x 12 square."""
    honest = peer(HONEST.format(folder=str(Path(__file__).parent), scale=1.0))
    arguments = ["--num-heads", "3", "--no-mfu", "--peer", "torch:naive"]
    causal = {
        "plain": 72,
        "alibi": 72,
        "softcap:2": 72,
        "window:4": 40,
        "window:50": 72,
        "cached:4": 64,
        "documents:3": 24,
    }
    full = {"plain": 144, "alibi": 144, "documents:3": 48}
    rows = results(run(honest, *arguments, "--mask", "causal", "--score", ",".join(causal), length=12))
    rows += results(run(honest, *arguments, "--mask", "full", "--score", ",".join(full), length=12))
    pairs = [*causal.values(), *full.values()]
    for row, expected in zip(rows, pairs, strict=True):
        flops = 4 * 2 * 3 * 8 * expected
        assert row["forward_tflops"] * row["forward_median_ms"] == pytest.approx(flops * 1e-9), row["score"]
        assert row["torch_naive_forward_tflops"] * 1000.0 == pytest.approx(flops * 1e-9)
        assert row["torch_naive_backward_tflops"] * 2500.0 == pytest.approx(2.5 * flops * 1e-9)


def test_the_peer_gets_the_state_of_a_score_function(peer, tmp_path: Path) -> None:
    program = HONEST.format(folder=str(Path(__file__).parent), scale=1.0)
    check = """
    name, expected = {"alibi": ("slopes", numpy_attention.make_slopes(3)),
                      "relative": ("biases", numpy_attention.make_biases(3, 5)),
                      "documents": ("documents", numpy_attention.make_documents(2, 12, 4))}[job["score"]]
    np.testing.assert_allclose(tensors[name], expected, rtol=1e-6)
    values ="""
    arguments = ["--num-heads", "3", "--score", "alibi,relative:5,documents:4", "--peer", "torch"]
    assert len(results(run(peer(program.replace("\n    values =", check)), *arguments, length=12))) == 3


def test_a_mismatch_prints_no_ratio(peer) -> None:
    wrong = peer(HONEST.format(folder=str(Path(__file__).parent), scale=1.01))
    (row,) = results(run(wrong, "--peer", "torch"))
    assert row["torch_naive_forward_ratio"] is None and row["torch_naive_backward_ratio"] is None
    assert row["torch_naive_difference"]["output"] == pytest.approx(0.0099, rel=0.01)


def test_lack_of_memory_is_a_cell(peer) -> None:
    program = 'import sys\nfor line in sys.stdin: print(\'{"error": "out of memory"}\', flush=True)'
    (row,) = results(run(peer(program), "--peer", "torch:sdpa"))
    assert row["torch_sdpa_forward_median_ms"] is None and row["status"] == "ok"


def test_a_backend_without_a_kernel_is_a_cell_beside_others(peer) -> None:
    program = HONEST.format(folder=str(Path(__file__).parent), scale=1.0)
    refusing = program.replace(
        "    job = json.loads(line)",
        """    job = json.loads(line)
    if job["variant"] == "cudnn":
        print('{"unsupported": "no kernel for float32"}', flush=True)
        continue""",
    )
    variants = ["naive", "flash", "cudnn", "flex"]
    arguments = ["--peer", f"torch:{','.join(variants)}", "--no-mfu"]
    (row,) = results(run(peer(refusing), *arguments))
    assert [row[f"torch_{variant}_forward_median_ms"] for variant in variants] == [1000.0, 1000.0, None, 1000.0]
    assert row["torch_flex_forward_tflops"] == pytest.approx(row["forward_tflops"] * row["forward_median_ms"] / 1000.0)
    assert row["forward_mfu"] is None
    table = run(peer(refusing), *arguments, "--format", "markdown").stdout
    assert "unsupported: PyTorch: no kernel for float32" in table


# The modules that an old PyTorch has, as far as the peer imports them.
OLD_PYTORCH = {
    "torch/__init__.py": "__version__ = '2.4.1'\nclass Tensor: pass\ndef compile(function): return function\n",
    "torch/nn/__init__.py": "",
    "torch/nn/functional.py": "",
    "torch/nn/attention.py": "class SDPBackend: FLASH_ATTENTION = 1\ndef sdpa_kernel(backend): pass\n",
    "safetensors/__init__.py": "",
    "safetensors/torch.py": "def load_file(): pass\ndef save_file(): pass\n",
}


@pytest.fixture
def old_pytorch(tmp_path: Path):
    """Return the reasons why an old PyTorch does not support variants with a score function."""

    def choose(form: str) -> list[str]:
        for name, text in OLD_PYTORCH.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        program = f"""
import answer_jobs, torch_attention
for variant in ("naive", "compiled", "sdpa", "flash", "cudnn", "flex"):
    try:
        torch_attention.choose(variant, "whole", {form!r})
    except answer_jobs.UnsupportedError as error:
        print(error)
"""
        peers = Path(__file__).parents[2] / "benchmarks/peers"
        environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{peers}", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", program]
        output = subprocess.run(command, env=environment, text=True, check=True, capture_output=True)
        return output.stdout.splitlines()

    return choose


def test_an_old_pytorch_lacks_only_its_missing_variants(old_pytorch) -> None:
    assert old_pytorch("plain") == [
        "PyTorch 2.4.1 has no backend cudnn",
        "flex requires PyTorch 2.5 or later, this is 2.4.1",
    ]


def test_score_functions_need_variants_that_support_them(old_pytorch) -> None:
    assert old_pytorch("alibi") == [
        "sdpa has no score functions: variants naive, compiled and flex do",
        "flash has no score functions: variants naive, compiled and flex do",
        "cudnn has no score functions: variants naive, compiled and flex do",
        "flex requires PyTorch 2.5 or later, this is 2.4.1",
    ]


def test_the_rate_is_a_share_of_the_peak(peer) -> None:
    honest = peer(HONEST.format(folder=str(Path(__file__).parent), scale=1.0))
    (row,) = results(run(honest, "--peer", "torch"))
    assert row["forward_mfu"] == pytest.approx(row["forward_tflops"] / row["peak_tflops"])
    assert row["forward_mfu"] > 0


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.stdin.readline()", "ended without an answer"),
        ("import sys; sys.stdin.readline(); print('{}')", "no forward_ms or backward_ms"),
        ('import sys; sys.stdin.readline(); print(\'{"forward_ms": [1], "backward_ms": [1]}\')', "values.safetensors"),
    ],
)
def test_a_broken_peer_is_an_error(peer, program: str, message: str) -> None:
    process = run(peer(program), "--peer", "torch")
    assert process.returncode != 0 and message in process.stderr


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_a_ladder_has_the_peer_in_the_type_at_its_top(peer, tmp_path: Path, dtype: str) -> None:
    program = f"""
import json, sys
for line in sys.stdin:
    open({str(tmp_path / "log")!r}, "a").write(json.loads(line)["dtype"] + " ")
    print('{{"error": "out of memory"}}', flush=True)
"""
    rows = results(run(peer(program), "--ladder", "--dtype", dtype, "--peer", "torch"))
    assert {row["dtype"] for row in rows} == {"fp32", dtype}
    assert (tmp_path / "log").read_text() == f"{dtype} "


def test_a_case_is_measured_once_for_all_levels(peer, tmp_path: Path) -> None:
    """Each level's values are compared with those of one measurement."""
    program = HONEST.format(folder=str(Path(__file__).parent), scale=1.0)
    counted = program.replace("    job =", f"    open({str(tmp_path / 'log')!r}, 'a').write(line)\n    job =")
    arguments = ["--fusion", "none,all", "--mask", "full,causal", "--peer", "torch:naive,sdpa"]
    rows = results(run(peer(counted), *arguments))
    assert len(rows) == 4 and all(row["torch_sdpa_difference"]["gradient"] < 1e-5 for row in rows)
    assert len((tmp_path / "log").read_text().splitlines()) == 4

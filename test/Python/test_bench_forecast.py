"""`cs336-bench` announces the work of a sweep before it starts: exact cells, planned memory, and a time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time

import pytest

# The factor that the announced memory and the sessions' own may differ by; alignment, and layers that are not alike.
MEMORY_FACTOR = 1.1

MODEL = ["model", "--d-model", "32", "--d-ff", "64", "--num-heads", "2", "--vocab-size", "100", "--no-mfu"]
SWEEPS = {
    "model": [*MODEL, "--num-layers", "2", "--context-length", "16,64", "--mode", "forward,train", "--fusion",
              "none", "--warmup", "0,1", "--steps", "1"],
    "deep": [*MODEL, "--num-layers", "9", "--context-length", "64", "--mode", "forward_backward", "--fusion", "none",
             "--steps", "1", "--warmup", "0"],
    "ladder": [*MODEL, "--num-layers", "4", "--context-length", "16", "--mode", "loss", "--ladder", "--dtype", "bf16",
               "--steps", "1", "--warmup", "0"],
    "attention": ["attention", "--batch-size", "2", "--length", "16,64", "--head-dim", "8", "--fusion", "none,all",
                  "--steps", "1", "--warmup", "0"],
}  # fmt: skip
STUDIES = ["benchmarking_script", "pytorch_attention", "torch_compile"]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cs336-bench from the build that the tests run in."""
    return subprocess.run(["cs336-bench", *arguments], capture_output=True, text=True, env=os.environ, timeout=60)


@pytest.mark.parametrize("name", SWEEPS)
def test_cells_are_exact_and_memory_is_close(name: str) -> None:
    process = bench(*SWEEPS[name], "--format", "json")
    rows = json.loads(process.stdout)["results"]
    forecast = json.loads(bench(*SWEEPS[name], "--forecast").stdout)
    assert forecast["cells"] == len(rows)
    largest = max(row["memory_mib" if "memory_mib" in row else "backward_peak_mib"] for row in rows) * 2**20
    assert largest / MEMORY_FACTOR <= forecast["memory_bytes"] <= largest * MEMORY_FACTOR
    assert 0 < forecast["seconds"] < 600
    # The same before the first cell, on the standard error stream.
    before = process.stderr[: process.stderr.index("[1/")]
    assert re.match(rf"{len(rows)} cells?, [\d.]+ [KMG]iB for the largest, about \d+ s\n", before)
    assert f"  memory: the plan of {forecast['largest']}\n  time: " in before


def test_searches_of_plans_take_ten_times_as_long() -> None:
    command = ["plan", "--size", "tiny,small", "--mode", "forward,train", "--dtype", "fp32,bf16"]
    forecasts = {
        flags: json.loads(bench(*command, "--forecast", *flags).stdout)
        for flags in ((), ("--memory-limit", "1MiB"), ("--memory-budget", "1GiB"), ("--best-checkpoint",))
    }
    assert [forecast["cells"] for forecast in forecasts.values()] == [8, 8, 8, 4 * 3 + 4 * 4]
    assert all(forecast["memory_bytes"] is None for forecast in forecasts.values())
    plain, *searches = (forecast["seconds"] for forecast in forecasts.values())
    # As many models of 2 layers as of 12: (2 * 3 + 12 * 13) / (2 + 12).
    assert [seconds / plain for seconds in searches] == pytest.approx([10, 10, 162 / 14])


def test_plans_of_a_study_are_forecast() -> None:
    text = bench("study", "memory_profiling", "--help").stdout
    # Planning takes no device, so the grid is the same on every device.
    (of_cpus,) = re.findall(r"^the CPU +(.*)$", text, re.MULTILINE)
    (of_gpus,) = re.findall(r"^a GPU +(.*)$", text, re.MULTILINE)
    assert of_cpus == of_gpus
    assert re.fullmatch(r"14 cells, about [23]\d s.*", of_gpus)
    assert "a few seconds" not in text


def test_the_largest_models_are_forecast_quickly() -> None:
    """No cell is compiled, and no GPU is needed."""
    start = time.monotonic()
    process = bench("model", "--size", "small,2.7B,10B", "--context-length", "512,2048", "--mode", "forward,train",
                    "--fusion", "none,all", "--device", "cuda", "--forecast")  # fmt: skip
    forecast = json.loads(process.stdout)
    assert time.monotonic() - start < 20
    assert forecast["cells"] == 24 and forecast["memory_bytes"] > 150 * 2**30
    assert forecast["largest"] == "10B, batch 4, context 2048, fp32, unfused, train"
    assert forecast["seconds"] or forecast["time_basis"].startswith("unknown: ")


def test_the_deepest_plan_is_the_whole_models() -> None:
    """The memory of twelve layers, computed from three, equals that of `plan`."""
    model = ["--size", "small", "--mode", "train", "--fusion", "none"]
    planned = json.loads(bench("plan", *model, "--format", "json").stdout)["results"][0]["total_mib"] * 2**20
    forecast = json.loads(bench("model", *model, "--forecast").stdout)["memory_bytes"]
    assert forecast == pytest.approx(planned, rel=0.01)


def test_a_forecast_starts_no_peer_and_reports_errors() -> None:
    attention = ["attention", "--length", "8", "--head-dim", "4", "--forecast"]
    assert bench(*attention, "--peer", "torch", "--peer-python", "/nowhere/python").returncode == 0
    assert "--steps is 0, must be positive" in bench(*attention, "--steps", "0").stderr
    mixed = bench("model", "--size", "tiny", "--build-dtype", "f64", "--dtype", "bf16", "--forecast")
    assert mixed.returncode == 1 and "--dtype bf16 has no effect with --build-dtype f64" in mixed.stderr


def test_the_forecast_of_a_study_adds_up_its_commands() -> None:
    """Three of five commands have forecasts: dtypes and norm-error have no cells to time."""
    flags = ["--size", "tiny", "--num-layers", "1", "--batch-size", "1", "--context_length", "8", "--num-heads", "2"]
    process = bench("study", "benchmarking_mixed_precision", "--forecast", *flags)
    forecast = json.loads(process.stdout)
    assert forecast["cells"] == 2 * 4 + 4 + 2 and "$ cs336-bench" not in process.stderr


@pytest.mark.parametrize("study", STUDIES)
def test_the_grid_of_the_cpu_fits_a_laptop(study: str) -> None:
    process = bench("study", study, "--help")
    assert process.returncode == 0
    small, large = (re.search(rf"^{device} +(\d+) cells, ([\d.]+) (MiB|GiB) for the largest", process.stdout, re.M)
                    for device in ("the CPU", "a GPU"))  # fmt: skip
    assert int(small[1]) < int(large[1])
    assert small[3] == "MiB" or float(small[2]) <= 4
    assert "assignment 2 (systems) of Stanford's CS336" in " ".join(process.stdout.split())
    for part in ("on the CPU", "on a GPU, or --full", "all flags: cs336-bench ", "\ncolumns: "):
        assert part in process.stdout
    assert max(map(len, process.stdout.splitlines())) <= 120

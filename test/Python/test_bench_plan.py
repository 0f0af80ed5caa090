"""`cs336-bench plan` agrees with the executable that it does not create, and with counts by hand."""

from __future__ import annotations

import json
import os
import subprocess

import cs336
import pytest

CONFIG = cs336.TransformerConfig(32, 48, 3, 2, vocab_size=37, context_length=12, batch_size=2)
FLAGS = ["--d-model", "32", "--d-ff", "48", "--num-layers", "3", "--num-heads", "2", "--vocab-size", "37"]
FLAGS += ["--context-length", "12", "--batch-size", "2"]
MIB = 2**20


def plan(*arguments: str) -> dict:
    """Return the row of cs336-bench from the build that the tests run in."""
    command = ["cs336-bench", "plan", *FLAGS, "--format", "json", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr
    (row,) = json.loads(process.stdout)["results"]
    return row


@pytest.mark.parametrize("mode", ["forward", "loss", "forward_backward", "train"])
@pytest.mark.parametrize(("dtype", "fusion"), [("fp32", "none"), ("bf16", "all")])
def test_is_what_the_executable_says(mode: str, dtype: str, fusion: str) -> None:
    row = plan("--mode", mode, "--dtype", dtype, "--fusion", fusion)
    executable = cs336.compile(cs336.build(CONFIG, mode), dtype=dtype, fusion=fusion)
    expected = executable.plan(mode, largest=1)
    plans = [executable.plan(entry) for entry in executable.entries]
    assert row["parameters_mib"] * MIB == expected.parameter_bytes
    assert row["state_mib"] * MIB == expected.state_bytes
    assert row["derived_mib"] * MIB == expected.derived_bytes
    assert row["arena_mib"] * MIB == max(plan.arena_bytes for plan in plans)
    # The gaps behind variables and inputs count as inputs.
    assert row["inputs_mib"] * MIB > sum(plan.input_bytes for plan in plans)
    memory = cs336.Session(executable).memory()
    assert row["total_mib"] * MIB == memory["allocated_bytes"] - memory["workspace_bytes"]
    assert (row["commands"], row["distinct_kernels"]) == (expected.commands, expected.kernels)
    assert row["largest_buffers"][0]["bytes"] == expected.largest[0][2]


def test_phases_add_up_and_peaks_are_what_is_live() -> None:
    # If a loss and its gradient share a kernel, forward does not end before backward begins.
    row = plan("--mode", "train", "--fusion", "none", "--largest", "100000")
    phases = {phase["phase"]: phase for phase in row["phases"]}
    assert list(phases) == ["forward", "backward", "optimizer"]
    for key in ("commands", "gflop", "gigabytes"):
        assert sum(phase[key] for phase in row["phases"]) == pytest.approx(row[key])
    assert sum(kernel["runs"] for kernel in row["kernels"]) == sum(phase["kernels"] for phase in row["phases"])
    assert row["layers"] == 3
    assert row["commands_per_layer"] == pytest.approx(sum(phase["commands_per_layer"] for phase in row["phases"]))
    resident = row["parameters_mib"] + row["state_mib"] + row["derived_mib"] + row["inputs_mib"]
    for phase in row["phases"]:
        assert phase["peak_mib"] == pytest.approx(resident + phase["live_mib"])
        assert phase["held_mib"] <= phase["live_mib"] <= row["arena_mib"]
    assert phases["forward"]["held_mib"] == 0 < phases["backward"]["held_mib"]
    # When backward begins, exactly the values of forward that it reads are held.
    kept = [b for b in row["largest_buffers"] if b["from_phase"] == "forward" and b["to_phase"] != "forward"]
    assert phases["backward"]["held_mib"] * MIB == sum(buffer["bytes"] for buffer in kept)


@pytest.mark.parametrize("limits", [["--largest", "5"], ["--largest", "1000000"], ["--detail", "2KiB"], []])
@pytest.mark.parametrize(
    "variant",
    [
        ["--mode", "train"],
        ["--mode", "forward", "--dtype", "bf16", "--device", "cuda"],
        ["--mode", "train", "--ranks", "2", "--distribute", "fsdp"],
    ],
)
def test_buffers_at_the_peak_add_up_to_it(variant: list[str], limits: list[str]) -> None:
    row = plan(*variant, *limits)
    *buffers, whole = row["peak_buffers"]
    peak = max(phase["peak_mib"] for phase in row["phases"]) * MIB
    assert whole["kind"] == "all" and whole["together_bytes"] == peak
    assert sum(buffer["together_bytes"] for buffer in buffers) == peak
    assert sum(buffer["count"] for buffer in buffers) == whole["count"]
    listed = [buffer for buffer in buffers if buffer["kind"] != "other"]
    assert len(listed) <= (int(limits[1]) if "--largest" in limits else 10)
    sizes = [buffer["bytes"] for buffer in listed]
    assert sizes == sorted(sizes, reverse=True)
    if "--detail" in limits:
        assert sizes[-1] >= 2048
    if "1000000" not in limits:
        return
    # The sums by kind are those of the phase with the largest peak.
    top = max(row["phases"], key=lambda phase: phase["peak_mib"])["phase"]
    for kind in row["peaks"]:
        if kind["kind"] != "all":
            of_kind = sum(buffer["bytes"] for buffer in listed if buffer["kind"] == kind["kind"])
            assert of_kind == kind[f"{top}_mib"] * MIB
    # Memory that a session reserves beside values has no place in the program.
    beside = {"inputs of the next runs", "alignment of variables and inputs"}
    assert all(buffer["source"] and buffer["type"] for buffer in listed)
    assert all(bool(buffer["location"]) != (buffer["source"] in beside) for buffer in listed)
    (weight,) = [buffer for buffer in listed if buffer["source"] == "layers.1.ln1.weight"]
    assert (weight["layer"], weight["from_phase"]) == ("layers.1", None)


@pytest.mark.parametrize("table_format", ["markdown", "csv"])
def test_the_parts_of_a_table_add_up_to_the_total(table_format: str) -> None:
    command = ["cs336-bench", "plan", "--size", "small", "--context-length", "128,1024", "--batch-size", "32"]
    command += ["--dtype", "fp32,bf16", "--mode", "forward,train", "--device", "cuda", "--format", table_format]
    printed = subprocess.run([*command, "--memory-tables"], capture_output=True, text=True, check=True).stdout
    separator = "|" if table_format == "markdown" else ","
    tables = [block.splitlines() for block in printed.split("\n\n") if f"{separator}" in block]

    def read(table: list[str]) -> list[dict[str, str]]:
        rows = [[cell.strip() for cell in line.split(separator)] for line in table]
        return [dict(zip(rows[0], row, strict=True)) for row in rows[1:] if "---" not in row[1]]

    (whole, peaks) = (
        read(next(table for table in tables if any(name in table[0] for name in names)))
        for names in (("total (MiB)", "total_mib"), ("peak (MiB)", "peak_mib"))
    )
    names = {"markdown": "{} (MiB)", "csv": "{}_mib"}[table_format]
    keys = ["params", "state", "derived", "inputs", "arena"]
    kinds = ["params", "state", "derived", "gradients", "activations", "other"]
    for rows, parts, total in ((whole, keys, "total"), (peaks, kinds, "peak")):
        if table_format == "csv":
            parts = ["parameters", *parts[1:]]
        assert rows
        for row in rows:
            sum_of_parts = sum(float(row[names.format(part)]) for part in parts)
            # Each printed value is rounded to 0.1.
            assert sum_of_parts == pytest.approx(float(row[names.format(total)]), abs=0.31)


def test_work_of_the_forward_pass_by_hand() -> None:
    row = plan("--mode", "forward", "--fusion", "none", "--pipeline-options", "merge-gemms=false")
    (phase,) = row["phases"]
    assert phase["gemms"] == 3 * (4 + 2 + 3) + 1
    tokens, weights = 2 * 12, 3 * (4 * 32 * 32 + 3 * 32 * 48) + 37 * 32
    gemm_flop = 2 * tokens * weights + 3 * 2 * 2 * tokens * 12 * 32
    assert gemm_flop < row["gflop"] * 1e9 < 1.2 * gemm_flop
    # At least every weight is read, and every activation between two operations is written and read.
    assert row["gigabytes"] * 1e9 > 4 * (weights + 2 * tokens * 32 * 3 * 10)


def test_the_smallest_recomputation_that_fits() -> None:
    kept = plan("--mode", "train", "--num-layers", "6", "--context-length", "64")["total_mib"]
    totals = [
        plan("--mode", "train", "--num-layers", "6", "--context-length", "64", "--checkpoint", str(n))["total_mib"]
        for n in range(1, 7)
    ]
    arguments = ["--mode", "train", "--num-layers", "6", "--context-length", "64", "--memory-limit"]
    assert min(totals) < kept
    row = plan(*arguments, f"{(min(totals) + kept) / 2:f}MiB")
    ways = {way["flags"]: way["total_mib"] for way in row["ways_to_fit"]}
    first = next(n for n, total in enumerate(totals, 1) if total <= (min(totals) + kept) / 2)
    assert ways[f"--checkpoint {first}"] == totals[first - 1] and row["least_recomputation"] is None
    # No checkpoint fits into this limit: the closest one is proposed.
    row = plan(*arguments, f"{min(totals) - 0.01:f}MiB")
    assert not any("--checkpoint" in way["flags"] for way in row["ways_to_fit"])
    least = row["least_recomputation"]
    assert (least["flags"], least["total_mib"]) == (f"--checkpoint {totals.index(min(totals)) + 1}", min(totals))
    assert least["predicted_us_per_token"] > 0
    # Without a backward pass there is nothing to recompute.
    row = plan("--mode", "forward", "--memory-limit", "0.1MiB")
    assert row["fits"] is False and row["least_recomputation"] is None


def test_less_memory_in_lower_types_and_no_fewer_ways_to_fit() -> None:
    # Fused, the low type would also keep derived weights.
    forward = ["--mode", "forward", "--fusion", "none"]
    wide, low = plan(*forward), plan(*forward, "--dtype", "bf16")
    assert low["total_mib"] < wide["total_mib"]
    limit = (wide["total_mib"] + low["total_mib"]) / 2
    row = plan(*forward, "--memory-limit", f"{limit:f}MiB")
    assert row["fits"] is False
    ways = {way["flags"]: way["total_mib"] for way in row["ways_to_fit"]}
    assert ways["--dtype bf16"] == low["total_mib"]
    assert all(total <= limit for total in ways.values())
    (batch,) = [flags for flags in ways if flags.startswith("--batch-size")]
    assert ways[batch] == plan(*forward, *batch.split())["total_mib"]


def test_a_hopeless_limit_names_the_least_of_one_token() -> None:
    """If no step of one token fits, the other changes are not planned: they could not fit either."""
    base = ["--mode", "train", "--batch-size", "64", "--context-length", "64", "--fusion", "none", "--dtype", "fp32"]
    changes = [
        "--batch-size 1 --context-length 1" + types + fusion
        for types in ("", " --dtype bf16")
        for fusion in ("", " --fusion all")
    ]
    totals = {}
    for flags in changes:
        own = [*flags.split(), *(() if "--dtype" in flags else ("--dtype", "fp32"))]
        own += () if "--fusion" in flags else ("--fusion", "none")
        totals[flags] = plan("--mode", "train", *own)["total_mib"]
    row = plan(*base, "--memory-limit", f"{0.9 * min(totals.values()):f}MiB")
    least = row["least_planned"]
    assert (least["flags"], least["total_mib"]) == min(totals.items(), key=lambda item: item[1])
    assert row["least_recomputation"] is None
    assert all(way["ranks"] > 1 for way in row["ways_to_fit"])


@pytest.mark.parametrize("flag", ["--batch-size", "--context-length"])
def test_the_largest_size_that_fits_is_exact_and_monotone(flag: str) -> None:
    base = ["--mode", "train", "--batch-size", "24", "--context-length", "40"]
    whole = plan(*base)["total_mib"]
    least = plan(*base, flag, "1")["total_mib"]
    answers = []
    for share in (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
        limit = least + share * (whole - least)
        ways = plan(*base, "--memory-limit", f"{limit:f}MiB")["ways_to_fit"]
        (way,) = [way for way in ways if way["flags"].startswith(flag)]
        answers.append(int(way["flags"].split()[1]))
        fitting = plan(*base, flag, str(answers[-1]))
        assert fitting["total_mib"] == way["total_mib"] <= limit
        assert plan(*base, flag, str(answers[-1] + 1))["total_mib"] > limit
    assert answers == sorted(answers) and len(set(answers)) > 3


def test_recomputation_is_exact_and_monotone_and_costs_time() -> None:
    base = ["--mode", "train", "--num-layers", "8", "--context-length", "64", "--device", "cuda"]
    kept = plan(*base)
    totals = [plan(*base, "--checkpoint", str(n))["total_mib"] for n in range(1, 9)]
    answers = []
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 0.99):
        limit = min(totals) + share * (kept["total_mib"] - min(totals)) + 0.001
        ways = plan(*base, "--memory-limit", f"{limit:f}MiB")["ways_to_fit"]
        (way,) = [way for way in ways if way["flags"].startswith("--checkpoint")]
        answers.append(int(way["flags"].split()[1]))
        assert totals[answers[-1] - 1] <= limit
        assert answers[-1] == 1 or totals[answers[-1] - 2] > limit
        assert way["predicted_us_per_token"] * 2 * 64 > kept["predicted_ms"] * 1e3
    assert answers == sorted(answers, reverse=True)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_with_parts_of_parameters(ranks: int) -> None:
    """A rank has 1/N of parameters and state, but for vectors; `fsdp` gathers them for two layers at a time."""
    shape = ["--mode", "train", "--d-model", "256", "--d-ff", "1024", "--num-layers", "12", "--vocab-size", "64"]
    alone = plan(*shape)
    assert alone["ranks"] is None
    rows = {mode: plan(*shape, "--ranks", str(ranks), "--distribute", mode) for mode in ("bucket", "zero1", "fsdp")}
    for mode, row in rows.items():
        assert (row["ranks"], row["distribute"]) == (ranks, mode)
        parts = 1 if mode == "bucket" else ranks
        for key in ("parameters_mib", "state_mib"):
            assert row[key] == pytest.approx(alone[key] / parts, rel=0.02)
        exchange = next(phase for phase in row["phases"] if phase["phase"] == "communication")
        assert exchange["gigabytes"] > 0
    assert rows["fsdp"]["arena_mib"] < rows["zero1"]["arena_mib"]
    gathered = {
        mode: row["phases"][[p["phase"] for p in row["phases"]].index("communication")] for mode, row in rows.items()
    }
    assert gathered["fsdp"]["gigabytes"] > gathered["zero1"]["gigabytes"] > gathered["bucket"]["gigabytes"]

"""The JSON of commands of `cs336-bench` that run on a CPU conforms to docs/Results.schema.json."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from results_schema import ROOT, SCHEMA, bench, check_columns, validate

jsonschema = pytest.importorskip("jsonschema")

MODEL = ["--size", "tiny", "--num-layers", "1", "--context-length", "8", "--vocab-size", "50", "--batch-size", "2"]
STEPS = ["--steps", "2", "--warmup", "0"]
ATTENTION = ["--batch-size", "1", "--length", "8,12", "--head-dim", "8", *STEPS]

COMMANDS = {
    "model": ["model", *MODEL, *STEPS, "--mode", "forward,train", "--dtype", "fp32,bf16"],
    "model, profile": ["model", *MODEL, *STEPS, "--profile", "--no-mfu", "--mode", "train"],
    "model, roofline": ["model", *MODEL, *STEPS, "--profile", "--roofline", "--no-mfu", "--mode", "train"],
    "model, checkpoints": ["model", *MODEL, *STEPS, "--no-mfu", "--mode", "train", "--checkpoint", "0,1,2"],
    "attention": ["attention", *ATTENTION, "--fusion", "none,all"],
    "allreduce": ["allreduce", "--backend", "threads", "--ranks", "2,3", "--size", "1000", "--steps", "2"],
    "ddp": ["ddp", *MODEL, *STEPS, "--distribute", "none,flat,bucket,fsdp", "--bucket-mib", "0.1,25"],
    "plan": ["plan", *MODEL, "--memory-limit", "2MiB"],
    "plan, checkpoints": ["plan", *MODEL, "--mode", "train", "--checkpoint", "0,1,2"],
    "explain": ["explain", *MODEL, "--mode", "train", "--compile-time"],
    "plan, ranks": ["plan", *MODEL, "--ranks", "2", "--distribute", "zero1"],
    "scaling": ["scaling", "--size", "2.7B", "--ranks", "8,64", "--dtype", "fp32,bf16"],
    "scaling, all-reduce": ["scaling", "--part", "all-reduce", "--buffer", "1MB", "--ranks", "8,12"],
    "accumulate": ["accumulate", "--count", "10"],
    "dtypes": ["dtypes"],
    "norm-error": ["norm-error", "--rows", "4"],
    "doctor": ["doctor"],
    "study, one command": ["study", "mixed_precision_accumulation"],
    "study, two commands": [
        *["study", "torch_compile", *MODEL[:4], "--context_length", "8", "--vocab-size", "50", "--batch-size", "1"],
        *["--head-dim", "8", "--mode", "forward", *STEPS, "--no-mfu", "--peer="],
    ],
}


def settings(document: dict[str, Any]) -> list[tuple[object, ...]]:
    """Return the settings of each row."""
    keys = [column["key"] for column in document["columns"] if column["role"] == "setting"]
    return [tuple(row[key] for key in keys) for row in document["results"]]


@pytest.mark.parametrize("name", COMMANDS)
def test_results_conform(name: str) -> None:
    output = bench(*COMMANDS[name])
    validate(output)
    documents = output if isinstance(output, list) else [output]
    assert len(documents) == (2 if "two" in name else 1)
    for document in documents:
        check_columns(document)
        assert len(set(settings(document))) == len(document["results"])


def test_every_command_that_measures_names_its_steps() -> None:
    samples = {
        name: {column["key"]: column["samples"] for column in bench(*COMMANDS[name])["columns"] if "samples" in column}
        for name in ("model", "attention", "allreduce", "ddp")
    }
    assert samples == {
        "model": {"mean_ms": ["step_ms"], "median_ms": ["step_ms"], "event_ms": ["event_step_ms"]},
        "attention": {
            "forward_median_ms": ["forward_step_ms"],
            "forward_mean_ms": ["forward_step_ms"],
            "backward_median_ms": ["forward_backward_step_ms", "loss_step_ms"],
            "backward_mean_ms": ["forward_backward_step_ms", "loss_step_ms"],
            "both_median_ms": ["forward_backward_step_ms"],
        },
        "allreduce": {"time_ms": ["times_ms"]},
        "ddp": {"mean_ms": ["step_ms"], "median_ms": ["step_ms"], "event_ms": ["event_step_ms"]},
    }


@pytest.mark.parametrize("name", ["model", "plan"])
def test_consequences_of_flags_are_no_settings(name: str) -> None:
    roles = {column["key"]: column["role"] for column in bench(*COMMANDS[name])["columns"]}
    assert roles["recomputed_percent"] == "result" and roles.get("steps", "result") == "result"
    assert roles["ladder"] == roles["batch_size"] == "setting"


def test_recomputations_are_compared_with_themselves(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(bench(*COMMANDS["model, checkpoints"])))
    rows = bench("compare", str(path), str(path))["results"]
    assert [row["checkpoint"] for row in rows if row["time"] == "median_ms"] == [0, 1, 2]
    assert all(row["before"] == row["after"] for row in rows)


def test_selected_columns_and_comparisons_conform(tmp_path: Path) -> None:
    selected = bench(*COMMANDS["plan"], "--columns", "size,total_mib")
    validate(selected)
    check_columns(selected)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(bench(*COMMANDS["model"])))
    comparison = bench("compare", str(path), str(path))
    validate(comparison)
    check_columns(comparison)
    assert comparison["before"] == comparison["after"] == str(path)


def test_the_producer_is_the_program_itself() -> None:
    version = subprocess.run(["cs336-bench", "--version"], capture_output=True, text=True, env=os.environ).stdout
    producer = bench(*COMMANDS["accumulate"])["producer"]
    assert f"cs336-opt {producer['version']}\n" in version and f"commit: {producer['commit']}\n" in version


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "others.results"),
        (("version",), 1),
        (("producer",), {"version": "0.1.0"}),
        (("device", "kind"), "abacus"),
        (("columns", 0, "role"), "answer"),
        (("columns", 0, "unit"), "furlong"),
        (("results",), [1]),
    ],
)
def test_the_schema_rejects_other_documents(path: tuple[str | int, ...], value: object) -> None:
    document = copy.deepcopy(bench(*COMMANDS["accumulate"]))
    validate(document)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


def measure_profiles(name: str) -> dict[str, Any]:
    """Return the members of the only row that hold profiles."""
    (row,) = bench(*COMMANDS[name])["results"]
    return {key: row[key] for key in SCHEMA["$defs"]["row"]["properties"]}


def test_a_row_has_the_profiles_by_every_key() -> None:
    text = subprocess.run(["cs336-bench", "model", "--help"], capture_output=True, text=True, env=os.environ).stdout
    help_of_flag = re.search(r"--profile-by=.*\n((?: +=.*\n)+)", text)
    assert help_of_flag is not None
    keys = re.findall(r"^ +=([a-z-]+) ", help_of_flag[1], re.MULTILINE)
    assert {"kernel", "range-kernel", "layer"} < set(keys)
    names = {"profile" if key == "kernel" else f"profile_{key.replace('-', '_')}s" for key in keys}
    profiles = measure_profiles("model, profile")
    assert set(profiles) == names | {"profile_roofline", "profile_ceilings"}
    sums = {name: sum(each["total_ns"] for each in profiles[name]) for name in names}
    assert sums["profile"] > 0 and set(sums.values()) == {sums["profile"]}
    assert profiles["profile_roofline"] is None and profiles["profile_ceilings"] is None


def test_the_roofline_has_its_ceilings() -> None:
    profiles = measure_profiles("model, roofline")
    ceilings = {rate["arithmetic"]: rate["tflops"] for rate in profiles["profile_ceilings"]["gemms"]}
    assert ceilings and "memory" not in ceilings
    rows = profiles["profile_roofline"]
    assert rows == sorted(rows, key=lambda row: -row["lost_ms"])
    for row in rows:
        least = row["time_ms"] - row["lost_ms"]
        assert row["bound_percent"] == pytest.approx(100 * least / row["time_ms"])
        if row["bound"] == "memory":
            ratio = row["gb_s"] / profiles["profile_ceilings"]["memory_gb_s"]
        else:
            ratio = row["tflops"] / ceilings[row["bound"]]
        assert 100 * ratio == pytest.approx(row["bound_percent"])
    commands = {(each["name"], each["phase"]): each["instances"] for each in profiles["profile_commands"]}
    assert all(commands[row["command"], row["phase"]] == row["runs"] for row in rows)


def test_the_page_lists_the_keys_of_profiles() -> None:
    page = (ROOT / "docs/Results.md").read_text()
    section = page[page.index("### Profiles") : page.index("## Other files")]
    listed = set(re.findall(r"`([a-z_]+)`", section))
    for name, definition in SCHEMA["$defs"]["row"]["properties"].items():
        items = SCHEMA["$defs"][definition["$ref"].rsplit("/")[-1]]
        assert {name, *items.get("properties", {}), *items.get("items", {}).get("properties", {})} <= listed
    assert set(SCHEMA["$defs"]["times"]["properties"]) <= listed


@pytest.mark.parametrize("command", [["plan"], ["model", *STEPS, "--no-mfu"]])
def test_timelines_conform(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    bench(*command, *MODEL, "--mode", "train", "--timeline", str(path))
    timeline = json.loads(path.read_text())
    validate(timeline)
    assert timeline["commands"] and timeline["residents"] and timeline["allocations"]
    for member, key in (("commands", "active"), ("residents", "kind"), ("allocations", "end_us")):
        damaged = copy.deepcopy(timeline)
        del damaged[member][0][key]
        with pytest.raises(jsonschema.ValidationError):
            validate(damaged)


def test_the_page_lists_the_units_of_the_schema() -> None:
    page = (ROOT / "docs/Results.md").read_text()
    table = page[page.index("| end of the key |") :].split("\n\n")[0].splitlines()[2:]
    listed = {unit.strip() for line in table for unit in line.split("|")[2].split(":")[0].split(",")}
    assert listed == set(SCHEMA["$defs"]["column"]["properties"]["unit"]["enum"]) - {None}

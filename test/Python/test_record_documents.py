"""Every record that a script of `benchmarks/` writes conforms to docs/Results.schema.json."""

from __future__ import annotations

import copy
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cs336
import pytest
from results_schema import ROOT, SCHEMA, bench, check_columns, validate

sys.path.insert(0, str(ROOT / "benchmarks"))
sys.path.insert(0, str(ROOT / "scripts/lib"))
import compile_time
import course_reference
import document
import fuzz_results
import gpu_parity
import gpu_results
import kernel_bandwidth
import memory_peaks
import profiler_agreement

jsonschema = pytest.importorskip("jsonschema")

BENCHMARKS = ROOT / "benchmarks"
HEAD = {"command": "python3 x.py", "date": "2026-01-01", "commit": "0123abc+", "machine": "a processor, 2 threads"}
DEVICE = {"kind": "cuda", "processor": "znver4", "num_threads": 0, "gpu": "NVIDIA H200", "driver_version": 13000}
HEAD |= {"producer": {"version": "0.1.0", "commit": "0123abcd"}, "device": DEVICE}
TINY = ["--size", "tiny", "--context-length", "16", "--no-mfu"]

# The flags of scripts that run on the CPU within seconds, and the settings that identify the rows of each.
SCRIPTS = {
    "memory_budgets.py": (["--", *TINY, "--mode", "train", "--steps", "2", "--warmup", "0"], ["budget_mib"]),
    "memory_peaks.py": (["--", *TINY, "--dtype", "fp32,bf16"], ["dtype", "mode"]),
    "model_steps.py": (["--", *TINY, "--mode", "forward,train", "--steps", "2"], ["mode"]),
    "rank_steps.py": (
        ["--", "allreduce", "--backend", "threads", "--ranks", "2,3", "--size", "1000", "--steps", "2"],
        ["ranks"],
    ),
    "compile_time.py": (["--sizes", "tiny", "--runs", "2", "--mode", "forward", "--arch", "sm_90a"], ["size"]),
    "kernel_bandwidth.py": (
        "--rows 4,8 --width 24 --bytes 4096 --repetitions 5 --device cpu --only negate".split(),
        ["kernel", "rows"],
    ),
}


def run(script: str, folder: Path, *flags: str) -> dict[str, Any]:
    """Return the record that a script writes."""
    command = [sys.executable, str(BENCHMARKS / script), "--output", str(folder / "record"), *flags]
    environment = os.environ | {"PYTHONPATH": str(Path(cs336.__file__).parents[1])}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert process.returncode == 0, process.stderr
    return json.loads((folder / "record.json").read_text())


def check(record: dict[str, Any]) -> None:
    """Check that a record is a document with date, commit and machine, and that its columns describe its rows."""
    validate(record)
    assert record["schema"] == "cs336.results" and {"date", "commit", "machine"} < set(record)
    assert record["command"].startswith("python3 ")
    check_columns(record)
    assert all(column["unit"] == document.get_unit(column["key"]) for column in record["columns"])
    keys = [column["key"] for column in record["columns"] if column["role"] == "setting"]
    assert len({tuple(row[key] for key in keys) for row in record["results"]}) == len(record["results"])


@pytest.mark.parametrize("script", SCRIPTS)
def test_records_conform_and_are_compared(script: str, tmp_path: Path) -> None:
    flags, settings = SCRIPTS[script]
    record = run(script, tmp_path, *flags)
    check(record)
    assert len({tuple(row[key] for key in settings) for row in record["results"]}) == len(record["results"])
    expected = bench("accumulate", "--count", "1")
    assert record["device"] == expected["device"] and record["producer"] == expected["producer"]
    file = str(tmp_path / "record.json")
    statistics = [column["key"] for column in record["columns"] if "samples" in column]
    compared = bench("compare", file, file)["results"]
    assert statistics and {row["time"] for row in compared} <= set(statistics)
    assert compared and all(row["before"] == row["after"] for row in compared)


def test_budgets_are_rows_of_the_same_document(tmp_path: Path) -> None:
    model = ["--size", "tiny", "--context-length", "64", "--mode", "train"]
    flags = [*model, "--no-mfu", "--steps", "2", "--warmup", "0"]
    record = run("memory_budgets.py", tmp_path, "--shares", "0.98,0.95,0.01", "--", *flags)
    check(record)
    first, *others = record["results"]
    assert (first["budget_mib"], first["memory_budget"]) == (None, None)
    shares = [row["budget_mib"] / first["planned_mib"] for row in others]
    assert shares == [pytest.approx(share, abs=1e-4) for share in (0.98, 0.95, 0.01)]
    assert all(row["memory_budget"] == str(round(row["budget_mib"] * (1 << 20))) for row in others)
    *measured, impossible = others
    assert all(row["planned_mib"] <= row["budget_mib"] and row["recomputed_percent"] > 0 for row in measured)
    assert impossible["median_ms"] is None and "| memory budget " in (tmp_path / "record.md").read_text()
    planned = bench("plan", *model, "--memory-budget", others[0]["memory_budget"])
    assert planned["results"][0]["predicted_ms"] == pytest.approx(others[0]["predicted_ms"])


def test_records_of_several_documents_conform(tmp_path: Path) -> None:
    study = run("study.py", tmp_path, "--", "mixed_precision_accumulation", "--device", "cpu")
    validate(study)
    assert (study["schema"], study["study"]) == ("cs336.record", "mixed_precision_accumulation")
    check_columns(study["documents"][0])
    del study["documents"][0]["columns"]
    with pytest.raises(jsonschema.ValidationError):
        validate(study)


def test_a_ladder_reads_records_of_every_age(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    levels = [*TINY, "--mode", "train", "--fusion", "none,all", "--steps", "2"]
    new = tmp_path / "new.json"
    new.write_text(json.dumps(run("model_steps.py", tmp_path, "--", *levels)))
    # A record of several documents of version 1.
    old = BENCHMARKS / "results/h200-ladder-small.json"
    ladder = run("ladder.py", tmp_path, str(new), str(old))
    validate(ladder)
    assert len(ladder["documents"]) == 1 + len(json.loads(old.read_text())["documents"])
    file = str(tmp_path / "record.json")
    again = run("ladder.py", tmp_path, file)
    assert again["documents"] == ladder["documents"]
    (tmp_path / "record.json").write_text(json.dumps(ladder | {"documents": ladder["documents"][:1]}))
    assert bench("compare", file, file)["results"]


def test_a_learning_curve_has_a_row_per_step(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with (tmp_path / "curve.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "loss", "held_out_loss", "tokens_per_second"])
        writer.writerows([[1, 3.5, "", 100], [2, 3.25, 3.375, 200], [3, 3.0, 3.125, 300]])
    (tmp_path / "config.json").write_text(json.dumps({"model": {}, "optimizer": {}, "seed": 0}))
    (tmp_path / "meta.json").write_text(json.dumps({"unigram_entropy": 3.3}))
    record = run("text_curve.py", tmp_path, str(tmp_path), str(tmp_path))
    check(record)
    assert [row["held_out_loss"] for row in record["results"]] == [None, 3.375, 3.125]
    page = (tmp_path / "record.md").read_text()
    assert "after 3 steps is 3.125 nats per token, the unigram entropy 3.300. Median speed: 200 tokens/s." in page
    assert page.endswith("| 2 | 3.375 |\n| 3 | 3.125 |\n")


def starts(size: str, fits: bool) -> dict[str, Any]:
    """Return a row of `compile_time.py --device cuda`."""
    row = {"size": size, "num_layers": 2, "context_length": 256, "dtype": "bf16", "fusion": "all", "mode": "train"}
    row["distinct_kernels"] = 9
    row["status"] = "ok" if fits else "out of memory"
    for name in ("cold_compile", "cold_load", "warm_compile", "warm_load") if fits else ():
        row |= compile_time.summarize(name, [0.5, 0.25, 0.75])
    return row


def kernels(*names: str) -> list[dict[str, Any]]:
    """Return kernels of a profile."""
    return [{"name": name, "runs": 1.0, "ms": 0.5} for name in names]


def test_starts_on_a_gpu() -> None:
    record = compile_time.make_record([starts("tiny", True), starts("10B", False)], 256, "train", 3, True, HEAD)
    check(record)
    page = compile_time.markdown(record)
    assert "| tiny | 2 | bf16 | all | 9 | 0.50 + 0.50 | 1.00 | 0.50 + 0.50 | 1.00 |" in page
    assert "| 10B | 2 | bf16 | all | 9 | out of memory |  | out of memory |  |" in page


def test_parity() -> None:
    row = {"size": "small", "batch_size": 4, "context_length": 256, "logits": 1e-6}
    row |= {"worst_gradient": 2e-6, "worst_gradient_of": "w"}
    rows = [row | {"dtype": "fp32"}, row | {"dtype": "bf16", "torch_logits": 1e-2, "torch_worst_gradient": 2e-2}]
    record = gpu_parity.make_record(rows, HEAD)
    check(record)
    page = gpu_parity.markdown(record)
    assert "| small | fp32 | 1.0e-06 | 2.0e-06 | `w` |  |  |\n" in page
    assert "| small | bf16 | 1.0e-06 | 2.0e-06 | `w` | 1.0e-02 | 2.0e-02 |\n" in page


def test_profiles() -> None:
    parts = {"ours": kernels("nvjet_a", "cast"), "torch-of-ours": kernels("nvjet_a"), "torch": kernels("gemm_b")}
    record = profiler_agreement.make_record(
        [{"dtype": "bf16"} | row for row in profiler_agreement.summarize(parts)], HEAD
    )
    check(record)
    page = profiler_agreement.markdown(record)
    assert "| bf16 | PyTorch's profile of the program | 0.5000 | 1.0000 | yes |\n" in page
    assert "by PyTorch | 0.5000 | 1.0000 | no |\n" in page
    assert "| `cast` | 1 | 0.5000 |" in page


def test_steps_of_the_course() -> None:
    cell = {"size": "small", "mode": "train", "dtype": "bf16", "fusion": "all", "batch_size": 4, "warmup": 5}
    cell |= {"context_length": 512, "losses": [9.0, 8.0], "step_ms": [4.0, 5.0, 6.0], "median_ms": 5.0}
    for variant in course_reference.VARIANTS:
        course_reference.add_variant(cell, variant, [9.0, 8.0], [60.0, 70.0, 80.0])
    record = course_reference.make_record([cell], HEAD)
    check(record)
    assert "| small | 4 × 512 | bf16 | eager | 70.00 | 5.00 | 14.00 | 0.0e+00 |\n" in course_reference.markdown(record)


def test_shares_are_of_the_fastest_copy() -> None:
    rows = [
        kernel_bandwidth.make_row(kernel, (4, 8), 1000, 1, [seconds, seconds])
        for kernel, seconds in ((kernel_bandwidth.DRIVERS_COPY, 4e-6), ("negate", 2e-6), ("softmax", 5e-6))
    ]
    record = kernel_bandwidth.make_record(rows, HEAD)
    check(record)
    assert [row["copy_percent"] for row in record["results"]] == [pytest.approx(each) for each in (50, 100, 40)]


def test_peaks_beside_pytorchs(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [{"allocated_mib": 8.0, "reserved_mib": 9.0, "device_mib": 10.0}, {"error": "out of memory"}]
    monkeypatch.setattr(memory_peaks, "measure_peer", lambda *arguments: answers)
    record = memory_peaks.measure(TINY, "python", 2) | {
        key: HEAD[key] for key in ("command", "date", "commit", "machine")
    }
    check(record)
    page = memory_peaks.markdown(record)
    assert re.search(r"\| forward \| .* \| 8 \| 10 \|  \|\n.*\| train \| .* \| OOM \|  \|  \|\n", page)


def test_counts_of_tests_and_of_fuzzing() -> None:
    results = gpu_results.Results()
    results.count("memcheck", "test_a", "passed", 2)
    record = gpu_results.make_record(results, ["memcheck"], ["one"], HEAD | {"processes": 2, "seconds": 9.0})
    check(record)
    assert record["problems"] == ["one"] and "| memcheck | test_a | 2 | 0 |" in gpu_results.markdown(record, "Today.")
    outcome = fuzz_results.read_outcome("#5000\tDONE\n", 0, 3.0)
    entry = fuzz_results.describe_outcome("npy", outcome, "npy FILE") | {"log": "npy.txt"}
    check(fuzz_results.make_record([entry], HEAD | document.describe_sources()))


def test_values_without_a_column_are_rejected() -> None:
    columns = document.settings(size="size")
    assert document.make_document("x", columns, [{}], HEAD)["results"] == [{"size": None}]
    with pytest.raises(ValueError, match="no column of x describes time_ms"):
        document.make_document("x", columns, [{"size": 1, "time_ms": 2.0}], HEAD)


def test_a_missing_tool_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "find_bench", lambda: None)
    with pytest.raises(SystemExit, match=r"^error: cs336-bench is not on PATH: build it"):
        document.describe_device("cpu")


@pytest.mark.skipif(cs336.best_device() != "cpu", reason="this machine has a GPU")
def test_a_missing_device_is_an_error() -> None:
    with pytest.raises(SystemExit, match=r"^error: cs336-bench cannot use the device cuda: 'cs336-bench doctor'"):
        document.describe_device("cuda")


def test_the_source_tree_has_the_version_of_the_build() -> None:
    assert document.describe_sources()["producer"]["version"] == cs336.__version__


def test_units_are_those_of_the_page_and_of_the_tool() -> None:
    page = (ROOT / "docs/Results.md").read_text()
    table = page[page.index("| end of the key |") :].split("\n\n")[0].splitlines()[2:]
    listed = {}
    for line in table:
        _, ends, units, _ = (cell.strip() for cell in line.split("|"))
        words = re.findall(r"`(\w+)`", ends)
        listed |= zip(words, (unit.strip() for unit in units.split(":")[0].split(",")), strict=True)
    assert listed == document.UNITS
    for column in bench("plan", *TINY[:4])["columns"]:
        assert column["unit"] == document.get_unit(column["key"])


def test_recorded_documents_conform() -> None:
    records = {path.name: json.loads(path.read_text()) for path in sorted((BENCHMARKS / "results").glob("*.json"))}
    described = {name: record for name, record in records.items() if "schema" in record}
    assert len(described) > 30
    for record in described.values():
        validate(record)
        for column in record.get("columns", []):
            assert column["unit"] == document.get_unit(column["key"])


@pytest.mark.parametrize("member", ["date", "commit", "machine"])
def test_the_schema_rejects_another_head(member: str) -> None:
    record = document.make_document("x", document.settings(size="size"), [{"size": 1}], HEAD)
    validate(record)
    for value in ("", 1, None):
        with pytest.raises(jsonschema.ValidationError):
            validate(record | {member: value})


def test_a_record_without_its_head_is_rejected() -> None:
    documents = [document.make_document("x", document.settings(size="size"), [{"size": 1}], HEAD)]
    record = document.wrap_documents(["x.py"], documents)
    validate(record)
    for member in SCHEMA["$defs"]["record"]["required"]:
        damaged = copy.deepcopy(record)
        del damaged[member]
        with pytest.raises(jsonschema.ValidationError):
            validate(damaged)


def test_profiles_of_phases_have_all_times_or_none() -> None:
    times = {"total_ns": 1, "instances": 1, "avg_ns": 1, "med_ns": 1, "min_ns": 1, "max_ns": 1, "stddev_ns": 0}
    older = {"phase": "forward", "kernels_ms": 1.0, "gemm_percent": 50.0}
    columns = [*document.settings(size="size"), document.Column("profile_phases", "phases", "data")]

    def check_phase(phase: dict[str, Any]) -> None:
        validate(document.make_document("x", columns, [{"size": "tiny", "profile_phases": [phase]}], HEAD))

    current = older | times | {"name": "forward", "time_percent": 100.0}
    check_phase(older)
    check_phase(current)
    for missing in (*times, "time_percent", "name", "phase"):
        with pytest.raises(jsonschema.ValidationError):
            check_phase({key: value for key, value in current.items() if key != missing})


def test_the_page_names_the_members_of_records() -> None:
    page = (ROOT / "docs/Results.md").read_text()
    section = page[page.index("## Records") : page.index("## Other files")]
    assert set(SCHEMA["$defs"]["record"]["properties"]) - {"schema", "version"} <= set(re.findall(r"`(\w+)`", section))

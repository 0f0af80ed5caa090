"""`cs336-bench plan --timeline` and `--snapshot`: memory over time, as data, as a snapshot and as pictures."""

from __future__ import annotations

import csv
import functools
import itertools
import json
import os
import pickle
import resource
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import cs336
import pytest
from memory_snapshot import PLANS, TINY, check_batches, check_contents, check_opcodes, check_snapshot

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["parameter", "optimizer_state", "derived_variable", "input", "gradient", "activation", "output"]
KINDS += ["communication", "workspace", "temporary"]
MIB = 2**20


def plan(*arguments: str) -> dict:
    """Return the row of cs336-bench from the build that the tests run in."""
    command = ["cs336-bench", "plan", "--device", "cuda", "--format", "json", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr
    (row,) = json.loads(process.stdout)["results"]
    return row


@pytest.fixture(params=["forward", "forward_backward", "train"])
def planned(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict, dict]:
    """Return the row of a plan and its timeline."""
    path = tmp_path / "timeline.json"
    row = plan(*TINY, "--mode", request.param, "--dtype", "bf16", "--timeline", str(path))
    return row, json.loads(path.read_text())


def resident(timeline: dict) -> int:
    return sum(each["bytes"] for each in timeline["residents"])


def test_is_what_the_plan_says(planned: tuple[dict, dict]) -> None:
    row, timeline = planned
    commands = timeline["commands"]
    assert timeline["schema"] == "cs336.memory-timeline/1" and timeline["device"] == "h200" == row["predicted_on"]
    assert len(commands) == row["commands"]
    assert all(command["active"] == sum(command[kind] for kind in KINDS) for command in commands)
    for phase in row["phases"]:
        active = [command["active"] for command in commands if command["phase"] == phase["phase"]]
        assert max(active) / MIB == pytest.approx(phase["peak_mib"])
    assert max(command["active"] for command in commands) <= resident(timeline) + timeline["arena_bytes"]
    assert commands[0]["start_us"] == 0
    assert commands[-1]["end_us"] / 1e3 == pytest.approx(row["predicted_ms"], rel=1e-3, abs=1e-3)
    assert sum(phase["predicted_ms"] for phase in row["phases"]) == pytest.approx(row["predicted_ms"], rel=1e-2)
    for before, after in itertools.pairwise(commands):
        assert before["start_us"] < before["end_us"] <= after["start_us"]


def test_allocations_add_up_to_the_commands(planned: tuple[dict, dict]) -> None:
    _, timeline = planned
    for command in timeline["commands"]:
        live = dict.fromkeys(KINDS, 0)
        for each in timeline["residents"]:
            live[each["kind"].replace(" ", "_")] += each["bytes"]
        for each in timeline["allocations"]:
            if each["start_us"] <= command["start_us"] and command["end_us"] <= each["end_us"]:
                live[each["kind"].replace(" ", "_")] += each["bytes"]
        assert live == {kind: command[kind] for kind in KINDS}


def test_peaks_by_kind(planned: tuple[dict, dict]) -> None:
    row, timeline = planned
    peaks = {peak["kind"]: peak for peak in row["peaks"]}
    for phase in row["phases"]:
        key = f"{phase['phase']}_mib"
        assert peaks["all"][key] == pytest.approx(phase["peak_mib"])
        assert sum(peak[key] for kind, peak in peaks.items() if kind != "all") == pytest.approx(phase["peak_mib"])
    if row["mode"] == "train":
        # When the optimizer starts, every gradient is there and no activation is.
        parameters = sum(each["bytes"] for each in timeline["residents"] if each["kind"] == "parameter")
        assert parameters * 0.45 <= peaks["gradient"]["optimizer_mib"] * MIB <= parameters
        assert peaks["activation"]["optimizer_mib"] == 0
    if row["mode"] == "forward":
        assert "activation" not in peaks and "gradient" not in peaks


def test_what_a_layer_keeps_by_hand() -> None:
    # One layer of xl in float32 without fusion: 2.7B's feed-forward activation is 40 MiB at batch 4 and context 256.
    flags = ["--size", "2.7B", "--context-length", "256", "--num-layers", "1", "--fusion", "none"]
    row = plan(*flags, "--mode", "train", "--pipeline-options", "merge-gemms=false", "--largest", "100")
    kept = row["kept_by_layer"]
    assert [each["bytes"] for each in kept] == sorted((each["bytes"] for each in kept), reverse=True)
    assert sum(each["share"] for each in kept) == pytest.approx(1)
    assert all(each["source"].startswith("layers.0.") for each in kept)
    wide = [each for each in kept if each["type"] == "4x256x10240xf32"]
    assert wide and all(each["bytes"] == 40 * MIB for each in wide)
    scores = [each for each in kept if each["type"] == "4x32x256x256xf32"]
    assert scores and all(each["bytes"] == 32 * MIB for each in scores)


def test_rows_of_csv_are_those_of_json(tmp_path: Path) -> None:
    for suffix in ("json", "csv"):
        plan(*TINY, "--mode", "train", "--timeline", str(tmp_path / f"t.{suffix}"))
    with (tmp_path / "t.csv").open() as file:
        rows = list(csv.DictReader(file))
    commands = json.loads((tmp_path / "t.json").read_text())["commands"]
    assert len(rows) == len(commands)
    for row, command in zip(rows, commands, strict=True):
        assert row.keys() == command.keys()
        for key, value in command.items():
            assert row[key] == value if isinstance(value, str) else float(row[key]) == pytest.approx(value, abs=1e-3)


def test_a_faster_device_takes_less_time() -> None:
    names = ("h200", "h100", "a100", "cpu")
    times = [plan(*TINY, "--batch-size", "64", "--predict-on", name)["predicted_ms"] for name in names]
    assert times[0] < times[1] < times[2] < times[3]


def recorded_steps(device: str) -> list[dict]:
    """Return all steps that were measured on one GPU at `--fusion all`, with the pipeline's options of that time."""
    rows = []
    for path in sorted((ROOT / "benchmarks" / "results").glob(f"{device}-*.json")):
        record = json.loads(path.read_text())
        # Several commands have an array of documents.
        if isinstance(record, list) or record.get("benchmark") != "model" or "--device cuda" not in record["command"]:
            continue
        if "--checkpoint" in record["command"] or "--pipeline-options" in record["command"]:
            continue
        # Most steps were recorded before updates were fused with the GEMMs of gradients.
        is_fused = path.name.startswith("h200-updates-")
        for row in record["results"]:
            if row["fusion"] == "all" and row["median_ms"] and not row["ladder"]:
                rows.append(row | {"pipeline": f"fuse-updates={is_fused}".lower()})
    return rows


@functools.cache
def predict(*arguments: str) -> float:
    """Return the predicted time of a step. Many steps were recorded more than once."""
    return plan(*arguments)["predicted_ms"]


@pytest.mark.parametrize(("device", "least"), [("h200", 30), ("h100", 15)])
def test_predicted_times_are_close_to_recorded_ones(device: str, least: int) -> None:
    rows = [
        row
        for row in recorded_steps(device)
        if row["build_dtype"] == "f32" and row["size"] in ("small", "large", "2.7B")
    ]
    assert len(rows) > least
    for row in rows:
        flags = ["--size", row["size"], "--mode", row["mode"], "--dtype", row["dtype"], "--predict-on", device]
        flags += ["--context-length", str(row["context_length"]), "--batch-size", str(row["batch_size"])]
        flags += ["--pipeline-options", row["pipeline"]]
        ratio = predict(*flags) / row["median_ms"]
        assert 0.7 < ratio < 1.1, (flags, ratio)


@pytest.mark.parametrize("flags", PLANS)
def test_snapshot_is_the_timeline(flags: list[str], tmp_path: Path) -> None:
    start = time.monotonic()
    plan(*flags, "--snapshot", str(tmp_path / "s.pickle"), "--timeline", str(tmp_path / "t.json"))
    assert time.monotonic() - start < 20
    timeline = json.loads((tmp_path / "t.json").read_text())
    trace = check_snapshot((tmp_path / "s.pickle").read_bytes())
    active = [command["active"] for command in timeline["commands"]]
    assert max(trace.totals) == max(active)
    # The commands' sums appear among those after the events, in their order.
    totals = iter([resident(timeline), *trace.totals])
    current = next(totals)
    for value in active:
        while current != value:
            current = next(totals)
    assert sum(trace.live.values()) >= resident(timeline)


def test_frames_name_the_operation_its_layer_and_its_phase(tmp_path: Path) -> None:
    plan(*TINY, "--mode", "train", "--fusion", "none", "--snapshot", str(tmp_path / "s.pickle"))
    snapshot = pickle.loads((tmp_path / "s.pickle").read_bytes())
    frames = [event["frames"] for event in snapshot["device_traces"][0] if event["action"] == "alloc"]
    names = [[frame["name"] for frame in stack] for stack in frames]
    assert ["scores 2x4x16x16xf32", "layers.0.attn", "forward"] in names
    assert any(name[2] == "backward" and name[1] == "layers.1.ffn" for name in names)
    assert any(name[2] == "session" for name in names)
    # The file is the source location, without quotes.
    files = {stack[0]["filename"] for stack in frames}
    assert {"layers.0.attn.scores", "backward(layers.1.ffn.w2)"} <= files and not any('"' in file for file in files)


def break_size(snapshot: dict) -> None:
    snapshot["device_traces"][0][-1]["size"] += 1


def break_address(snapshot: dict) -> None:
    events = [event for event in snapshot["device_traces"][0] if event["action"] == "alloc"]
    events[1]["addr"] = events[0]["addr"] + 4


def break_category(snapshot: dict) -> None:
    for event in snapshot["device_traces"][0]:
        event["category"] = "parameter"


def break_block(snapshot: dict) -> None:
    snapshot["segments"][0]["blocks"].pop()


def break_frame(snapshot: dict) -> None:
    snapshot["device_traces"][0][-1]["frames"][0]["name"] = "PyObject_Call"


@pytest.mark.parametrize("mutate", [break_size, break_address, break_category, break_block, break_frame])
def test_the_checker_rejects(mutate: object, tmp_path: Path) -> None:
    plan(*TINY, "--mode", "train", "--snapshot", str(tmp_path / "s.pickle"))
    snapshot = pickle.loads((tmp_path / "s.pickle").read_bytes())
    check_contents(snapshot)
    mutate(snapshot)
    with pytest.raises(AssertionError):
        check_contents(snapshot)


@pytest.mark.parametrize(("value", "protocol"), [(2**53, 2), (1.5, 2), (Path, 2), (1, 5), ((1, 2), 4)])
def test_the_checker_rejects_opcodes(value: object, protocol: int) -> None:
    with pytest.raises(AssertionError):
        check_opcodes(pickle.dumps(value, protocol=protocol))


def test_the_checker_rejects_large_batches() -> None:
    check_batches(pickle.dumps(list(range(1500)), protocol=4))
    with pytest.raises(AssertionError, match="a batch of 1500 elements"):
        check_batches(b"\x80\x04](" + 1500 * b"K\x01" + b"e.")


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for mode in ("forward", "train"):
        plan(*TINY, "--mode", mode, "--timeline", str(tmp_path / f"{mode}.json"))
    script = [sys.executable, "-m", "cs336.results", "timeline"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [*script, str(tmp_path / "forward.json"), str(tmp_path / "train.json")]
    process = subprocess.run(
        [*command, "--output", str(tmp_path / "out" / "t1.5")], capture_output=True, text=True, env=environment
    )
    assert process.returncode == 0, process.stderr
    image = pytest.importorskip("matplotlib.image").imread(tmp_path / "out" / "t1.5.png")
    assert image.shape[0] > 500 and image.shape[1] > 1000 and image.std() > 0.05
    svg = ElementTree.parse(tmp_path / "out" / "t1.5.svg").getroot()
    assert svg.tag.endswith("svg")
    text = (tmp_path / "out" / "t1.5.svg").read_text()
    for label in ("parameter", "optimizer state", "gradient", "activation", "backward", "peak: "):
        assert f"<!-- {label}" in text
    process = subprocess.run(
        [*command, "--arena", "--output", str(tmp_path / "arena")], capture_output=True, text=True, env=environment
    )
    assert process.returncode == 0, process.stderr
    text = (tmp_path / "arena.svg").read_text()
    assert "<!-- memory in the arena (MiB)" in text and "<!-- gradient" in text and "<!-- parameter" not in text
    train = json.loads((tmp_path / "train.json").read_text())
    peak = max(command["active"] for command in train["commands"]) - resident(train)
    assert f"<!-- peak: {peak / MIB:.1f} MiB" in text
    assert "in use on the device" not in text
    (tmp_path / "other.json").write_text('{"benchmark": "plan"}')
    process = subprocess.run(
        [*script, str(tmp_path / "other.json"), "--output", str(tmp_path / "x")],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert process.returncode == 1
    assert (
        "has schema None, not cs336.memory-timeline/1: write it with cs336-bench plan --timeline or model --timeline"
        in process.stderr
    )


def test_pictures_show_what_the_device_counts(tmp_path: Path) -> None:
    """A timeline of a GPU has a line at the device's count of memory, unless it shows the arena alone."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "train.json"
    plan(*TINY, "--mode", "train", "--timeline", str(path))
    timeline = json.loads(path.read_text())
    (plain,) = cs336.results.plot_timelines([path]).axes
    used = 2 * max(command["active"] for command in timeline["commands"])
    path.write_text(json.dumps(timeline | {"times": "measured", "device_bytes": used}))
    (axes,) = cs336.results.plot_timelines([path]).axes
    (line,) = [line for line in axes.lines if str(line.get_label()).startswith("in use")]
    assert line.get_label() == f"in use on the device: {used / MIB:.1f} MiB"
    assert list(line.get_ydata()) == pytest.approx([used / MIB] * 2)
    assert axes.get_ylim()[1] > used / MIB > plain.get_ylim()[1]
    assert len(axes.lines) == len(plain.lines) + 1
    (arena,) = cs336.results.plot_timelines([path], arena=True).axes
    assert len(arena.lines) == len(plain.lines)


def test_paths_are_a_list() -> None:
    for path in ("x.json", Path("x.json")):
        with pytest.raises(TypeError, match=r"paths must be a list of files, is 'x\.json': pass \['x\.json'\]"):
            cs336.results.plot_timelines(path)
    with pytest.raises(ValueError, match="paths is empty: pass at least one file of --timeline"):
        cs336.results.plot_timelines([])


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ("", "'x.json' has no commands"),
        (', "commands": [{"phase": "forward"}]', "'x.json' is not a complete timeline: it has no "),
        (', "commands": [1]', "'x.json' is not a complete timeline"),
    ],
)
def test_incomplete_timelines(members: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text(f'{{"schema": "cs336.memory-timeline/1", "device": "cpu"{members}}}')
    with pytest.raises(ValueError, match=reason):
        cs336.results.plot_timelines(["x.json"])


@pytest.mark.parametrize(("dtype", "modes"), [("fp32", "forward,forward_backward,train"), ("bf16", "forward,train")])
def test_a_sweep_of_xl_takes_less_than_five_seconds(dtype: str, modes: str) -> None:
    command = ["cs336-bench", "plan", "--size", "xl", "--device", "cuda", "--mode", modes, "--dtype", dtype]
    command += ["--context-length", "128,256,512,1024", "--format", "json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = subprocess.run(command, capture_output=True, env=os.environ)
    assert process.returncode == 0 and len(json.loads(process.stdout)["results"]) == 4 * (modes.count(",") + 1)
    # The processor time of all threads of this process: other tests may run beside it.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 5


def test_plans_of_a_sweep_are_those_of_single_plans() -> None:
    """A sweep plans its cells at the same time, and lists them in order."""
    shape = ["--size", "tiny", "--vocab-size", "50"]
    sweep = ["--context-length", "16,32,64", "--mode", "forward,train", "--dtype", "fp32,bf16"]
    command = ["cs336-bench", "plan", "--device", "cuda", *shape, *sweep, "--format", "json"]
    rows = json.loads(subprocess.run(command, capture_output=True, env=os.environ).stdout)["results"]
    cells = list(itertools.product(["16", "32", "64"], ["forward", "train"], ["fp32", "bf16"]))
    assert len(rows) == len(cells)
    for row, (length, mode, dtype) in zip(rows, cells, strict=True):
        assert row == plan(*shape, "--context-length", length, "--mode", mode, "--dtype", dtype)


def test_gradients_that_ranks_exchange_are_gradients() -> None:
    row = plan(*TINY, "--mode", "train", "--pipeline-options", "world-size=2 distribute=flat")
    peaks = {peak["kind"]: peak for peak in row["peaks"]}
    assert [phase["phase"] for phase in row["phases"]] == ["forward", "backward", "communication", "optimizer"]
    assert peaks["gradient"]["communication_mib"] == pytest.approx(peaks["parameter"]["communication_mib"], rel=0.01)


def test_measured_times(tmp_path: Path) -> None:
    """A run replaces the times of the plan, and nothing else."""
    planned, measured = tmp_path / "planned.json", tmp_path / "measured.json"
    subprocess.run(
        ["cs336-bench", "plan", *TINY, "--mode", "train", "--timeline", str(planned)], check=True, capture_output=True
    )
    command = ["cs336-bench", "model", *TINY, "--mode", "train", "--steps", "3", "--warmup", "1", "--no-mfu"]
    command += ["--format", "json", "--timeline", str(measured), "--snapshot", str(tmp_path / "s.pickle")]
    process = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert process.returncode == 0, process.stderr
    before, after = (json.loads(path.read_text()) for path in (planned, measured))
    assert before["times"] == "predicted" and after["times"] == "measured" and after["device"] != before["device"]
    assert "device_bytes" not in before and after["device_bytes"] is None
    times = {"start_us", "end_us"}

    def without_times(timeline: dict, member: str) -> list[dict]:
        return [{key: value for key, value in each.items() if key not in times} for each in timeline[member]]

    for member in ("commands", "residents", "allocations"):
        assert without_times(before, member) == without_times(after, member)
    for first, second in itertools.pairwise(after["commands"]):
        assert first["start_us"] < first["end_us"] <= second["start_us"]
    # The sum of the commands is that of the profile.
    (row,) = json.loads(process.stdout)["results"]
    total = sum(each["end_us"] - each["start_us"] for each in after["commands"]) / 1e3
    assert total == pytest.approx(row["kernels_ms"], rel=1e-6)
    check_snapshot((tmp_path / "s.pickle").read_bytes())
    events = pickle.loads((tmp_path / "s.pickle").read_bytes())["device_traces"][0]
    assert events[-1]["time_us"] == int(after["seconds"] * 1e6)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--mode", "forward,train", "--timeline", "t.json"], "--timeline requires one model, one --dtype, --fusion"),
        (["--snapshot", "missing/s.pickle"], "--snapshot: the folder 'missing' does not exist: create it first"),
        (["--timeline", "t.txt"], "--timeline is 't.txt', must end with .csv or .json"),
    ],
)
def test_files_of_a_run_are_checked_before_it(flags: list[str], message: str, tmp_path: Path) -> None:
    command = ["cs336-bench", "model", *TINY, *flags]
    process = subprocess.run(command, capture_output=True, text=True, env=os.environ, cwd=tmp_path)
    assert process.returncode == 1 and message in process.stderr and not list(tmp_path.iterdir())

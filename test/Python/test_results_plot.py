"""`cs336.results.plot` draws what a file of results has: the right rows on the right line, at the right values."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import cs336
import pytest
from results_documents import allreduce, ddp, make_document, write

pytest.importorskip("pandas", reason="frames need pandas")
matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")
import pandas  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

RECORDS = Path(__file__).resolve().parents[2] / "benchmarks/results"
MODEL = ["--size", "tiny", "--num-layers", "1", "--context-length", "8", "--vocab-size", "50", "--batch-size", "2"]
STEPS = ["--steps", "3", "--warmup", "0"]
# Each command, and the columns that its plot has panels of.
COMMANDS = {
    "model": (["model", *MODEL, *STEPS, "--no-mfu", "--mode", "forward,train"], ["median_ms"]),
    "profile": (["model", *MODEL, *STEPS, "--no-mfu", "--profile", "--mode", "train"], ["median_ms"]),
    "attention": (
        ["attention", "--batch-size", "1", "--length", "8,12", "--head-dim", "8", *STEPS, "--fusion", "none,all"],
        ["forward_median_ms", "backward_median_ms", "both_median_ms", "forward_tflops", "backward_tflops"],
    ),
    "allreduce": (
        ["allreduce", "--backend", "threads", "--ranks", "2,3", "--size", "1KiB,64KiB", "--steps", "3"],
        ["time_ms", "busbw_gb_s"],
    ),
    "plan": (["plan", *MODEL, "--mode", "forward,train"], None),
    "explain": (["explain", *MODEL, "--mode", "train"], None),
    "accumulate": (["accumulate", "--count", "10"], None),
    "norm-error": (["norm-error", "--rows", "4"], None),
}


def frame_of(document: dict[str, Any], folder: Path) -> pandas.DataFrame:
    """Return the frame of one document."""
    (frame,) = cs336.results.load(write(folder / "results.json", document))
    return frame


def legend_of(figure: Figure) -> list[str]:
    """Return the texts of the legend."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def lines_of(figure: Figure, panel: int = 0) -> dict[str, list[tuple[float, float]]]:
    """Return the points of each line of a panel, by the label of the legend with the same colour and marker."""
    axes = figure.axes[panel]
    labels = legend_of(figure) or [""]
    return {
        label: list(zip(bars.lines[0].get_xdata(), bars.lines[0].get_ydata(), strict=True))
        for label, bars in zip(labels, axes.containers, strict=True)
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_benchmark_is_drawn_as_png_and_svg(name: str, tmp_path: Path) -> None:
    arguments, columns = COMMANDS[name]
    path = tmp_path / "results.json"
    command = ["cs336-bench", *arguments, "--format", "json", "--output", str(path)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    (frame,) = cs336.results.load(path)
    figure = cs336.results.plot(frame)
    titles = [axes.get_ylabel() for axes in figure.axes]
    assert titles and set(titles) <= set(frame.attrs["titles"].values())
    if columns:
        # Steps that are short beside their noise have no rate.
        shown = [column for column in columns if frame[column].notna().any()]
        assert titles == [frame.attrs["titles"][column] for column in shown]
    assert all(axes.containers for axes in figure.axes)
    for suffix, begin in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        picture = io.BytesIO()
        figure.savefig(picture, format=suffix)
        assert picture.getvalue().startswith(begin)


def test_allreduce_has_a_line_per_backend_ranks_and_type(tmp_path: Path) -> None:
    document = allreduce()
    figure = cs336.results.plot(frame_of(document, tmp_path))
    # A count follows from a size and a type, so it makes no line of its own.
    assert legend_of(figure) == [
        f"backend {backend}, ranks {ranks}, dtype {dtype}"
        for backend in ("tcp", "threads")
        for ranks in (2, 4)
        for dtype in ("fp32", "bf16")
    ]
    expected = [
        (row["size_bytes"], row["time_ms"])
        for row in document["results"]
        if (row["backend"], row["ranks"], row["dtype"]) == ("tcp", 4, "bf16")
    ]
    assert lines_of(figure)["backend tcp, ranks 4, dtype bf16"] == expected
    time, bandwidth = figure.axes
    assert (time.get_ylabel(), bandwidth.get_ylabel()) == ("time ms", "busbw gb s")
    assert time.get_xscale() == "log" and time.get_yscale() == "log"
    assert [label.get_text() for label in time.get_xticklabels()] == ["1KiB", "64KiB", "1MB"]


def test_log_axes_have_plain_numbers(tmp_path: Path) -> None:
    figure = cs336.results.plot(frame_of(allreduce(), tmp_path))
    time = figure.axes[0]
    assert time.get_yscale() == "log"
    major, minor = time.yaxis.get_major_formatter(), time.yaxis.get_minor_formatter()
    assert [major(value, 0) for value in (0.01, 1, 100)] == ["0.01", "1", "100"]
    assert [minor(value, 0) for value in (0.02, 0.03, 0.5, 5, 60, 200)] == ["0.02", "", "0.5", "5", "", "200"]


def test_sizes_are_on_a_log_axis_even_if_they_are_close(tmp_path: Path) -> None:
    figure = cs336.results.plot(frame_of(allreduce(sizes=(1000, 2000)), tmp_path))
    assert figure.axes[0].get_xscale() == "log"


def test_error_bars_are_quartiles_of_the_steps(tmp_path: Path) -> None:
    figure = cs336.results.plot(frame_of(ddp(), tmp_path))
    bars = figure.axes[0].containers[-1].errorbar
    (segments,) = (collection.get_segments() for collection in bars.lines[2])
    # Quartiles of 29, 30 and 32 are 29.5 and 31.
    assert [float(value) for value in segments[0][:, 1]] == pytest.approx([29.5, 31.0])


def test_ddp_has_a_bar_per_mode_and_the_share_of_communication(tmp_path: Path) -> None:
    figure = cs336.results.plot(frame_of(ddp(), tmp_path))
    time, share = figure.axes
    assert [label.get_text() for label in time.get_xticklabels()] == ["naive", "flat", "overlapped", "bucketed"]
    heights = [[bar.get_height() for bar in axes.patches] for axes in (time, share)]
    assert heights == [[30, 25, 20, 18], [40, 30, 9, 8]]
    assert share.get_ylabel() == "communication percent" and legend_of(figure) == []
    assert figure.get_suptitle() == "ddp: ranks 2"


def test_ddp_of_several_ranks_has_a_line_per_mode(tmp_path: Path) -> None:
    frame = frame_of(ddp(ranks=(2, 4)), tmp_path)
    assert lines_of(cs336.results.plot(frame))["mode flat"] == [(2, 25), (4, 50)]
    bars = cs336.results.plot(frame, x="mode")
    assert legend_of(bars) == ["ranks 2", "ranks 4"]
    assert len(bars.axes[0].patches) == 8
    centres = sorted(bar.get_x() + bar.get_width() / 2 for bar in bars.axes[0].patches)
    assert len(set(centres)) == 8


def test_times_of_pytorch_are_dashed_lines_beside_ours(tmp_path: Path) -> None:
    columns = {"length": "setting", "median_ms": "result ms", "torch_eager_median_ms": "result ms", "step_ms": "data"}
    rows = [[8, 1.0, 2.0, [1, 1, 1]], [16, 3.0, None, [3, 3, 3]]]
    document = make_document("model", columns, rows, {"median_ms": "step_ms"})
    figure = cs336.results.plot(frame_of(document, tmp_path))
    assert legend_of(figure) == ["cs336", "torch eager"]
    styles = [bars.lines[0].get_linestyle() for bars in figure.axes[0].containers]
    assert styles == ["-", "--"]
    assert list(figure.axes[0].containers[1].lines[0].get_xdata()) == [8]


def test_rates_of_attention_by_length_are_beside_its_times(tmp_path: Path) -> None:
    columns = {"length": "setting", "forward_median_ms": "result ms", "forward_tflops": "result TFLOP/s"}
    for name in ("flash", "cudnn"):
        columns |= {
            f"torch_{name}_forward_median_ms": "result ms",
            f"torch_{name}_forward_tflops": "result TFLOP/s",
        }
    rows = [
        [256, 1.0, 100.0, 1.25, 80.0, None, None, [1, 1, 1]],
        [4096, 3.0, 400.0, 4.0, 300.0, 3.5, 350.0, [3, 3, 3]],
    ]
    document = make_document("attention", columns | {"step_ms": "data"}, rows, {"forward_median_ms": "step_ms"})
    figure = cs336.results.plot(frame_of(document, tmp_path))
    assert [axes.get_ylabel() for axes in figure.axes] == ["forward median ms", "forward tflops"]
    lines = lines_of(figure, panel=1)
    assert lines["cs336"] == [(256, 100.0), (4096, 400.0)]
    assert lines["torch flash"] == [(256, 80.0), (4096, 300.0)]
    assert lines["torch cudnn"] == [(4096, 350.0)]


def test_records_of_version_1_are_drawn_by_named_columns() -> None:
    frame = cs336.results.load(RECORDS / "h200-pytorch-attention.json")[0]
    figure = cs336.results.plot(frame, "forward_median_ms", "length", by=["head_dim", "fusion"])
    shown = frame[(frame["head_dim"] == 64) & (frame["fusion"] == "all")].sort_values("length")
    shown = shown[shown["forward_median_ms"].notna()]
    points = list(zip(shown["length"], shown["forward_median_ms"], strict=True))
    assert lines_of(figure)["head dim 64, fusion all"] == points
    with pytest.raises(ValueError, match=r"do not describe their columns \(version 1\): name the columns to draw as y"):
        cs336.results.plot(frame)


def test_a_missing_setting_is_a_value_of_its_own(tmp_path: Path) -> None:
    """Rows without a budget are drawn beside those with one."""
    columns = {"mode": "setting", "memory_budget": "setting", "median_ms": "result ms"}
    rows = [["train", None, 1.0], ["train", "5000", 2.0], ["forward", None, 3.0], ["forward", "5000", 4.0]]
    (axes,) = cs336.results.plot(frame_of(make_document("model", columns, rows[:2], {}), tmp_path)).axes
    assert [bar.get_height() for bar in axes.patches] == [1.0, 2.0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["-", "5000"]
    figure = cs336.results.plot(frame_of(make_document("model", columns, rows, {}), tmp_path))
    assert legend_of(figure) == ["memory budget -", "memory budget 5000"]


def test_rows_that_a_line_would_mix_are_an_error(tmp_path: Path) -> None:
    frame = frame_of(allreduce(), tmp_path)
    with pytest.raises(ValueError, match=r"8 rows have size_bytes 1024: name the settings that tell them apart as by"):
        cs336.results.plot(frame, x="size_bytes", by=[])


def test_repeated_measurements_are_lines_of_their_own() -> None:
    frame = cs336.results.load(RECORDS / "h200x2-allreduce-peers.json")[0]
    lines = lines_of(cs336.results.plot(frame))
    peers = frame[frame["backend"] == "torch plain nccl"]
    assert sorted(peers["size_bytes"].value_counts()) == [2] * 7
    for run, rows in ((1, peers[:7]), (2, peers[7:])):
        points = list(zip(rows["size_bytes"], rows["time_ms"], strict=True))
        assert lines[f"backend torch plain nccl, run {run}"] == points
    assert set(lines) == {f"backend {name}, run 1" for name in ("nccl", "peers", "torch plain nccl")} | {
        "backend torch plain nccl, run 2"
    }


def test_wrong_columns_are_errors(tmp_path: Path) -> None:
    frame = frame_of(ddp(), tmp_path)
    with pytest.raises(KeyError, match=r"the results have no column 'speed'; they have mode, ranks, median_ms"):
        cs336.results.plot(frame, "speed")
    with pytest.raises(KeyError, match=r"no column 'size'"):
        cs336.results.plot(frame, x="size")
    with pytest.raises(ValueError, match=r"the column 'status' has no numbers: name a column with numbers as y"):
        cs336.results.plot(frame, "status")
    with pytest.raises(ValueError, match=r"no numbers to draw"):
        cs336.results.plot(frame[frame["ranks"] > 100])
    with pytest.raises(KeyError, match=r"the results have no column 'foo'; they have mode, ranks, median_ms"):
        cs336.results.plot(frame, y=["foo"])
    with pytest.raises(TypeError, match=r"by must be a list of names, is the string 'mode': pass \['mode'\]"):
        cs336.results.plot(frame, by="mode")
    with pytest.raises(TypeError, match=r"x must be a string, is \['mode'\]"):
        cs336.results.plot(frame, x=["mode"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x.json", r"is of type str: read the file first, cs336\.results\.plot\(cs336\.results\.load\(path\)\[0\]\)"),
        (Path("x.json"), r"is of type PosixPath: read the file first"),
        ([], r"is of type list: draw each of its frames by itself"),
        (None, r"the frame to draw must be of type DataFrame, is of type NoneType: pass a frame of cs336\.results"),
    ],
)
def test_only_frames_are_drawn(value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        cs336.results.plot(value)


def test_missing_matplotlib_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = frame_of(ddp(), tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"cs336\.results needs matplotlib: install it with 'pip install matplotlib'"):
        cs336.results.plot(frame)


def test_plots_need_no_display(tmp_path: Path) -> None:
    write(tmp_path / "results.json", json.loads(json.dumps(ddp())))
    program = "import sys, cs336; cs336.results.plot(cs336.results.load(sys.argv[1])[0]).savefig(sys.argv[2])"
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MPLBACKEND")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-c", program, str(tmp_path / "results.json"), str(tmp_path / "plot.png")]
    subprocess.run(command, check=True, env=environment, timeout=60)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")

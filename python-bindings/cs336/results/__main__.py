"""Plots results of `cs336-bench --format json`, memory over time and traces of ranks, or logs results to MLflow.

python3 -m cs336.results plot results.json --output DIR
python3 -m cs336.results timeline timeline.json --output DIR/NAME
python3 -m cs336.results overlap trace.json --output DIR/NAME
python3 -m cs336.results mlflow results.json --experiment NAME --tracking-uri URI
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from cs336._files import read_file, write_file
from cs336.results import load, log_to_mlflow, plot
from cs336.results._overlap import plot_overlap
from cs336.results._packages import need
from cs336.results._timeline import is_timeline, plot_timelines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
STUDIES = "studies.json"
# Inputs of the commands that do not read documents.
INPUTS = {"timeline": "JSON of --timeline", "overlap": "JSON of --trace"}
# The end of the names of timelines in the folder of a series of studies.
TIMELINE = "-timeline.json"


def _list_documents(paths: list[Path]) -> list[Path]:
    """Return the files with results. A folder stands for the files that `cs336-bench study all` has finished there."""
    files = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        record = path / STUDIES
        if not record.exists():
            raise ValueError(
                f"the folder '{path}' has no {STUDIES}: pass files, or a folder of 'cs336-bench study all'"
            )
        try:
            names = [command["document"] for command in json.loads(read_file(record))["commands"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"'{record}' is not a record of 'cs336-bench study all': run that again") from error
        files += [path / name for name in names if (path / name).exists()]
    return files


def _list_timelines(paths: list[Path]) -> list[Path]:
    """Return the timelines among the files, and those that `cs336-bench study all` has written into folders."""
    return [
        file
        for path in paths
        for file in (sorted(path.glob(f"*{TIMELINE}")) if path.is_dir() else [path])
        if is_timeline(file)
    ]


def _name_picture(path: Path, benchmark: str) -> str:
    """Return FILE-BENCHMARK, or FILE if that ends with the benchmark."""
    name = path.stem if path.stem.endswith(f"-{benchmark}") else f"{path.stem}-{benchmark}"
    return re.sub(r"[^\w.-]+", "-", name)


def _write(figure: Figure, path: Path) -> None:
    """Write a picture in the format of the path's suffix, completely or not at all."""
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:], dpi=150)
    write_file(path, picture.getvalue())
    print(path)


def _write_picture(figure: Figure, path: Path) -> None:
    """Write PATH.png and PATH.svg. Creates the folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"--output: cannot create '{path.parent}': {error.strerror}: pass another path") from error
    for suffix in FORMATS:
        # Not with_suffix: a name such as h200-2.7b has a dot of its own.
        _write(figure, path.with_name(f"{path.name}.{suffix}"))


def _plot_files(args: argparse.Namespace) -> None:
    """Write DIR/FILE-BENCHMARK.png and .svg for each document, and print their names; DIR/FILE.png for timelines."""
    timelines = _list_timelines(args.files)
    documents = [path for path in _list_documents(args.files) if path not in timelines]
    frames = [(path, frame) for path in documents for frame in load(path)]
    need("matplotlib")
    try:
        args.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"--output: cannot create '{args.output}': {error.strerror}: pass another folder") from error
    for path in timelines:
        figure = plot_timelines([path])
        for suffix in FORMATS:
            _write(figure, args.output / f"{path.stem}.{suffix}")
    names: Counter[str] = Counter()
    reasons = []
    for path, frame in frames:
        benchmark = frame.attrs.get("benchmark", "results")
        stem = _name_picture(path, benchmark)
        names[stem] += 1
        stem += f"-{names[stem]}" if names[stem] > 1 else ""
        try:
            figure = plot(frame, args.y, args.x, by=args.by)
        except (KeyError, ValueError) as error:
            reasons.append(f"'{path}': {benchmark} is not drawn: {error.args[0]}")
            continue
        for suffix in FORMATS:
            _write(figure, args.output / f"{stem}.{suffix}")
    if len(reasons) == len(frames) and not timelines:
        raise ValueError("\n".join(reasons) or "the files have no results")
    for reason in reasons:
        print(f"warning: {reason}", file=sys.stderr)


def _draw_timelines(args: argparse.Namespace) -> None:
    """Write DIR/NAME.png and .svg with all timelines."""
    _write_picture(plot_timelines(args.files, arena=args.arena), args.output)


def _draw_overlap(args: argparse.Namespace) -> None:
    """Write DIR/NAME.png and .svg with all traces."""
    _write_picture(plot_overlap(args.files, step=args.step), args.output)


def _log_files(args: argparse.Namespace) -> None:
    """Print the identifier of each document's run."""
    refused = need("mlflow.exceptions").MlflowException
    for path in _list_documents(args.files):
        try:
            runs = log_to_mlflow(path, experiment=args.experiment, tracking_uri=args.tracking_uri)
        except refused as error:
            raise OSError(f"MLflow cannot log '{path}': {error}") from error
        print(*runs, sep="\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns 1 and prints one error if a file or a package is missing or wrong."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python3 -m cs336.results", description=lines[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, function, text in (
        ("plot", _plot_files, "draws each document as PNG and SVG"),
        ("timeline", _draw_timelines, "draws memory over time, all files in one picture, as PNG and SVG"),
        ("overlap", _draw_overlap, "draws communication beside compute, all traces in one picture, as PNG and SVG"),
        ("mlflow", _log_files, "logs each document to MLflow"),
    ):
        command = commands.add_parser(name, help=text, description=text.capitalize())
        command.add_argument(
            "files",
            type=Path,
            nargs="+",
            metavar="FILE",
            help=INPUTS.get(name, "JSON of cs336-bench, or a folder of 'study all'"),
        )
        command.set_defaults(function=function)
        if name == "plot":
            command.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of the pictures")
            command.add_argument("--x", metavar="COLUMN", help="setting of the horizontal axis")
            command.add_argument("--y", metavar="COLUMN", nargs="+", help="columns to draw (default: medians of steps)")
            command.add_argument(
                "--by", metavar="COLUMN", nargs="+", help="settings that distinguish lines (default: all that differ)"
            )
        elif name in INPUTS:
            command.add_argument("--output", type=Path, required=True, metavar="DIR/NAME", help="without a suffix")
            if name == "timeline":
                command.add_argument(
                    "--arena", action="store_true", help="leave out variables and inputs, which are live all the time"
                )
            else:
                command.add_argument("--step", type=int, metavar="N", help="number of the step (default: the last one)")
        else:
            command.add_argument(
                "--experiment", default="cs336", metavar="NAME", help="name of the experiment (default: cs336)"
            )
            command.add_argument(
                "--tracking-uri", metavar="URI", help="server, database or folder (default: MLFLOW_TRACKING_URI)"
            )
    args = parser.parse_args(arguments)
    try:
        args.function(args)
    except (ImportError, OSError, ValueError) as error:
        print(f"cs336.results: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Results as runs of MLflow, written by its own client."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cs336.results._choice import differing_settings, settings_of
from cs336.results._load import UNNAMED_VERSION, load
from cs336.results._packages import need

if TYPE_CHECKING:
    import pandas

# The maximum number of values that MLflow accepts in one request.
METRICS_PER_REQUEST = 1000
PARAMETERS_PER_REQUEST = 100
# Members of a frame's `attrs` that describe its columns.
DESCRIPTIONS = ("units", "roles", "titles", "samples")


def log_to_mlflow(
    path: str | os.PathLike[str], *, experiment: str = "cs336", tracking_uri: str | None = None
) -> list[str]:
    """Log a file of results to MLflow: one run per document, with one nested run per row.

    A row's settings become parameters, its results become metrics, and a list with the time of each step becomes a
    metric with one value per step. The run of the document has the command, the commit and the device as tags, and the
    file as an artifact.

    Parameters
    ----------
    path
        A file that `load` reads, of version 2 or later: only these describe which columns are settings.
    experiment
        The name of the experiment, which is created if it does not exist.
    tracking_uri
        The server, database or folder. Default: MLflow's own, from MLFLOW_TRACKING_URI.

    Returns
    -------
    list[str]
        The identifier of each document's run.

    Raises
    ------
    ImportError
        If MLflow or pandas is not installed.
    OSError
        If the file cannot be read.
    ValueError
        If the file cannot be read as results, or does not describe its columns.
    mlflow.exceptions.MlflowException
        If the server cannot be reached, or rejects a request. A run that has begun then gets the status FAILED.
    """
    frames = load(path)
    if any(frame.attrs["version"] == UNNAMED_VERSION for frame in frames):
        raise ValueError(f"'{os.fspath(path)}' does not describe its columns (version 1): measure again to log it")
    client = need("mlflow").MlflowClient(tracking_uri)
    found = client.get_experiment_by_name(experiment)
    identifier = found.experiment_id if found else client.create_experiment(experiment)
    return [_log_document(client, identifier, frame, path) for frame in frames]


@contextmanager
def _run(client: Any, experiment: str, name: str, tags: dict[str, str]) -> Iterator[str]:
    """Begin a run and yield its identifier. The run ends as FAILED if an exception or an interruption leaves it."""
    run = client.create_run(experiment, run_name=name, tags=tags).info.run_id
    try:
        yield run
    except BaseException:
        client.set_terminated(run, "FAILED")
        raise
    client.set_terminated(run)


def _log_document(client: Any, experiment: str, frame: pandas.DataFrame, path: str | os.PathLike[str]) -> str:
    names = differing_settings(frame) or settings_of(frame)[:1]
    benchmark = str(frame.attrs.get("benchmark", "results"))
    with _run(client, experiment, benchmark, _tags(frame.attrs)) as run:
        client.log_artifact(run, os.fspath(path))
        for _, row in frame.iterrows():
            name = ", ".join(f"{setting} {row[setting]}" for setting in names) or benchmark
            with _run(client, experiment, name, {"mlflow.parentRunId": run} | _texts(row, frame.attrs)) as nested:
                _log_row(client, nested, row, frame.attrs)
    return run


def _tags(attributes: dict[Any, Any]) -> dict[str, str]:
    """Return the members of a document that do not describe columns. Names of nested members have dots."""
    tags = {}
    for name, value in attributes.items():
        if name in DESCRIPTIONS or isinstance(value, list):
            continue
        members = value.items() if isinstance(value, dict) else [("", value)]
        tags |= {f"cs336.{name}" + (f".{key}" if key else ""): str(each) for key, each in members if each is not None}
    return tags


def _texts(row: pandas.Series, attributes: dict[Any, Any]) -> dict[str, str]:
    """Return the results of a row that are text, such as its status, as tags."""
    roles = attributes["roles"]
    return {f"cs336.{k}": value for k, value in row.items() if roles.get(k) == "result" and isinstance(value, str)}


def _log_row(client: Any, run: str, row: pandas.Series, attributes: dict[Any, Any]) -> None:
    """Log the settings, numbers and times of steps of a row."""
    entities = need("mlflow.entities")
    begin = client.get_run(run).info.start_time
    steps = {key for keys in attributes["samples"].values() for key in keys}
    parameters, metrics = [], []
    for key, value in row.items():
        if attributes["roles"].get(key) == "setting":
            parameters.append(entities.Param(key, str(value)))
        elif key in steps and isinstance(value, list):
            metrics += [entities.Metric(key, float(each), begin, step) for step, each in enumerate(value)]
        elif _is_finite(value):
            metrics.append(entities.Metric(key, float(value), begin, 0))
    for start in range(0, len(parameters), PARAMETERS_PER_REQUEST):
        client.log_batch(run, params=parameters[start : start + PARAMETERS_PER_REQUEST])
    for start in range(0, len(metrics), METRICS_PER_REQUEST):
        client.log_batch(run, metrics=metrics[start : start + METRICS_PER_REQUEST])


def _is_finite(value: Any) -> bool:
    """Return whether a cell is a number. Missing numbers are NaN in frames."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")

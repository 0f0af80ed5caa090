"""`cs336.results.log_to_mlflow` writes runs that MLflow's own client reads back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cs336
import pytest
from results_documents import allreduce, ddp, write

pytest.importorskip("pandas", reason="frames need pandas")
mlflow = pytest.importorskip("mlflow", reason="logging needs mlflow or mlflow-skinny")

RECORDS = Path(__file__).resolve().parents[2] / "benchmarks/results"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the URI of an empty folder for runs, which MLflow 3 has to be allowed to use."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return (tmp_path / "runs").as_uri()


def nested_runs(client: Any, parent: str) -> list[Any]:
    """Return the runs of the rows of a document, in their order."""
    experiment = client.get_run(parent).info.experiment_id
    runs = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent}'", order_by=["start_time ASC"])
    return sorted(runs, key=lambda run: run.info.start_time)


def test_runs_have_settings_results_and_steps(tmp_path: Path, store: str) -> None:
    document = ddp(ranks=(2, 4))
    path = write(tmp_path / "results.json", document)
    (parent,) = cs336.results.log_to_mlflow(path, experiment="steps", tracking_uri=store)
    client = mlflow.MlflowClient(store)
    run = client.get_run(parent)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "ddp")
    assert client.get_experiment(run.info.experiment_id).name == "steps"
    tags = {key: value for key, value in run.data.tags.items() if key.startswith("cs336.")}
    assert tags == {
        "cs336.version": "2",
        "cs336.benchmark": "ddp",
        "cs336.command": "cs336-bench ddp",
        "cs336.producer.version": "0.1.0",
        "cs336.producer.commit": "0123abcd",
        "cs336.device.kind": "cpu",
        "cs336.device.processor": "a processor",
        "cs336.device.num_threads": "2",
    }
    assert [artifact.path for artifact in client.list_artifacts(parent)] == ["results.json"]
    rows = {(each.data.params["mode"], each.data.params["ranks"]): each for each in nested_runs(client, parent)}
    assert len(rows) == len(document["results"])
    for expected in document["results"]:
        row = rows[expected["mode"], str(expected["ranks"])]
        assert row.info.status == "FINISHED"
        assert row.info.run_name == f"mode {expected['mode']}, ranks {expected['ranks']}"
        assert set(row.data.params) == {"mode", "ranks"}
        assert row.data.metrics["median_ms"] == expected["median_ms"]
        assert row.data.metrics["communication_percent"] == expected["communication_percent"]
        assert row.data.tags["cs336.status"] == "ok"
        steps = client.get_metric_history(row.info.run_id, "step_ms")
        assert [(each.step, each.value) for each in steps] == list(enumerate(expected["step_ms"]))


def test_documents_of_a_study_are_runs_of_one_experiment(tmp_path: Path, store: str) -> None:
    path = write(tmp_path / "results.json", [ddp(), allreduce(sizes=(1024,))])
    first, second = cs336.results.log_to_mlflow(path, tracking_uri=store)
    (third,) = cs336.results.log_to_mlflow(write(tmp_path / "again.json", ddp()), tracking_uri=store)
    client = mlflow.MlflowClient(store)
    runs = [client.get_run(run) for run in (first, second, third)]
    assert [run.info.run_name for run in runs] == ["ddp", "allreduce", "ddp"]
    assert len({run.info.experiment_id for run in runs}) == 1
    assert client.get_experiment_by_name("cs336").experiment_id == runs[0].info.experiment_id
    assert [len(nested_runs(client, run)) for run in (first, second, third)] == [4, 8, 4]


def test_values_that_were_not_measured_are_no_metrics(tmp_path: Path, store: str) -> None:
    document = ddp()
    document["results"][0] |= {"median_ms": None, "step_ms": None, "status": "out of memory"}
    (parent,) = cs336.results.log_to_mlflow(write(tmp_path / "results.json", document), tracking_uri=store)
    rows = nested_runs(mlflow.MlflowClient(store), parent)
    (row,) = (row for row in rows if row.data.params["mode"] == "naive")
    assert set(row.data.metrics) == {"communication_percent"} and row.data.tags["cs336.status"] == "out of memory"


def test_many_steps_are_logged_in_several_requests(tmp_path: Path, store: str) -> None:
    document = ddp()
    document["results"] = document["results"][:1]
    document["results"][0]["step_ms"] = [float(step) for step in range(2500)]
    (parent,) = cs336.results.log_to_mlflow(write(tmp_path / "results.json", document), tracking_uri=store)
    client = mlflow.MlflowClient(store)
    (row,) = nested_runs(client, parent)
    history = client.get_metric_history(row.info.run_id, "step_ms")
    assert sorted(each.value for each in history) == document["results"][0]["step_ms"]


def test_a_run_that_cannot_be_finished_has_failed(tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise mlflow.exceptions.MlflowException("the disk is full")

    monkeypatch.setattr(mlflow.MlflowClient, "log_batch", refuse)
    with pytest.raises(mlflow.exceptions.MlflowException, match="the disk is full"):
        cs336.results.log_to_mlflow(write(tmp_path / "results.json", ddp()), tracking_uri=store)
    client = mlflow.MlflowClient(store)
    runs = client.search_runs([client.get_experiment_by_name("cs336").experiment_id])
    assert [run.info.status for run in runs] == ["FAILED", "FAILED"]


def test_files_without_descriptions_are_refused_before_any_run(store: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"does not describe its columns \(version 1\): measure again to log it"):
        cs336.results.log_to_mlflow(RECORDS / "h200-small-graphs.json", tracking_uri=store)
    assert not (tmp_path / "runs").exists()


def test_missing_mlflow_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "results.json", ddp())
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match=r"needs mlflow-skinny: install it with 'pip install mlflow-skinny'"):
        cs336.results.log_to_mlflow(path)

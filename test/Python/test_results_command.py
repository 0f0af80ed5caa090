"""`python3 -m cs336.results` plots and logs whole files, and its errors are one line each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from results_documents import allreduce, ddp, make_document, write

pytest.importorskip("pandas", reason="frames need pandas")
pytest.importorskip("matplotlib", reason="plots need matplotlib")

RECORDS = Path(__file__).resolve().parents[2] / "benchmarks/results"


def run(*arguments: object, folder: Path, status: int = 0, **environment: str) -> tuple[str, str]:
    """Run the command in a folder. Return its output on stdout and stderr."""
    process = subprocess.run(
        [sys.executable, "-m", "cs336.results", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == status, process.stderr
    return process.stdout, process.stderr


def test_each_document_is_two_pictures(tmp_path: Path) -> None:
    write(tmp_path / "study.json", [ddp(), allreduce(), ddp(ranks=(2, 4))])
    write(tmp_path / "single.json", allreduce())
    output, errors = run("plot", "study.json", "single.json", "--output", "a/b", folder=tmp_path)
    names = ["study-ddp", "study-allreduce", "study-ddp-2", "single-allreduce"]
    expected = [f"a/b/{name}.{suffix}" for name in names for suffix in ("png", "svg")]
    assert output.split() == expected and errors == ""
    assert sorted(path.name for path in (tmp_path / "a/b").iterdir()) == sorted(Path(path).name for path in expected)
    assert (tmp_path / "a/b/study-ddp.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "a/b/study-ddp.svg").read_bytes()


def test_a_folder_of_studies_is_its_finished_documents(tmp_path: Path) -> None:
    write(tmp_path / "all/ddp-1-ddp.json", ddp())
    write(tmp_path / "all/comm-1-allreduce.json", allreduce())
    documents = ["comm-1-allreduce.json", "ddp-1-ddp.json", "waiting-1-model.json"]
    commands = [{"document": name, "state": "complete"} for name in documents]
    write(tmp_path / "all/studies.json", {"schema": "cs336.studies", "version": 1, "commands": commands})
    output, _ = run("plot", "all", "--output", "plots", folder=tmp_path)
    names = ("comm-1-allreduce", "ddp-1-ddp")
    assert output.split() == [f"plots/{name}.{suffix}" for name in names for suffix in ("png", "svg")]
    write(tmp_path / "all/studies.json", {"commands": [1]})
    check_error(tmp_path, "'all/studies.json' is not a record of", "plot", "all", "--output", "plots")
    (tmp_path / "empty").mkdir()
    check_error(tmp_path, "the folder 'empty' has no studies.json", "plot", "empty", "--output", "plots")


def test_columns_are_chosen_by_flags(tmp_path: Path) -> None:
    record = RECORDS / "h200-pytorch-attention.json"
    flags = ["--y", "forward_median_ms", "backward_median_ms", "--x", "length", "--by", "head_dim", "fusion"]
    output, _ = run("plot", record, *flags, "--output", ".", folder=tmp_path)
    assert output.split()[0] == "h200-pytorch-attention.png"


def test_documents_without_numbers_are_left_out(tmp_path: Path) -> None:
    text = make_document("dtypes", {"what": "setting", "fp32": "result"}, [["parameter", "f32"]], {})
    write(tmp_path / "study.json", [text, ddp()])
    output, errors = run("plot", "study.json", "--output", ".", folder=tmp_path)
    assert output.split() == ["study-ddp.png", "study-ddp.svg"]
    assert errors.startswith("warning: 'study.json': dtypes is not drawn: the results have no numbers to draw")
    write(tmp_path / "text.json", text)
    output, errors = run("plot", "text.json", "--output", ".", folder=tmp_path, status=1)
    assert output == "" and "error: 'text.json': dtypes is not drawn" in errors


def check_error(folder: Path, expected: str, *arguments: object, **environment: str) -> None:
    output, errors = run(*arguments, folder=folder, status=1, **environment)
    assert output == "" and errors.startswith("cs336.results: error: ") and expected in errors
    assert "Traceback" not in errors


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    write(tmp_path / "results.json", ddp())
    unnamed = {"benchmark": "model", "results": [{"median_ms": 1}]}
    write(tmp_path / "mixed.json", [ddp(), unnamed])
    write(tmp_path / "other.json", [ddp(), ddp() | {"schema": "others"}])
    (tmp_path / "file").write_text("")
    check_error(tmp_path, "no column 'speed'; they have mode", "plot", "results.json", "--y", "speed", "--output", ".")
    check_error(tmp_path, "'mixed.json' has documents of versions 1 and 2", "plot", "mixed.json", "--output", ".")
    check_error(tmp_path, "the schema of 'other.json' is 'others'", "plot", "other.json", "--output", ".")
    check_error(tmp_path, "none.json", "plot", "none.json", "--output", ".")
    check_error(tmp_path, "--output: cannot create 'file': File exists", "plot", "results.json", "--output", "file")
    check_error(tmp_path, "--output: cannot create 'file/a'", "plot", "results.json", "--output", "file/a")
    check_error(tmp_path, "/proc/results-ddp.png", "plot", "results.json", "--output", "/proc")
    check_error(tmp_path, "cannot log 'results.json'", "mlflow", "results.json", "--tracking-uri", "ftp://nowhere")


def test_runs_are_logged_and_printed(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="logging needs mlflow or mlflow-skinny")
    write(tmp_path / "results.json", ddp())
    arguments = ["mlflow", "results.json", "--experiment", "tests", "--tracking-uri", "runs"]
    output, _ = run(*arguments, folder=tmp_path, MLFLOW_ALLOW_FILE_STORE="true")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        client = mlflow.MlflowClient((tmp_path / "runs").as_uri())
        assert client.get_run(output.strip()).info.run_name == "ddp"


def test_help_names_both_commands(tmp_path: Path) -> None:
    output, _ = run("--help", folder=tmp_path)
    assert "plot" in output and "mlflow" in output
    assert "--tracking-uri" in run("mlflow", "--help", folder=tmp_path)[0]

"""Groups of benchmarks/published.json name studies and columns of cs336-bench: others would never match a result."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

GROUPS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "benchmarks" / "published.json").read_text(encoding="utf-8")
)["groups"]
REQUIRED = {"source", "hardware", "study", "settings", "by", "figure", "rows"}
OPTIONAL = {"title", "scale", "remark"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cs336-bench from the build that the tests run in."""
    return subprocess.run(["cs336-bench", *arguments], capture_output=True, text=True, env=os.environ)


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    """Give the commands of each study that receive --published with its name."""
    found: dict[str, set[str]] = {}
    for line in bench("study", "--list").stdout.splitlines():
        if line.startswith("  cs336-bench ") and " --published " in line:
            found.setdefault(line.split(" --published ")[1].split()[0], set()).add(line.split()[1])
    return found


@pytest.fixture(scope="module")
def columns(commands: dict[str, set[str]]) -> dict[str, set[str]]:
    """Give the keys of the columns of each command, which the error for an unknown one lists."""
    found = {}
    for command in set().union(*commands.values()):
        error = bench(command, "--columns", "none").stderr
        found[command] = set(error.split("the columns are ")[1].replace(",", " ").split())
    return found


def test_studies_pass_the_flag_to_their_commands(commands: dict[str, set[str]]) -> None:
    assert set(commands) == {group["study"] for group in GROUPS}


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group['study']}-{group['figure']}")
def test_a_command_has_the_columns(
    group: dict[str, Any], commands: dict[str, set[str]], columns: dict[str, set[str]]
) -> None:
    assert REQUIRED <= set(group) <= REQUIRED | OPTIONAL
    # Figures in another unit have a name of their own.
    assert "scale" not in group or "title" in group
    keys = {*group["settings"], *group["by"], group["figure"]}
    assert len(keys) == len(group["settings"]) + len(group["by"]) + 1
    missing = {command: keys - columns[command] for command in commands[group["study"]]}
    assert not all(missing.values()), missing
    for row in group["rows"]:
        assert len(row) == len(group["by"]) + 1 and isinstance(row[-1], (int, float)) and row[-1] > 0, row
    settings = [tuple(row[:-1]) for row in group["rows"]]
    assert len(set(settings)) == len(settings)


def test_one_study_shows_published_figures_in_every_format(tmp_path: Path) -> None:
    study = ["study", "memory_profiling", "--size", "xl", "--num-layers", "48", "--context-length", "128"]
    command = [*study, "--mode", "forward", "--dtype", "fp32"]
    assert "peak memory (GiB)" in bench(*command).stdout
    documents = json.loads(bench(*command, "--format", "json").stdout)
    tables = [table for document in documents for table in document["page"]["tables"] if table["name"] == "published"]
    assert tables
    for table in tables:
        keys = [column["key"] for column in table["columns"]]
        (row,) = (dict(zip(keys, cells, strict=True)) for cells in table["rows"])
        assert (row["published"], row["published_on"], row["mode"]) == ("13", "A100, 40 GB", "forward")
        assert 5 < float(row["measured"]) < 13
    bench(*command, "--format", "csv", "--output", str(tmp_path / "plan.csv"))
    assert ",13," in (tmp_path / "plan-plan-published.csv").read_text()

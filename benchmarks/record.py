"""The head of every recorded result: command, machine, commit, date."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path


def machine() -> str:
    """Return the processor, the number of hardware threads, and the GPUs with their driver."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return ", ".join([models[0] if models else "unknown processor", f"{len(models)} threads", *gpus()])


def gpus() -> list[str]:
    """Return name and driver of every NVIDIA GPU that is visible to CUDA programs."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not shutil.which(query[0]) or visible == "":
        return []
    if visible:
        query.append(f"--id={visible}")
    lines = subprocess.run(query, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [line.replace(", ", " with driver ") for line in lines]


def commit() -> str:
    """Return the commit of this source tree; `+` marks uncommitted changes.

    In a copy of the tree without its history, the environment variable CS336_COMMIT names the commit.
    """
    if named := os.environ.get("CS336_COMMIT"):
        return named
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    except (FileNotFoundError, subprocess.CalledProcessError):
        sys.exit("error: cannot find the commit of this copy without git and its history: set CS336_COMMIT to it")


def describe(argv: list[str]) -> dict[str, object]:
    """Return the head of a record made by the command line `argv`."""
    return {
        "command": shlex.join(["python3", *argv]),
        "date": date.today().isoformat(),
        "commit": commit(),
        "machine": machine(),
    }


def origin(record: dict[str, object]) -> str:
    """Return a sentence with the date, commit and machine of the numbers."""
    return f"{record['date']}, commit {record['commit']}, {record['machine']}."


def replace_file(path: Path, text: str) -> None:
    """Replace the contents of a file atomically, as `cs336.write_file` does, without the package.

    Most benchmarks run without the package, and a full disk must not destroy the record of an earlier run.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("x") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write(record: dict[str, object], page: str, output: Path | None) -> None:
    """Print the page, and write record and page to OUTPUT.json and OUTPUT.md."""
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        # Not with_suffix: a name such as h200-2.7b has a dot of its own.
        replace_file(output.with_name(output.name + ".json"), json.dumps(record, indent=2) + "\n")
        replace_file(output.with_name(output.name + ".md"), page)
    print(page)

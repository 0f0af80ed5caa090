"""What every recorded result says of itself: command, machine, commit, date."""

from __future__ import annotations

import json
import shlex
import subprocess
from datetime import date
from pathlib import Path


def machine() -> str:
    """The processor and how many hardware threads there are."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return f"{models[0] if models else 'unknown processor'}, {len(models)} threads"


def commit() -> str:
    """Of the source tree that this file is in; `+` marks changes that are not committed."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def describe(argv: list[str]) -> dict[str, object]:
    """The head of a record made by the command line `argv`."""
    return {
        "command": shlex.join(["python3", *argv]),
        "date": date.today().isoformat(),
        "commit": commit(),
        "machine": machine(),
    }


def write(record: dict[str, object], page: str, output: Path | None) -> None:
    """Prints the page, and keeps record and page as OUTPUT.json and OUTPUT.md."""
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")
        output.with_suffix(".md").write_text(page)
    print(page)

"""Runs `cs336-bench`, which must be on PATH, and returns its JSON."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys

from requirements import require_tools


def run(arguments: list[str]) -> tuple[object, bool, int]:
    """Return the tool's JSON, whether measurements are missing, and its exit code. Its progress goes to the terminal.

    The JSON has no printed page, since records have pages of their own.

    The tool also prints complete measurements if it is interrupted (the code is then 128 plus the signal's number) or
    ends with an error. If it prints nothing, this function ends the program.
    """
    require_tools("cs336-bench")
    command = ["cs336-bench", *arguments, "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: tool.send_signal(number))
        output, _ = tool.communicate()
    if not output:
        sys.exit(f"failed: {shlex.join(command)}")
    result = json.loads(output)
    for document in result if isinstance(result, list) else [result]:
        document.pop("page", None)
    return result, tool.returncode != 0, tool.returncode

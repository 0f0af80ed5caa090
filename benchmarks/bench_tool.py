"""Runs `cs336-bench`, which PATH must have, for what it measures as JSON."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys


def run(arguments: list[str]) -> tuple[object, bool, int]:
    """What the tool prints, whether it was interrupted, and its exit code; its progress goes to the terminal.

    Interrupted, it prints what is complete, and exits with 128 and the signal's number. Where it printed nothing, this
    ends the program.
    """
    command = ["cs336-bench", *arguments, "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: tool.send_signal(number))
        output, _ = tool.communicate()
    interrupted = tool.returncode in (128 + signal.SIGINT, 128 + signal.SIGTERM)
    if not output or not (tool.returncode == 0 or interrupted):
        sys.exit(f"failed: {shlex.join(command)}")
    return json.loads(output), interrupted, tool.returncode

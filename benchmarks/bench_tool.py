"""Runs `cs336-bench`, which PATH must have, for what it measures as JSON."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys


def run(arguments: list[str]) -> tuple[object, bool, int]:
    """What the tool prints, whether something is missing, and its exit code; its progress goes to the terminal.

    What is complete is printed also when it is interrupted, where the code is 128 and the signal's number, or ends with
    an error. Where it printed nothing, this ends the program.
    """
    command = ["cs336-bench", *arguments, "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: tool.send_signal(number))
        output, _ = tool.communicate()
    if not output:
        sys.exit(f"failed: {shlex.join(command)}")
    return json.loads(output), tool.returncode != 0, tool.returncode

"""Interpreters that stand for a Python with PyTorch: they run a program of a test instead of their arguments."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

# Answers the question for packages, which comes first and in a process of its own, as if all were installed.
HAS_PACKAGES = """
import json, sys
if sys.argv[1] == "-c":
    names = json.loads(sys.stdin.readline())["packages"]
    print(json.dumps({"versions": dict.fromkeys(names, "1.0"), "missing": {}}))
    sys.exit()
"""


def make_python(folder: Path, program: str, check: str = HAS_PACKAGES) -> str:
    """Write an interpreter that runs `check`, which ends the process that looks for packages, and then `program`."""
    path = folder / "peer"
    path.write_text(f"#!{sys.executable}\n{check}\n{program}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)

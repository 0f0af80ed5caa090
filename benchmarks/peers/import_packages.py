"""Imports packages, whose names are one line of standard input in JSON, and prints their versions or errors in JSON."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys

versions, missing = {}, {}
for name in json.loads(sys.stdin.readline())["packages"]:
    # A package that prints would disturb the answer. One that is broken may raise anything.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            versions[name] = str(getattr(importlib.import_module(name), "__version__", "unknown"))
        except Exception as error:
            missing[name] = f"{error or type(error).__name__}".splitlines()[0]
print(json.dumps({"versions": versions, "missing": missing}), flush=True)

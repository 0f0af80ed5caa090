# ===- write_profile.py - Results with a profile --------------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Write results as `cs336-bench model --profile` on a GPU does, with made-up times.

The functions are those of the results of `cs336-bench explain`, in order, each with ten instances.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("explained", type=Path)
parser.add_argument("path", type=Path)
parser.add_argument("nanoseconds", type=int, nargs="+")
arguments = parser.parse_args()

kernels = json.loads(arguments.explained.read_text())["results"]
functions = [function["function"] for kernel in kernels for function in kernel["functions"]]
profile = [
    {"name": name, "total_ns": total, "instances": 10}
    for name, total in zip(functions, arguments.nanoseconds, strict=True)
]
document = {
    "schema": "cs336.results",
    "version": 2,
    "benchmark": "model",
    "device": {"kind": "cuda"},
    "columns": [],
    "results": [{"mode": kernels[0]["launched_for"][0]["entry"], "profile": profile}],
}
arguments.path.write_text(json.dumps(document))

"""Programs that answer a benchmark's jobs like PyTorch, with the NumPy model of these tests."""

from __future__ import annotations

from pathlib import Path

# Runs once per job; the rest of a program uses `job`, `config` and `parameters`.
HEAD = """
import json, sys
sys.path.insert(0, {folder!r})
import numpy as np
import reference
from safetensors.numpy import load_file

for line in sys.stdin:
    job = json.loads(line)
    fields = reference.Config.__dataclass_fields__
    config = reference.Config(**{{key: value for key, value in job["config"].items() if key in fields}})
    parameters = {{name: value.astype(np.float64) for name, value in load_file(job["params"]).items()}}
"""


def numpy_peer(answer: str, **values: float) -> str:
    """Return a program whose `answer`, indented like the loop over jobs, prints a line of JSON.

    `values` replace their names in the answer, a format string.
    """
    return (HEAD + answer).format(folder=str(Path(__file__).parent), **values)

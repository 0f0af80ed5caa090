"""The protocol of PyTorch's side of a comparison: one job per line of input, one answer per line of output."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable

import torch

Job = dict[str, object]


class UnsupportedError(Exception):
    """PyTorch has no function for a job. The other side shows the reason in place of times."""


def answer_jobs(measure: Callable[[Job], dict[str, object]]) -> None:
    """Answer every line of standard input, a job in JSON, with the result of `measure`."""
    for line in sys.stdin:
        try:
            answer = measure(json.loads(line))
        except torch.OutOfMemoryError:
            answer = {"error": "out of memory"}
        except UnsupportedError as error:
            answer = {"unsupported": str(error)}
        # Free memory before the answer, because the other side then measures and reads the device's memory.
        torch.compiler.reset()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        print(json.dumps(answer), flush=True)

"""How PyTorch's side of a comparison is spoken to: it reads a job a line, and answers each with a line."""

from __future__ import annotations

import gc
import json
import signal
import sys
from collections.abc import Callable

import torch

Job = dict[str, object]


def answer_jobs(measure: Callable[[Job], dict[str, object]]) -> None:
    """Answers every line of standard input, JSON, with what `measure` makes of it."""
    # Ctrl-C reaches this process too, and the other side says what came of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for line in sys.stdin:
        try:
            answer = measure(json.loads(line))
        except torch.OutOfMemoryError:
            answer = {"error": "out of memory"}
        # Before the answer: then the other side measures, and counts the device's memory.
        torch.compiler.reset()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        print(json.dumps(answer), flush=True)

"""Attention's kernels end and give the same bits whatever else the device does: many launches beside random work."""

from __future__ import annotations

import os
import threading
import time

import cs336
import numpy as np
import pytest
from attention_scores import Attention, cap, causal, documents
from device import DEVICE, compile_program, open_session
from dialect_program import Array, Program
from test_attention import Shape

# A run has a forward and a backward pass. Runs on CPUs and under compute-sanitizer only test the test.
RUNS = 10_000 if DEVICE != "cpu" and "CS336_TEST_TOOL" not in os.environ else 6
# Runs that are enqueued before their results are read.
BURST = max(RUNS // 20, 2)

# One case for each way to choose kernels on GPUs of compute capability 9.0: short, long, grouped heads, wide heads,
# many heads, tiles that data hides, and a score function with derivatives where one pass computes all gradients.
CASES = [
    Shape(2, 130, 2, 64),
    Shape(1, 1100, 4, 64, key_heads=2),
    Shape(1, 2100, 2, 128),
    Shape(1, 577, 2, 80),
    Shape(1, 300, 54, 64, key_heads=27),
    Shape(1, 260, 53, 72),
    Attention("documents", 1, 1100, 1100, 4, 2, 64, (documents, causal())),
    Attention("documents-of-many-heads", 1, 1100, 1100, 20, 2, 40, (documents, causal())),
    Attention("wide-documents", 1, 1100, 1100, 2, 2, 128, (documents, causal())),
    Attention("cap", 1, 1100, 1100, 4, 2, 64, (cap(2.0), causal())),
]
if DEVICE == "cpu":
    # The CPU has one kind of kernel for all of them.
    CASES = [CASES[0], CASES[3], CASES[-1]]


def open_attention(case: Shape | Attention, dtype: str) -> tuple[cs336.Session, dict[str, Array]]:
    """Return a session of an attention, and its inputs."""
    program = case.program()
    session = open_session(compile_program(program.text("forward_backward"), fusion="flash", dtype=dtype))
    session.initialize(0)
    for name, array in program.parameters.items():
        session[name] = array
    return session, program.inputs


class RandomWork:
    """Occupies the device in another thread: matmuls of two sizes, in groups of random length at random times."""

    def __init__(self) -> None:
        self._sessions = [self._open(size) for size in (64, 1024 if DEVICE != "cpu" else 96)]
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work)
        self._started = threading.Event()

    @staticmethod
    def _open(size: int) -> cs336.Session:
        program = Program("work")
        ones = np.ones((size, size))
        left, right = (program.parameter(ones, "f32") for _ in range(2))
        program.output("y", program.matmul(left, right))
        session = open_session(compile_program(program.text("forward"), dtype="bf16"))
        session.initialize(0)
        for name, array in program.parameters.items():
            session[name] = array
        return session

    def _work(self) -> None:
        rng = np.random.default_rng(0)
        try:
            while not self._stop.is_set():
                session = self._sessions[rng.integers(2)]
                for _ in range(rng.integers(1, 20)):
                    session.run("work", {}, outputs=[])
                session.synchronize()
                self._started.set()
                time.sleep(rng.exponential(1e-3))
        except BaseException as error:  # Raised in the thread of the test.
            self._error = error
            self._started.set()

    def __enter__(self) -> None:
        self._thread.start()
        self._started.wait()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error:
            raise self._error


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_launches_beside_random_work_end_with_the_same_bits(case: Shape | Attention, dtype: str) -> None:
    session, inputs = open_attention(case, dtype)
    first = session.run("attention", inputs)
    rng = np.random.default_rng(1)
    with RandomWork():
        for start in range(0, RUNS, BURST):
            for number in range(start, min(start + BURST, RUNS)):
                session.run("attention", inputs, outputs=[])
                if number % 50 == 0:
                    time.sleep(rng.exponential(1e-3))
            again = session.run("attention", inputs)
            assert all(again[name].tobytes() == value.tobytes() for name, value in first.items())

"""Results depend neither on the number of threads that the system grants, nor on a process's other threads."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
import reference
from compiled_model import optimizer, transformer_config

CONFIG = reference.Config(101, 24, 48, 2, 3, 72, batch_size=3)
TOKENS, TARGETS = reference.random_batch(CONFIG, np.random.default_rng(3))
INPUTS = {"tokens": TOKENS, "targets": TARGETS}

# Values of OpenMP's environment variables; oneDNN's GEMMs use OpenMP.
ENVIRONMENTS = (
    {"OMP_DYNAMIC": "true"},
    {"OMP_THREAD_LIMIT": "1"},
    {"OMP_THREAD_LIMIT": "3", "OMP_DYNAMIC": "true"},
    {"OMP_NUM_THREADS": "1"},
    {"OMP_NUM_THREADS": "3,2", "OMP_MAX_ACTIVE_LEVELS": "3"},
    {"OMP_NUM_THREADS": "100000"},
    {"OMP_WAIT_POLICY": "active"},
    {"OMP_WAIT_POLICY": "passive"},
    {"OMP_PROC_BIND": "true", "OMP_PLACES": "{0}"},
    {"OMP_STACKSIZE": "16K"},
    {"GOMP_SPINCOUNT": "infinite"},
)

TRAINING = """
import sys
import cs336, numpy as np
import test_threads
session = cs336.Session(test_threads.compiled(), num_threads=int(sys.argv[1]))
session.initialize(5)
for _ in range(3):
    print(session.run("train", test_threads.INPUTS)["loss"].tobytes().hex())
"""


@cache
def compiled() -> cs336.Executable:
    module = cs336.build(transformer_config(CONFIG), "train", "f32", optimizer(reference.Optimizer(max_norm=1.0)))
    return cs336.compile(module)


def train_in_process(threads: int, environment: dict[str, str]) -> str:
    """Return the losses of three steps, as bytes, from a process of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    process = subprocess.run(
        [sys.executable, "-c", TRAINING, str(threads)],
        env=clean | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@cache
def expected_losses() -> str:
    return train_in_process(4, {})


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda e: "-".join(f"{k}={v}" for k, v in e.items()))
def test_openmp_environments_do_not_change_results(environment: dict[str, str]) -> None:
    assert train_in_process(4, environment) == expected_losses()


@pytest.mark.parametrize("limit", ["3", "100000"])
def test_the_default_number_of_threads_follows_openmp(limit: str) -> None:
    losses = [float(np.frombuffer(bytes.fromhex(line), np.float32)[0]) for line in train_in_process(0, {}).split()]
    found = train_in_process(0, {"OMP_NUM_THREADS": limit}).split()
    np.testing.assert_allclose(
        [float(np.frombuffer(bytes.fromhex(line), np.float32)[0]) for line in found], losses, rtol=1e-5
    )


@pytest.mark.parametrize("threads", [4097, 40_000, 1_000_000])
def test_too_many_threads_are_an_error(threads: int) -> None:
    with pytest.raises(ValueError, match=f"num_threads is {threads}, must be from 1 to 4096"):
        cs336.Session(compiled(), num_threads=threads)


def train(session: cs336.Session, steps: int = 3) -> list[float]:
    session.initialize(5)
    return [float(session.run("train", INPUTS)["loss"]) for _ in range(steps)]


def in_child_of_fork(call: Callable[[], Any]) -> Any:
    """Return the result of `call` in a child process."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, call))
    process.start()
    try:
        assert receiver.poll(60), "the child hangs"
        return receiver.recv()
    finally:
        process.kill()
        process.join()


def _send(sender: Any, call: Callable[[], Any]) -> None:
    sender.send(call())


def train_new_session() -> list[float]:
    return train(cs336.Session(compiled(), num_threads=4))


def test_a_child_trains_after_its_parent() -> None:
    expected = train_new_session()
    assert in_child_of_fork(train_new_session) == expected


def test_a_session_works_in_both_processes_after_fork() -> None:
    session = cs336.Session(compiled(), num_threads=4)
    expected = train(session)
    assert in_child_of_fork(lambda: train(session)) == expected
    assert train(session) == expected


def test_two_threads_in_one_session_never_get_a_wrong_result() -> None:
    session = cs336.Session(compiled(), num_threads=2)
    session.initialize(5)
    rng = np.random.default_rng(0)
    batches = [dict(zip(("tokens", "targets"), reference.random_batch(CONFIG, rng), strict=True)) for _ in range(2)]
    expected = [float(session.run("loss", batch)["loss"]) for batch in batches]
    counts = {"right": 0, "refused": 0, "wrong": 0}
    count = threading.Lock()

    def run_often(index: int) -> None:
        for _ in range(300):
            try:
                loss = float(session.run("loss", batches[index])["loss"])
                outcome = "right" if loss == expected[index] else "wrong"
            except RuntimeError as error:
                assert "in use by another thread" in str(error)
                outcome = "refused"
            with count:
                counts[outcome] += 1

    threads = [threading.Thread(target=run_often, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts["wrong"] == 0
    assert counts["right"] > 0
    assert sum(counts.values()) == 600


def turns_during(call: Callable[[], Any]) -> int:
    """Return how often another Python thread, which sleeps 0.1 ms after every turn, runs during the call."""
    turns, ended = 0, threading.Event()

    def count_turns() -> None:
        nonlocal turns
        while not ended.wait(1e-4):
            turns += 1

    thread = threading.Thread(target=count_turns)
    thread.start()
    before = turns
    call()
    during = turns - before
    ended.set()
    thread.join()
    return during


@pytest.mark.parametrize("call", ["save", "load", "initialize"])
def test_other_threads_run_meanwhile(call: str, tmp_path: Path) -> None:
    """Another Python thread makes progress while a session writes, reads or fills its variables."""
    config = transformer_config(reference.Config(2000, 64, 256, 4, 4, 1024, batch_size=1))
    session = cs336.Session(cs336.compile(cs336.build(config, "forward", "f32")), num_threads=1)
    session.initialize(0)
    session.save(tmp_path / "variables.safetensors")
    calls = {
        "save": lambda: session.save(tmp_path / "variables.safetensors"),
        "load": lambda: session.load(tmp_path / "variables.safetensors"),
        "initialize": lambda: session.initialize(1),
    }
    # A call that keeps the interpreter's lock allows one or two turns around it, however often it is made.
    # A call that gives the lock up allows more, unless the machine's other processes leave the thread no core.
    assert any(turns_during(calls[call]) > 4 for _ in range(20))


def test_resuming_with_another_number_of_threads_says_so(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    session = cs336.Session(compiled(), num_threads=2)
    session.initialize(5)
    session.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.load(path)
        cs336.Session(compiled(), num_threads=3).load(path, parameters_only=True, ignore_extra=True)
    with pytest.warns(UserWarning, match="num_threads = 2, but this one has 3: the last bits of further steps differ"):
        cs336.Session(compiled(), num_threads=3).load(path)


def test_a_module_works_in_both_processes_after_fork() -> None:
    module = cs336.build(cs336.TransformerConfig.named("tiny", context_length=8, batch_size=1), "forward")
    cs336.compile(module, use_cache=False)
    for call in (
        lambda: str(module),
        lambda: str(module.run_passes("cs336-decompose")),
        lambda: cs336.compile(module, use_cache=False).entries,
    ):
        assert in_child_of_fork(call) == call()


def test_threads_that_share_a_module_get_their_own_errors() -> None:
    module = cs336.build(cs336.TransformerConfig.named("tiny", context_length=8, batch_size=1))
    ends, foreign = threading.Event(), []

    def run_passes() -> None:
        while not ends.is_set():
            with pytest.raises(ValueError, match="does not refer to a registered pass") as error:
                module.run_passes("cs336-memory{no}")
            foreign.extend([str(error.value)] if "budget" in str(error.value) else [])

    thread = threading.Thread(target=run_passes)
    thread.start()
    try:
        for _ in range(5):
            with pytest.raises(ValueError, match="memory budget 1KiB"):
                cs336.compile(module, use_cache=False, memory_budget="1KiB")
    finally:
        ends.set()
        thread.join()
    assert not foreign


SIGNALS = """
import signal, time
import cs336, numpy as np
config = cs336.TransformerConfig.named("tiny", context_length=128, batch_size=4)
session = cs336.Session(cs336.compile(cs336.build(config, "forward")), num_threads=2)
session.initialize(1)
tokens = {"tokens": np.arange(512).reshape(4, 128)}
expected = session.run("forward", tokens)["logits"]
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
end = time.monotonic() + 2
while time.monotonic() < end:
    assert np.array_equal(session.run("forward", tokens)["logits"], expected)
signal.setitimer(signal.ITIMER_REAL, 0)
print("same")
"""


def test_signals_do_not_change_results() -> None:
    """Also during oneDNN's kernels, within which handlers that do nothing corrupted the heap."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", SIGNALS], capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stdout) == (0, "same\n"), done.stderr

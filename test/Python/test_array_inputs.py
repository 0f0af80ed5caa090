"""Values passed to a session arrive as NumPy has them, or are rejected by name; `arrays_fuzzer.py` tries more."""

from __future__ import annotations

import threading
from typing import Any

import array_cases
import cs336
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

few = settings(max_examples=2000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def session() -> cs336.Session:
    return array_cases.make_session()


@few
@given(st.data())
def test_values_arrive_or_are_refused(session: cs336.Session, data: st.DataObject) -> None:
    port = data.draw(array_cases.ports)
    array_cases.check_value(session, port, data.draw(array_cases.values(*array_cases.PORTS.get(port, ("f32", (2, 3))))))


@few
@given(array_cases.names)
def test_names_are_found_or_refused(session: cs336.Session, name: Any) -> None:
    array_cases.check_name(session, name)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, None, "1"])
def test_seeds_that_are_not_64_bits_are_refused(session: cs336.Session, seed: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"seed is|seed must be an integer"):
        session.initialize(seed)


@pytest.mark.parametrize(
    "value", [np.zeros((2, 3), "O"), np.zeros((2, 3), "U2"), None, np.zeros((2, 3), [("x", "f4")])]
)
def test_values_without_a_type_of_tensors_are_refused_by_name(session: cs336.Session, value: Any) -> None:
    inputs = array_cases.good_inputs() | {"f32": value}
    with pytest.raises((TypeError, ValueError), match="input 'f32' is a f32"):
        session.run("identity", inputs)


def test_an_array_larger_than_memory_is_refused_before_it_is_copied(session: cs336.Session) -> None:
    inputs = array_cases.good_inputs() | {"f64": np.broadcast_to(np.float32(1), (1 << 20, 1 << 20))}
    with pytest.raises(ValueError, match=r"input 'f64' is a f64\[2, 3\], but the value is a f32\[1048576, 1048576\]"):
        session.run("identity", inputs)


def test_indices_that_another_thread_changes_stay_within_their_bound() -> None:
    """The session checks its own copy: a run rejects bad indices, or computes with valid ones."""
    text = """
    func.func @rows(%w: tensor<4x2xf32>, %i: tensor<4096xi64> {cs336.bound = 4 : i64, cs336.kind = "input",
                    cs336.name = "i"}) -> tensor<4096x2xf32> {
      %0 = cs336.embedding %w, %i : tensor<4x2xf32>, tensor<4096xi64> -> tensor<4096x2xf32>
      return %0 : tensor<4096x2xf32>
    }
    """
    session = cs336.Session(cs336.compile(text))
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    indices = np.zeros(4096, np.int64)
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            indices[-1] = 1 << 40
            indices[-1] = 3

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            try:
                (rows,) = session.run("rows", {"arg0": table, "i": indices}).values()
            except ValueError as error:
                assert "outside of [0, 4)" in str(error)
            else:
                assert rows[-1].tolist() in table.tolist()
    finally:
        done.set()
        thread.join()

"""Snapshots of cs336-bench have the structure of those that PyTorch writes, and the same checker reads both.

`torch_snapshot.py` made the file on a GPU. Two things differ from ours: PyTorch's allocator has no categories, which
only the viewer reads, and it records the snapshot itself as an event.
"""

from __future__ import annotations

import copy
import os
import pickle
import pickletools
import subprocess
from pathlib import Path
from typing import Any

import pytest
from memory_snapshot import ACTIONS, TINY, check_contents, check_snapshot

DATA = (Path(__file__).with_name("Inputs") / "torch_snapshot.pickle").read_bytes()
MOST_BYTES = 100_000


def complete(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return PyTorch's snapshot with categories, and without the event of the snapshot itself."""
    snapshot = copy.deepcopy(snapshot)
    for events in snapshot["device_traces"]:
        events[:] = [{**event, "category": "unknown"} for event in events if event["action"] != "snapshot"]
    return snapshot


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    """Give PyTorch's snapshot."""
    return pickle.loads(DATA)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Give the snapshot of a plan."""
    path = tmp_path_factory.mktemp("plan") / "s.pickle"
    command = ["cs336-bench", "plan", "--device", "cuda", *TINY, "--mode", "train", "--snapshot", str(path)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    check_snapshot(path.read_bytes())
    return pickle.loads(path.read_bytes())


def merge(values: list[dict[str, Any]]) -> dict[str, set[type]]:
    """Return the keys of objects, with the types of their values."""
    types: dict[str, set[type]] = {}
    for value in values:
        for key, each in value.items():
            types.setdefault(key, set()).add(type(each))
    return types


def frames_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [frame for event in events for frame in event["frames"]]


def blocks_of(snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for segment in snapshot["segments"] for block in segment["blocks"]]


def assert_subset(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], own: frozenset[str] = frozenset()) -> None:
    """Check that objects have keys of PyTorch's, with values of the same types."""
    known = merge(theirs)
    for key, types in merge(ours).items():
        if key not in own:
            assert types <= known.get(key, set()), key


def test_the_checker_accepts_a_snapshot_of_pytorch(theirs: dict[str, Any]) -> None:
    assert len(DATA) < MOST_BYTES
    assert max(value for opcode, value, _ in pickletools.genops(DATA) if opcode.name == "PROTO") <= 4
    trace = check_contents(complete(theirs))
    assert max(trace.totals) > sum(trace.live.values()) > 0


def test_the_checker_rejects_a_snapshot_of_pytorch_that_is_broken(theirs: dict[str, Any]) -> None:
    broken = complete(theirs)
    freed = next(event for event in broken["device_traces"][0] if event["action"] == "free_completed")
    freed["size"] += 512
    with pytest.raises(AssertionError):
        check_contents(broken)


def test_snapshots_have_the_structure_of_those_of_pytorch(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    (own,), (events,) = ours["device_traces"], theirs["device_traces"]
    assert_subset([ours], [theirs])
    assert_subset(ours["segments"], theirs["segments"])
    assert_subset(blocks_of(ours), blocks_of(theirs))
    assert_subset(own, events, own=frozenset({"category"}))
    assert set(merge(frames_of(own))) == set(merge(frames_of(events)))
    assert_subset(frames_of(own), frames_of(events))
    assert {event["action"] for event in own} == {event["action"] for event in events} - {"snapshot"} == ACTIONS
    assert {block["state"] for block in blocks_of(ours)} <= {block["state"] for block in blocks_of(theirs)}
    assert {segment["segment_type"] for segment in ours["segments"]} <= {
        segment["segment_type"] for segment in theirs["segments"]
    }
    assert not any("category" in event for event in events)

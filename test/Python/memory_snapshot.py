"""Checks memory snapshots against the requirements of the viewer at pytorch.org/memory_viz."""

from __future__ import annotations

import pickle
import pickletools
from dataclasses import dataclass, field

# Flags of plans whose snapshots are checked.
TINY = ["--size", "tiny", "--context-length", "16", "--vocab-size", "50", "--batch-size", "2"]
PLANS = [
    [*TINY, "--mode", "forward"],
    [*TINY, "--mode", "train", "--dtype", "bf16"],
    ["--size", "small", "--mode", "forward_backward", "--fusion", "none"],
    ["--size", "2.7B", "--context-length", "2048", "--mode", "train"],
]
OPCODES = {
    *("PROTO", "STOP", "MARK", "MEMOIZE", "BINGET", "LONG_BINGET"),
    *("EMPTY_DICT", "SETITEMS", "EMPTY_LIST", "APPENDS"),
    *("BININT", "BININT1", "BININT2", "LONG1", "SHORT_BINUNICODE", "BINUNICODE"),
}
MOST_BYTES = 20_000_000
ACTIONS = {"segment_alloc", "alloc", "free_requested", "free_completed"}
HIDDEN = ("unwind::unwind", "gather_with_cpp", "_start", "PyEval_", "PyObject_", "PyFunction_")


@dataclass
class Trace:
    """The state of memory after each event.

    Attributes
    ----------
    totals
        The bytes of all live allocations after each event.
    live
        Address and size of the allocations that are live at the end.
    """

    totals: list[int] = field(default_factory=list)
    live: dict[int, int] = field(default_factory=dict)


def check_opcodes(data: bytes) -> None:
    """Check the size, the opcodes and the integers of a pickle."""
    assert len(data) < MOST_BYTES, f"{len(data)} bytes"
    for opcode, value, _ in pickletools.genops(data):
        assert opcode.name in OPCODES, f"opcode {opcode.name}"
        if opcode.name == "PROTO":
            assert 2 <= value <= 4, f"protocol {value}"
        if isinstance(value, int):
            assert abs(value) < 2**53, f"integer {value}"


def check_batches(data: bytes) -> None:
    """Check that lists grow by at most 1000 elements at a time, which readers in JavaScript pass as arguments."""
    marks: list[int] = []
    for opcode, _, _ in pickletools.genops(data):
        if opcode.name == "MARK":
            marks.append(0)
        elif opcode.name in ("APPENDS", "SETITEMS"):
            count = marks.pop()
            assert opcode.name == "SETITEMS" or count <= 1000, f"a batch of {count} elements"
        elif marks and opcode.stack_after and not opcode.stack_before:
            marks[-1] += 1


def check_frames(frames: list[dict]) -> None:
    for frame in frames:
        assert set(frame) == {"filename", "line", "name"}, frame
        assert isinstance(frame["line"], int), frame
        assert frame["name"] and not any(name in frame["name"] for name in HIDDEN), f"frame {frame['name']}"


def check_events(events: list[dict]) -> Trace:
    """Replay the events of one device, and check that each is possible."""
    trace, segments, requested, last, total = Trace(), [], set(), 0, 0
    for event in events:
        assert event["action"] in ACTIONS, event["action"]
        assert event["category"], "an event without a category"
        assert event["time_us"] >= last, "time goes back"
        last = event["time_us"]
        check_frames(event["frames"])
        address, size = event["addr"], event["size"]
        if event["action"] == "segment_alloc":
            segments.append((address, address + size))
        elif event["action"] == "alloc":
            assert size > 0 and address not in trace.live, f"address {address} is in use"
            assert event["frames"], "an allocation without frames"
            assert any(start <= address and address + size <= end for start, end in segments), "outside of segments"
            trace.live[address] = size
            total += size
        elif event["action"] == "free_requested":
            assert trace.live[address] == size
            requested.add(address)
        else:
            requested.remove(address)
            assert trace.live.pop(address) == size
            total -= size
        trace.totals.append(total)
    assert not requested, "requested, but never completed"
    return trace


def check_disjoint(events: list[dict]) -> None:
    """Check that no allocation shares an address with another live one."""
    live: dict[int, int] = {}
    for event in events:
        start, end = event["addr"], event["addr"] + event["size"]
        if event["action"] == "alloc":
            clash = [a for a, s in live.items() if a < end and start < a + s]
            assert not clash, f"[{start}, {end}) overlaps the allocation at {clash[0]}"
            live[start] = event["size"]
        elif event["action"] == "free_completed":
            live.pop(start)


def check_segments(segments: list[dict], live: dict[int, int]) -> None:
    """Check that blocks cover their segments, and that the active ones are live at the end."""
    active = {}
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == address, "a gap between blocks"
            assert block["state"] in ("active_allocated", "inactive"), block["state"]
            check_frames(block["frames"])
            address += block["size"]
            if block["state"] == "active_allocated":
                active[block["address"]] = block["requested_size"]
        assert address == segment["address"] + segment["total_size"], "blocks do not cover the segment"
        assert segment["allocated_size"] == sum(active.get(b["address"], 0) for b in segment["blocks"])
    assert active == live, "active blocks are not what is live at the end"


def check_snapshot(data: bytes) -> Trace:
    """Check a whole file. Return the state of memory after each event."""
    check_opcodes(data)
    check_batches(data)
    return check_contents(pickle.loads(data))


def check_contents(snapshot: dict) -> Trace:
    """Check a snapshot that was read. Return the state of memory after each event."""
    (events,) = snapshot["device_traces"]
    assert "unknown" in {event["category"] for event in events}, "the viewer requires the category unknown"
    trace = check_events(events)
    check_disjoint(events)
    check_segments(snapshot["segments"], trace.live)
    return trace

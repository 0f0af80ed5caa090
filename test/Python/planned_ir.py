"""Reads printed, planned exec IR: allocations and outputs, their aliases, and when they are used.

Shares no code with the planner: it reads only the text.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

_ELEMENT_BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i1": 1}
_NAME = re.compile(r"%[\w.$-]+(?:#\d+)?")
_ENTRY = re.compile(r"^\s*exec\.entry @(\S+) .*?arena_bytes = (\d+)")
_ALLOC = re.compile(r"^\s*(%[\w.$-]+) = exec\.(?:alloc|(output) \S+ \w+) offset = (\d+).*: memref<([^>]*?)>")
_ALIAS = re.compile(r"^\s*(%[\w.$-]+) = exec\.view (%[\w.$-]+)")
_COMMAND = re.compile(r"^\s*exec\.(launch|gemm|copy|collective|record|wait)\b")


@dataclass
class Allocation:
    """A piece of the arena and the first and last command that names it; for an output, the last is the entry's end."""

    name: str
    offset: int
    size: int
    first: int | None = None
    last: int | None = None

    @property
    def end(self) -> int:
        return self.offset + self.size

    def is_live_with(self, other: Allocation) -> bool:
        """Return true if some command lies in both lifetimes."""
        if self.first is None or self.last is None or other.first is None or other.last is None:
            return False
        return self.first <= other.last and other.first <= self.last


@dataclass
class Entry:
    """One entry of a module."""

    name: str
    arena_bytes: int
    allocations: dict[str, Allocation] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def largest_live_set(self) -> int:
        """Return the most bytes that are live at once."""
        change = [0] * (len(self.commands) + 1)
        for allocation in self.allocations.values():
            if allocation.first is not None and allocation.last is not None:
                change[allocation.first] += allocation.size
                change[allocation.last + 1] -= allocation.size
        live = largest = 0
        for step in change:
            live += step
            largest = max(largest, live)
        return largest


def tensor_bytes(body: str) -> int:
    """Return the bytes of a dense memref, from the text between its angle brackets."""
    *sizes, dtype = body.split(",")[0].split("x")
    return math.prod(int(size) for size in sizes) * _ELEMENT_BYTES[dtype]


def read_entries(text: str) -> dict[str, Entry]:
    """Return all entries of a module's text, by name."""
    entries: dict[str, Entry] = {}
    entry: Entry | None = None
    storage: dict[str, str] = {}
    for line in text.splitlines():
        if match := _ENTRY.match(line):
            entry = entries[match[1]] = Entry(match[1], int(match[2]))
            storage = {}
        elif entry is None:
            continue
        elif match := _ALLOC.match(line):
            entry.allocations[match[1]] = Allocation(match[1], int(match[3]), tensor_bytes(match[4]))
            storage[match[1]] = match[1]
            if match[2]:
                entry.outputs.append(match[1])
        elif match := _ALIAS.match(line):
            if match[2] in storage:
                storage[match[1]] = storage[match[2]]
        elif match := _COMMAND.match(line):
            index = len(entry.commands)
            entry.commands.append(match[1])
            for name in _NAME.findall(line):
                if name in storage:
                    allocation = entry.allocations[storage[name]]
                    allocation.first = index if allocation.first is None else allocation.first
                    allocation.last = index
    for entry in entries.values():
        for name in entry.outputs:
            entry.allocations[name].last = len(entry.commands) - 1
    return entries

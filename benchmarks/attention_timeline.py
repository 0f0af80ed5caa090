#!/usr/bin/env python3
"""Draws the work of a multiprocessor in the forward pass of attention, computed from the rates of its units.

A block of runtime/kernels/warpgroup_attention_forward.cuh runs on one multiprocessor of an H200. The model has three
units with the rates of compute capability 9.0: tensor cores, which run one matmul after the other, and exponentials and
float32 arithmetic, which warpgroups share. It has no latencies, so a real block takes longer.

benchmarks/attention_timeline.py --output docs/attention-timeline.svg
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Per clock and multiprocessor: multiply-adds of bf16 in tensor cores, exponentials, and operations in float32.
MULTIPLY_ADDS, EXPONENTIALS, ARITHMETIC = 2048, 16, 128
# Operations in float32 per score: the maximum, the scaled difference, the sum, and the conversion to bf16.
OPERATIONS = 4
ROWS, KEYS = 64, 128  # Queries of a warpgroup, and keys of a tile.
STEP = 4  # Clocks of a step of the simulation.

LEFT, LANE, WIDTH = 150, 26, 860
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f")


@dataclass
class Work:
    """Work of one unit for one warpgroup, in clocks of the whole unit."""

    unit: str
    warpgroup: int
    label: str
    clocks: float
    start: float = -1.0
    end: float = -1.0


@dataclass
class Block:
    """The units of a multiprocessor and the warpgroups of a block."""

    head_dim: int
    warpgroups: int
    tiles: int
    done: list[Work] = field(default_factory=list)
    turn: int = 0

    def __post_init__(self) -> None:
        self.matmuls: deque[Work] = deque()
        self.shared: dict[str, list[Work]] = {"exponentials": [], "arithmetic": []}

    def start(self, unit: str, warpgroup: int, label: str, clocks: float) -> Work:
        work = Work(unit, warpgroup, label, clocks)
        (self.matmuls if unit == "matmuls" else self.shared[unit]).append(work)
        return work

    def run_warpgroup(self, number: int) -> Iterator[Work | None]:
        """Yield the work that the warpgroup waits for, or None while another warpgroup has the turn."""
        matmul = ROWS * KEYS * self.head_dim / MULTIPLY_ADDS
        values = None
        for tile in range(self.tiles):
            while self.turn != number:
                yield None
            scores = self.start("matmuls", number, f"S{tile}", matmul)
            if tile > 0:
                values = self.start("matmuls", number, f"PV{tile - 1}", matmul)
            self.turn = (number + 1) % self.warpgroups
            yield scores
            yield self.start("arithmetic", number, "", OPERATIONS * ROWS * KEYS / ARITHMETIC)
            yield self.start("exponentials", number, f"exp{tile}", ROWS * KEYS / EXPONENTIALS)
            if values:
                yield values
        yield self.start("matmuls", number, f"PV{self.tiles - 1}", matmul)

    def advance(self, now: float) -> None:
        """Advance every unit by one step of time. Warpgroups that use a unit at the same time share it."""
        for queue, active in [
            (self.matmuls, list(self.matmuls)[:1]),
            *((each, list(each)) for each in self.shared.values()),
        ]:
            for work in active:
                work.start = now if work.start < 0 else work.start
                work.clocks -= STEP / len(active)
                if work.clocks <= 0:
                    work.end = now + STEP
                    queue.remove(work)
                    self.done.append(work)

    def run(self) -> float:
        """Return the clocks of the block."""
        programs = [self.run_warpgroup(number) for number in range(self.warpgroups)]
        waiting: list[Work | None] = [None] * self.warpgroups
        running = set(range(self.warpgroups))
        now = 0.0
        while running:
            for number in sorted(running):
                while waiting[number] is None or waiting[number].end >= 0:
                    try:
                        waiting[number] = next(programs[number])
                    except StopIteration:
                        running.discard(number)
                        break
                    if waiting[number] is None:
                        break
            self.advance(now)
            now += STEP
        return now

    def get_share(self, unit: str) -> float:
        """Return the share of time for which a unit is busy while all warpgroups have tiles left."""
        first = max(
            min(work.start for work in self.done if work.warpgroup == number) for number in range(self.warpgroups)
        )
        last = min(
            max(work.start for work in self.done if work.warpgroup == number) for number in range(self.warpgroups)
        )
        busy = sorted((max(w.start, first), min(w.end, last)) for w in self.done if w.unit == unit and w.start < last)
        total, until = 0.0, first
        for start, end in busy:
            total += max(0.0, end - max(start, until))
            until = max(until, end)
        return total / (last - first)


def draw_block(block: Block, clocks: float, top: int, scale: float) -> list[str]:
    """Return the elements of one block: a lane for the tensor cores, and one per warpgroup."""
    title = f"{block.warpgroups} warpgroup{'s' * (block.warpgroups > 1)}, head_dim {block.head_dim}"
    shares = ", ".join(f"{name} busy {100 * block.get_share(unit):.0f} %" for unit, name in UNITS.items())
    parts = [
        f'<text x="8" y="{top}" font-weight="bold">{title}: {clocks / block.warpgroups / block.tiles:.0f} clocks per '
        f"tile and warpgroup; {shares}</text>"
    ]
    lanes = ["tensor cores", *(f"warpgroup {number}" for number in range(block.warpgroups))]
    for number, lane in enumerate(lanes):
        parts.append(f'<text x="8" y="{top + 24 + number * LANE}">{lane}</text>')
    for work in block.done:
        lane = 0 if work.unit == "matmuls" else 1 + work.warpgroup
        x, width = LEFT + work.start * scale, (work.end - work.start) * scale
        y = top + 9 + lane * LANE
        opacity = {"matmuls": 0.9, "exponentials": 0.75, "arithmetic": 0.3}[work.unit]
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{COLOURS[work.warpgroup]}" '
            f'fill-opacity="{opacity}" stroke="white"/>'
        )
        if width > 7 * len(work.label) and work.label:
            parts.append(
                f'<text x="{x + width / 2:.1f}" y="{y + 14}" text-anchor="middle" font-size="10">{work.label}</text>'
            )
    return parts


UNITS = {"matmuls": "tensor cores", "exponentials": "exponentials"}
BLOCKS = ((64, 1), (64, 2), (64, 3), (128, 2))


def draw() -> str:
    """Return the picture as SVG."""
    tiles = 5
    blocks = [Block(head_dim, warpgroups, tiles) for head_dim, warpgroups in BLOCKS]
    clocks = [block.run() for block in blocks]
    scale = (WIDTH - LEFT) / max(clocks)
    parts, top = [], 24
    for block, each in zip(blocks, clocks, strict=True):
        parts += draw_block(block, each, top, scale)
        top += 40 + (1 + block.warpgroups) * LANE
    parts.append(
        f'<text x="8" y="{top}">S: scores of a tile, followed by PV of the tile before: probabilities times '
        "values. Pale: float32 arithmetic before the exponentials.</text>"
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 20}" height="{top + 16}" '
        'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the picture, as SVG")
    output = parser.parse_args().output
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(draw())


if __name__ == "__main__":
    main()

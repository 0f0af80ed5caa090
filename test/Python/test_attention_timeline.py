# ===- test_attention_timeline.py - The timeline of attention's kernel -----===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""`benchmarks/attention_timeline.py`: docs/AttentionTimeline.md has the picture and the numbers of the model."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_and_the_page_are_those_of_the_model(tmp_path: Path) -> None:
    drawn = tmp_path / "timeline.svg"
    subprocess.run([sys.executable, ROOT / "benchmarks/attention_timeline.py", "--output", drawn], check=True)
    text = drawn.read_text()
    assert text == (ROOT / "docs/attention-timeline.svg").read_text()
    titles = re.findall(r"(\d) warpgroups?, head_dim (\d+): (\d+) clocks", text)
    assert [title[:2] for title in titles] == [("1", "64"), ("2", "64"), ("3", "64"), ("2", "128")]
    page = (ROOT / "docs/AttentionTimeline.md").read_text()
    for _, _, clocks in titles[:3]:
        assert f"{clocks} clocks" in page
    # Three warpgroups come closest to what exponentials alone need.
    assert 512 < int(titles[2][2]) < int(titles[1][2]) < int(titles[0][2])


def test_work_of_one_unit_does_not_overlap() -> None:
    """In the lane of the tensor cores, and in that of each warpgroup, work does not overlap."""
    picture = ElementTree.fromstring((ROOT / "docs/attention-timeline.svg").read_text())
    lanes: dict[str, list[tuple[float, float]]] = {}
    for bar in picture.iter("{http://www.w3.org/2000/svg}rect"):
        if "x" in bar.attrib:
            x, width = float(bar.attrib["x"]), float(bar.attrib["width"])
            lanes.setdefault(bar.attrib["y"], []).append((x, x + width))
    assert len(lanes) == 4 + 1 + 2 + 3 + 2
    for bars in lanes.values():
        ordered = sorted(bars)
        assert all(end <= start + 0.2 for (_, end), (start, _) in pairwise(ordered))

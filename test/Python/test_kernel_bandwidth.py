"""The benchmark of memory-bound kernels, on the CPU and at sizes that take no time."""

from __future__ import annotations

import sys
from pathlib import Path

import cs336
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import kernel_bandwidth as benchmark

BENCHMARKS = {each.name: each for each in benchmark.benchmarks(width=24, d_ff=40, vocab=56)}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_program_runs_on_what_it_fills(name: str) -> None:
    group = BENCHMARKS[name].make((6, BENCHMARKS[name].width))
    session = cs336.Session(cs336.compile(benchmark.program(group, copies=2)))
    session.initialize(0)
    outputs = session.run("forward", {})
    assert len(outputs) == 2 * len(group.outputs)
    for value in outputs.values():
        assert np.isfinite(value.astype(np.float64)).all() and np.ptp(value.astype(np.float64)) > 0


def test_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = "--rows 4,8 --width 24 --bytes 4096 --repetitions 3 --device cpu --only RMSNorm$ --output".split()
    monkeypatch.setattr(sys, "argv", ["kernel_bandwidth.py", *flags, str(tmp_path / "record")])
    benchmark.main()
    page = (tmp_path / "record.md").read_text()
    assert "| RMSNorm | 4 | 24 |" in page and "| residual + RMSNorm | 8 | 24 |" in page
    assert (tmp_path / "record.json").exists()

"""The benchmark of memory-bound kernels, on the CPU and with sizes that take no time."""

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


def test_an_update_in_bf16_moves_as_many_bytes_as_one_in_float32() -> None:
    elements, scalars = 6 * 24, 4 * 4
    # Parameter, moments and gradient are read; parameter, moments and the derived weight are written.
    float32, bf16 = (benchmark.adamw((6, 24), *shadow) for shadow in ((), ("bf16",)))
    assert float32.num_bytes == (4 + 4 + 8 + 12) * elements + scalars
    assert bf16.num_bytes == (4 + 2 + 8 + 12 + 2) * elements + scalars


def test_the_shadow_is_the_rounded_parameter() -> None:
    session = cs336.Session(cs336.compile(benchmark.program(benchmark.adamw((6, 24), "bf16"), copies=1)))
    session.initialize(0)
    outputs = session.run("forward", {})
    parameter, shadow = outputs["y0_0"], outputs["y0_3"]
    # bf16 is converted to float32, whose lower half is then empty.
    assert not (shadow.view(np.uint32) & 0xFFFF).any() and (parameter.view(np.uint32) & 0xFFFF).any()
    np.testing.assert_allclose(shadow, parameter, rtol=2**-8)


def test_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = "--rows 4,8 --width 24 --bytes 4096 --repetitions 3 --device cpu --only RMSNorm$ --output".split()
    monkeypatch.setattr(sys, "argv", ["kernel_bandwidth.py", *flags, str(tmp_path / "record")])
    benchmark.main()
    page = (tmp_path / "record.md").read_text()
    assert "| RMSNorm | 4 | 24 |" in page and "| residual + RMSNorm | 8 | 24 |" in page
    assert (tmp_path / "record.json").exists()

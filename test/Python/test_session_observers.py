"""The output of `cs336-run` with --check-nan, --dump-values, --profile and --dump-dir, from Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import cs336
import numpy as np
import pytest
from device import DEVICE, compile_program, open_session, times_kernels
from nan_program import BAD, GOOD, PROGRAM


@pytest.fixture(scope="module")
def executable() -> cs336.Executable:
    return compile_program(PROGRAM)


@pytest.fixture
def session(executable: cs336.Executable) -> cs336.Session:
    return open_session(executable)


def test_the_first_nan_has_a_command_and_a_place(session: cs336.Session) -> None:
    with pytest.raises(FloatingPointError, match=r"launch '\S+' .*second.* first to write NaN at \[1, 1\]"):
        session.run("forward", BAD, check_nan=True)
    assert np.isnan(next(iter(session.run("forward", BAD).values()))).any()
    (checked,) = session.run("forward", GOOD, check_nan=True).values()
    np.testing.assert_allclose(checked, np.log(GOOD["arg0"]), rtol=1e-6)


def test_values_are_what_the_device_computed(session: cs336.Session) -> None:
    (value,) = session.values("forward", BAD, "*gemm_first*")
    assert (value.index, value.phase, value.kind, value.command) == (0, "forward", "gemm", "gemm_first")
    assert value.location == '"first"'
    np.testing.assert_array_equal(value.array, BAD["arg0"])
    everything = session.values("forward", GOOD)
    assert [each.index for each in everything] == [0, 1, 2]
    np.testing.assert_allclose(everything[1].array, np.log(GOOD["arg0"]), rtol=1e-6)
    # They are copies, which later runs do not change.
    np.testing.assert_array_equal(value.array, BAD["arg0"])


def test_a_glob_that_selects_nothing_is_an_error(session: cs336.Session) -> None:
    with pytest.raises(ValueError, match=r"no value, command or location of 'forward' matches 'missing'"):
        session.values("forward", GOOD, "missing")
    with pytest.raises(ValueError, match=r"'\[': invalid glob pattern"):
        session.values("forward", GOOD, "[")


@times_kernels
def test_a_profile_counts_every_run(executable: cs336.Executable) -> None:
    session = open_session(executable, profile=True)
    session.run("forward", GOOD)
    rows = session.profile("forward", GOOD, steps=3)
    assert all(row.count % 3 == 0 and row.seconds > 0 for row in rows)
    assert [row.seconds for row in rows] == sorted((row.seconds for row in rows), reverse=True)
    if DEVICE == "cpu":
        assert {(row.phase, row.name.split("_")[0], row.count) for row in rows} == {
            ("forward", "gemm", 3),
            ("forward", "log", 3),
        }
    else:
        assert any("log" in row.name and row.count == 3 for row in rows)
    for row in rows:
        assert row.minimum <= row.median <= row.maximum
        assert row.mean == pytest.approx(row.seconds / row.count)
    # A second profile does not contain the first one.
    assert {row.name: row.count for row in session.profile("forward", GOOD)} == {r.name: r.count // 3 for r in rows}
    with pytest.raises(ValueError, match=r"steps is 0, must be positive"):
        session.profile("forward", GOOD, steps=0)


@times_kernels
def test_a_profile_has_rows_by_other_keys(executable: cs336.Executable, tmp_path: Path) -> None:
    session = open_session(executable, profile=True)
    rows = session.profile("forward", GOOD, by="phase", trace=tmp_path / "trace.json")
    assert [row.name for row in rows if row.phase] == ["forward"]
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    assert {event["args"]["kind"] for event in events if "kind" in event.get("args", {})} == {"gemm", "launch"}
    with pytest.raises(ValueError, match=r"unknown key of a profile 'part': expected kernel, command, kind, "):
        session.profile("forward", GOOD, by="part")
    with pytest.raises(OSError, match=r"missing"):
        session.profile("forward", GOOD, trace=tmp_path / "missing" / "trace.json")


@pytest.mark.skipif(DEVICE == "cpu", reason="the CPU's commands are timed one by one, at any time")
def test_kernels_are_profiled_where_that_was_foreseen(session: cs336.Session) -> None:
    with pytest.raises(RuntimeError, match="profile=True"):
        session.profile("forward", GOOD)


@times_kernels
def test_the_overhead_is_relative_to_an_earlier_session(
    executable: cs336.Executable, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[tuple[Any, ...]] = []

    class LoggedSession(cs336.Session):
        def __init__(self, *args: Any, profile: bool, **options: Any) -> None:
            super().__init__(*args, profile=profile, **options)
            log.append(("begin", profile))
            weakref.finalize(self, log.append, ("end", profile))

        def _time_steps(self, entry: str, inputs: Any, steps: int, profiled: bool) -> list[float]:
            seconds = super()._time_steps(entry, inputs, steps, profiled)
            log.append(("steps", profiled, len(seconds), min(seconds) > 0))
            return [9.0, 9.0, 9.0, *([1.0, 3.0] if profiled else [1.5, 1.0])]

    monkeypatch.setattr("cs336._overhead.Session", LoggedSession)
    overhead = cs336.profiling_overhead(executable, "forward", GOOD, 2, warmup=3, device=DEVICE)
    sessions = [[("begin", each), ("steps", each, 5, True), ("end", each)] for each in (False, True)]
    assert log == sessions[0] + sessions[1]
    assert overhead == cs336.ProfilingOverhead(profiled=2.0, unprofiled=1.25)
    assert overhead.relative == pytest.approx(0.6)


@times_kernels
def test_the_overhead_of_a_program_without_initial_values() -> None:
    executable = compile_program("""
func.func @forward(%x: tensor<4xf32> {cs336.name = "x", cs336.kind = "input"},
                   %w: tensor<4xf32> {cs336.name = "w", cs336.kind = "parameter"}) -> tensor<4xf32> {
  %0 = cs336.mul %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
""")
    inputs, values = {"x": np.ones(4, np.float32)}, {"w": np.ones(4, np.float32)}
    overhead = cs336.profiling_overhead(executable, "forward", inputs, parameters=values, device=DEVICE)
    assert overhead.profiled > 0 and overhead.unprofiled > 0
    with pytest.raises(RuntimeError, match=r"variables without a value \(1\): w"):
        cs336.profiling_overhead(executable, "forward", inputs, device=DEVICE)
    for name in ("steps", "warmup"):
        with pytest.raises(ValueError, match=f"{name} is 0, must be at least 1"):
            cs336.profiling_overhead(executable, "forward", inputs, **{name: 0}, device=DEVICE)


@times_kernels
def test_observed_runs_check_their_inputs(executable: cs336.Executable) -> None:
    session = open_session(executable, profile=True)
    for observed in (session.values, session.profile):
        with pytest.raises(ValueError, match=r"input 'arg1', a f32\[3, 3\], is missing"):
            observed("forward", {"arg0": GOOD["arg0"]})


def test_the_compiler_shows_its_stages(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "dump"
    compile_program(PROGRAM, dump_dir=folder)
    assert (folder / "plan.txt").stat().st_size > 0
    assert any((folder / "passes").iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="file"):
        compile_program(PROGRAM, dump_dir=tmp_path / "file")


INTERRUPTED = """
import sys
import cs336, numpy as np
from device import compile_program, open_session
from nan_program import GOOD, PROGRAM
session = open_session(compile_program(PROGRAM), profile=True)
print("begins", flush=True)
try:
    if sys.argv[1] == "profile":
        session.profile("forward", GOOD, 10**12)
    else:
        session._time_steps("forward", GOOD, 10**12, True)
except KeyboardInterrupt:
    session.profile("forward", GOOD, 2)
    print("interrupted")
"""


def test_a_handler_of_a_signal_does_not_profile_within_a_profile() -> None:
    session = open_session(compile_program(PROGRAM), profile=True)
    nested: list[str] = []

    def handle(*_: object) -> None:
        try:
            session.profile("forward", GOOD, 2)
        except RuntimeError as error:
            nested.append(str(error))

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        steps = 2000
        while not nested:
            rows = session.profile("forward", GOOD, steps)
            assert all(row.count % steps == 0 for row in rows)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert "the session is being profiled" in nested[0]
    assert session.profile("forward", GOOD, 2)


@pytest.mark.parametrize("call", ["profile", "time"])
def test_ctrl_c_ends_many_steps(call: str) -> None:
    """The session works afterwards."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", INTERRUPTED, call]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path}) as process:
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output) == (0, "interrupted\n")

"""The overhead of profiling."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from cs336._arrays import TensorLike
from cs336._checks import check_range
from cs336._compiler import Executable
from cs336._session import Session


@dataclass(frozen=True)
class ProfilingOverhead:
    """Times of equal steps with and without a profiler.

    Attributes
    ----------
    profiled
        Median seconds of a step while it is profiled.
    unprofiled
        Median seconds of a step of a session without a profiler.
    """

    profiled: float
    unprofiled: float

    @property
    def relative(self) -> float:
        """The time that profiling adds to a step, relative to `unprofiled`: 0.02 stands for 2 %.

        It is negative if the difference is smaller than the noise of the steps and happens to be below 0.
        """
        return self.profiled / self.unprofiled - 1


def profiling_overhead(
    executable: Executable,
    entry: str,
    inputs: Mapping[str, TensorLike],
    steps: int = 20,
    *,
    warmup: int = 5,
    parameters: Mapping[str, TensorLike] | None = None,
    device: str = "cpu",
    num_threads: int = 0,
) -> ProfilingOverhead:
    """Measure the overhead of `Session.profile` for an entry, as `cs336-bench model --profile` does.

    Runs the entry in a session without a profiler first, and then in a session that profiles its runs. Both sessions
    begin with the same values, and end with this call. The times are those of `Session.last_run_seconds`.

    On a GPU, steps can take longer after CUPTI has recorded, also in other sessions. Therefore call this before the
    process profiles anything else.

    Parameters
    ----------
    executable, device, num_threads
        As for `Session`.
    entry, inputs
        As for `Session.run`.
    steps
        Number of timed runs in each session, on the same inputs.
    warmup
        Number of runs before them, at least 1.
    parameters
        Values of all parameters by name. None stands for the initial values of the program.

    Returns
    -------
    ProfilingOverhead
        Both medians.

    Raises
    ------
    MemoryError
        As for `Session`. The two sessions do not exist at the same time.
    RuntimeError
        As for `Session` and `Session.run`; if another session of the process profiles a GPU.
    TypeError
        As for `Session` and `Session.run`.
    ValueError
        As for `Session.run` and `Session.set_parameters`; if `steps` or `warmup` is less than 1.
    """
    steps = check_range(steps, "steps", lowest=1, bits=31)
    warmup = check_range(warmup, "warmup", lowest=1, bits=31)

    def measure(profiled: bool) -> float:
        session = Session(executable, device=device, num_threads=num_threads, profile=profiled)
        session.initialize()
        if parameters is not None:
            session.set_parameters(parameters)
        return statistics.median(session._time_steps(entry, inputs, warmup + steps, profiled)[warmup:])

    unprofiled = measure(profiled=False)
    return ProfilingOverhead(profiled=measure(profiled=True), unprofiled=unprofiled)

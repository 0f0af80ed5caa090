# ===- arrays_fuzzer.py - Fuzz target of sessions' array inputs -----------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Pass values to a session as test_array_inputs.py does, for a given time. The flags are libFuzzer's.

    arrays_fuzzer.py [-runs=N | -max_total_time=SECONDS] [-seed=S] [-artifact_prefix=PREFIX]
    arrays_fuzzer.py FILE

Hypothesis reduces a failing case, and writes the data that reproduces it to PREFIXcrash-SEED: the argument of the
second form. Cases come in batches, each with a seed of its own. A case that ends the process is reproduced with the
seed that was printed last.
"""

from __future__ import annotations

import faulthandler
import random
import re
import sys
import time
import traceback
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Python"))
import array_cases

BATCH = 2000


class Fuzzer:
    """Tries cases on one session, and counts them."""

    def __init__(self) -> None:
        self.session = array_cases.make_session()
        self.cases = 0

    def try_case(self, data: st.DataObject) -> None:
        """Try a value or, rarely, a name."""
        self.cases += 1
        if data.draw(st.integers(0, 15)) == 0:
            array_cases.check_name(self.session, data.draw(array_cases.names))
            return
        port = data.draw(array_cases.ports)
        value = data.draw(array_cases.values(*array_cases.PORTS.get(port, ("f32", (2, 3)))))
        array_cases.check_value(self.session, port, value)

    def run_batch(self, seed: int, cases: int) -> None:
        """Try this many cases. An exception is the reduced failure."""
        options = settings(
            max_examples=cases,
            database=None,
            deadline=None,
            print_blob=True,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )

        @hypothesis.seed(seed)
        @options
        @given(st.data())
        def batch(data: st.DataObject) -> None:
            self.try_case(data)

        batch()

    def run_file(self, path: Path) -> None:
        """Try the case that a file describes."""
        version, blob = path.read_text().split()

        @hypothesis.reproduce_failure(version, blob.encode())
        @settings(database=None, deadline=None)
        @given(st.data())
        def case(data: st.DataObject) -> None:
            self.try_case(data)

        case()


def read_flags(arguments: list[str]) -> dict[str, str]:
    """Read `-NAME=VALUE`, and the file if there is one."""
    flags = {"runs": "", "max_total_time": "", "seed": "0", "artifact_prefix": "./", "file": ""}
    for argument in arguments:
        name, equals, value = argument.removeprefix("-").partition("=")
        if argument.startswith("-") and equals and name in flags:
            flags[name] = value
        elif not argument.startswith("-") and not flags["file"]:
            flags["file"] = argument
        else:
            sys.exit(f"arrays_fuzzer.py: error: unknown argument '{argument}'")
    return flags


def write_case(path: Path, error: BaseException) -> None:
    """Write the data that Hypothesis reports for a failure: its version and the bytes that its strategies read."""
    notes = "\n".join(getattr(error, "__notes__", ()))
    if found := re.search(r"@reproduce_failure\('([^']+)', b'([^']+)'\)", notes):
        path.write_text(f"{found[1]} {found[2]}\n")
        print(f"Test unit written to {path}", flush=True)


def main() -> int:
    """Run batches until the time or the number of cases is reached."""
    faulthandler.enable()
    flags = read_flags(sys.argv[1:])
    fuzzer = Fuzzer()
    if flags["file"]:
        fuzzer.run_file(Path(flags["file"]))
        return 0
    runs = int(flags["runs"] or sys.maxsize)
    end = time.monotonic() + int(flags["max_total_time"] or sys.maxsize)
    seeds = random.Random(int(flags["seed"]) or None)
    status = 0
    while status == 0 and fuzzer.cases < runs and time.monotonic() < end:
        seed = seeds.getrandbits(32)
        print(f"INFO: Seed: {seed}\n#{fuzzer.cases}\tpulse", flush=True)
        try:
            fuzzer.run_batch(seed, min(BATCH, runs - fuzzer.cases))
        except Exception as error:
            traceback.print_exc(file=sys.stdout)
            print(f"FAULT: {error}", flush=True)
            write_case(Path(f"{flags['artifact_prefix']}crash-{seed}"), error)
            status = 1
    print(f"stat::number_of_executed_units: {fuzzer.cases}")
    return status


if __name__ == "__main__":
    sys.exit(main())

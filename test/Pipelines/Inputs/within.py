"""Runs a command and fails if it takes more time or memory than allowed.

Other tests may run on the same cores, so the time is the least of three runs, each the lesser of wall-clock and
processor time.
"""

import argparse
import os
import subprocess
import sys
import time


def measure(command: list[str]) -> tuple[float, float]:
    """Seconds and peak MiB of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{command[0]} failed")
    return min(wall, usage.ru_utime + usage.ru_stime), usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--mebibytes", type=float, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    runs = [measure(arguments.command) for _ in range(3)]
    seconds, mebibytes = min(run[0] for run in runs), max(run[1] for run in runs)
    print(f"{seconds:.3f} s, {mebibytes:.0f} MiB")
    if seconds > arguments.seconds or mebibytes > arguments.mebibytes:
        sys.exit(f"more than {arguments.seconds} s or {arguments.mebibytes} MiB")


if __name__ == "__main__":
    main()

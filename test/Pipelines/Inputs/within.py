"""Runs a command and fails if it takes more memory than allowed; prints its time, which no test asserts."""

import argparse
import os
import subprocess
import sys
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=float, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()

    start = time.perf_counter()
    process = subprocess.Popen(arguments.command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{arguments.command[0]} failed")
    mebibytes = usage.ru_maxrss / 1024
    print(f"{seconds:.3f} s, {mebibytes:.0f} MiB")
    if mebibytes > arguments.mebibytes:
        sys.exit(f"more than {arguments.mebibytes} MiB")


if __name__ == "__main__":
    main()

"""`python -m cs336.launch --nproc N PROGRAM`: runs a Python program as several ranks on this host."""

from __future__ import annotations

import argparse
import sys

from cs336 import distributed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m cs336.launch", description="Runs a Python program as several ranks on this host."
    )
    parser.add_argument("--nproc", type=int, required=True, help="number of ranks, from 1 to 1024")
    parser.add_argument(
        "--timeout",
        type=float,
        default=distributed.DEFAULT_TIMEOUT,
        help="seconds in which all ranks end after a fault of one (default: 30)",
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM is a module, as for python -m")
    parser.add_argument("program", metavar="PROGRAM")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    rest.required = False  # Before Python 3.12, an error about a missing PROGRAM would name ARGUMENT too.
    a = parser.parse_args(arguments)
    command = [sys.executable, *(["-m"] if a.is_module else []), a.program, *a.arguments]
    try:
        distributed.launch(command, a.nproc, a.timeout)
    except (MemoryError, OSError, RuntimeError, ValueError) as error:
        print(f"cs336.launch: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print(f"cs336.launch: {interrupt}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

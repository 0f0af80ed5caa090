"""Puts the entry of one cache of executables in the place of another's.

swap_entries.py CACHE OTHER TARGET [--with-key | --pipe]: the entry of OTHER goes to TARGET under the name of CACHE's,
as it is, or with the key of CACHE's in its first line; or a pipe goes there.
"""

import os
import sys
from pathlib import Path


def split(entry: Path) -> tuple[list[bytes], bytes]:
    """Return the words of the first line, and the remaining bytes."""
    header, rest = entry.read_bytes().split(b"\n", 1)
    return header.split(b" "), rest


def main() -> None:
    cache, other, target, *mode = sys.argv[1:]
    ours, theirs = (next(Path(folder, "executables").glob("llvmcache-*")) for folder in (cache, other))
    place = Path(target, "executables", ours.name)
    if mode == ["--pipe"]:
        os.mkfifo(place)
        return
    words, rest = split(theirs)
    if mode == ["--with-key"]:
        words[2] = split(ours)[0][2]
    place.write_bytes(b" ".join(words) + b"\n" + rest)


if __name__ == "__main__":
    main()

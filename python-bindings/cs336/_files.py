"""Files as a whole: read without surprises, written completely or not at all."""

from __future__ import annotations

import os

from cs336 import _cs336


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Read a regular file; a device or a pipe, which may have no end, is a ValueError."""
    return _cs336.read_file(os.fsencode(path))


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Give a file new contents, completely or not at all.

    Readers see the old file or the whole new one, also if the process is killed or the machine loses power.

    Parameters
    ----------
    path
        Of the file; a new one has the permissions of the process's umask, an old one keeps its own.
    data
        The contents.

    Raises
    ------
    OSError
        If the file cannot be written; it is as it was before.
    ValueError
        If the path is no regular file's, or holds a NUL character.
    """
    _cs336.write_file(os.fsencode(path), data)

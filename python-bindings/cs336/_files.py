"""Reading and writing whole files."""

from __future__ import annotations

import os

from cs336 import _cs336


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Read a regular file. Raises ValueError for a device or a pipe, which may have no end."""
    return _cs336.read_file(os.fsencode(path))


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the contents of a file atomically.

    Readers see either the old file or the whole new one, even if the process is killed or the machine loses power.

    Parameters
    ----------
    path
        The file. A new file has the permissions of the process's umask, an existing one keeps its own.
    data
        The new contents.

    Raises
    ------
    OSError
        If the file cannot be written. The file is then unchanged.
    ValueError
        If the path does not name a regular file, or contains a NUL character.
    """
    _cs336.write_file(os.fsencode(path), data)

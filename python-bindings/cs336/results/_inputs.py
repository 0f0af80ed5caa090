"""Files that pictures are drawn from."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from cs336._files import read_file


def check_paths(paths: Sequence[str | os.PathLike[str]], flag: str) -> None:
    """Raise an error for one path, whose characters would be used as paths, and for no paths of files of `flag`."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        name = os.fspath(paths)
        raise TypeError(f"paths must be a list of files, is {name!r}: pass [{name!r}]")
    if not paths:
        raise ValueError(f"paths is empty: pass at least one file of {flag}")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return the contents of a file. Raises ValueError with the file's name if they are not JSON."""
    try:
        return json.loads(read_file(path))
    except (RecursionError, ValueError) as error:
        raise ValueError(f"'{os.fspath(path)}' is not JSON: {error}") from error


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Raise ValueError with the file's name for errors of code that uses values which the file lacks."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError) as error:
        missing = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"'{os.fspath(path)}' is not {what}: {missing}") from error

"""Files that pictures are drawn from."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
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
    except ValueError as error:
        raise ValueError(f"'{os.fspath(path)}' is not JSON: {error}") from error

"""Names of entries, inputs, outputs and variables."""

from __future__ import annotations


def check_name(name: object, what: str) -> str:
    """Return a name that the runtime can look up.

    Raises
    ------
    TypeError
        If it is not a string.
    ValueError
        If it has no encoding in UTF-8, as a lone surrogate has none.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a string, is {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} is {name!r}, which has no encoding in UTF-8") from error
    return name

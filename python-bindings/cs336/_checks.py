"""Checks of arguments. Errors name the argument, its value, and what to pass instead."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable

import numpy as np


def check_type(value: object, wanted: type | tuple[type, ...], what: str, remedies: dict[str, str]) -> None:
    """Raise TypeError if an argument is of another type.

    Parameters
    ----------
    value
        The argument.
    wanted
        The types that it may have.
    what
        Subject of the message: "the argument of compile".
    remedies
        Value to pass instead, by the name of the type that was passed; "" stands for all other types.
    """
    if isinstance(value, wanted):
        return
    types = wanted if isinstance(wanted, tuple) else (wanted,)
    names = " or ".join(kind.__name__ for kind in types)
    given = type(value).__name__
    remedy = remedies.get(given, remedies.get("", ""))
    raise TypeError(f"{what} must be of type {names}, is of type {given}" + (f": {remedy}" if remedy else ""))


def check_integer(value: object, what: str) -> int:
    """Return a Python or NumPy integer as a Python integer.

    Raises
    ------
    TypeError
        If the value is not an integer. A float is not an integer, even if its value is one.
    """
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise TypeError(f"{what} must be an integer, is {value!r}") from error


def check_range(value: object, what: str, lowest: int, bits: int) -> int:
    """Return an integer that is at least `lowest` and below 2^`bits`.

    Raises
    ------
    TypeError
        If the value is not an integer.
    ValueError
        If it is out of the range.
    """
    number = check_integer(value, what)
    if number < lowest:
        raise ValueError(f"{what} is {number}, must be at least {lowest}")
    if number >= 1 << bits:
        raise ValueError(f"{what} is {number}, must be below 2^{bits}")
    return number


def check_flag(value: object, what: str) -> bool:
    """Return a Python or NumPy boolean as a Python boolean.

    Raises
    ------
    TypeError
        If the value is of another type, such as "no", which Python counts as true.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} must be True or False, is {value!r}")
    return bool(value)


def check_path(path: object, what: str) -> str:
    """Return a path as a string.

    Raises
    ------
    TypeError
        If it is neither a string nor a path such as `pathlib.Path`.
    """
    name = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a path, is {path!r}")
    return name


def check_names(names: Iterable[str], what: str) -> list[str]:
    """Return several names as a list.

    Raises
    ------
    TypeError
        If one string was passed, whose characters would be used as names, or a value that is not iterable.
    """
    if isinstance(names, str):
        raise TypeError(f"{what} must be a list of names, is the string {names!r}: pass [{names!r}]")
    try:
        return [check_name(name, f"each of {what}") for name in names]
    except TypeError as error:
        if isinstance(names, Iterable):
            raise
        raise TypeError(f"{what} must be a list of names, is {names!r}") from error


def check_name(name: object, what: str) -> str:
    """Return a name that the runtime can look up.

    Raises
    ------
    TypeError
        If it is not a string.
    ValueError
        If it cannot be encoded in UTF-8, such as a lone surrogate.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a string, is {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} is {name!r}, which cannot be encoded in UTF-8") from error
    return name

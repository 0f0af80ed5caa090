"""The columns that a plot draws, and the settings that are its axis and its lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cs336._checks import check_name, check_names
from cs336.results._packages import need

if TYPE_CHECKING:
    import pandas

# The number of a measurement among those with equal settings, such as one of a peer beside each of our own backends.
RUN = "run"
# Results that show why the times differ, drawn beside them: the share of communication, the bus bandwidth, and the
# rates of attention.
BESIDE_TIMES = re.compile(r"communication_(percent|share)|busbw_gb_s|(forward|backward)_tflops")


@dataclass(frozen=True)
class Choice:
    """The rows and columns that a plot shows.

    Attributes
    ----------
    columns
        The columns with numbers, one per panel.
    x
        The setting of the horizontal axis. None if all rows have the same settings.
    lines
        The settings. Each combination of their values is a line, or a colour of bars.
    """

    columns: list[str]
    x: str | None
    lines: list[str]


def choose(
    frame: pandas.DataFrame, y: str | Sequence[str] | None, x: str | None, by: Sequence[str] | None
) -> tuple[pandas.DataFrame, Choice]:
    """Return the rows to draw, and the choice. None stands for the defaults that `plot` documents."""
    columns = [y] if isinstance(y, str) else check_names(y or _default_columns(frame), "y")
    axis = [] if x is None else [check_name(x, "x")]
    for name in [*columns, *axis, *check_names(by or [], "by")]:
        if name not in frame.columns:
            raise KeyError(f"the results have no column {name!r}; they have {', '.join(map(str, frame.columns))}")
    for name in columns:
        if not is_number(frame[name]) and frame[name].notna().any():
            raise ValueError(f"the column {name!r} has no numbers: name a column with numbers as y")
    rows = frame[frame[columns].notna().any(axis=1)] if columns else frame[:0]
    if x:
        rows = rows[rows[x].notna()]
    if rows.empty:
        raise ValueError("the results have no numbers to draw: name a column with numbers as y")
    differing = differing_settings(rows)
    settings = [name for name in _independent(rows, differing, x) if name not in columns]
    if x is None:
        x = _default_x(rows, [name for name in settings if name not in (by or [])])
    lines = [name for name in (settings if by is None else by) if name != x]
    if by is None:
        rows, lines = _number_runs(rows, lines)
    _check_distinct(rows, x, lines)
    return rows, Choice(columns, x, lines)


def is_number(values: pandas.Series) -> bool:
    """Return whether a column has numbers. Booleans are not numbers."""
    types = need("pandas").api.types
    return types.is_numeric_dtype(values) and not types.is_bool_dtype(values)


def own_column(name: str) -> str | None:
    """Return the column with which one of PyTorch is compared: `median_ms` for `torch_compile_median_ms`."""
    prefix, _, rest = name.partition("_")
    return rest.partition("_")[2] if prefix == "torch" and rest else None


def settings_of(frame: pandas.DataFrame) -> list[str]:
    """Return the settings, in order. Without descriptions of columns, these are the texts except the status."""
    roles = frame.attrs.get("roles")
    if roles:
        return [name for name in frame.columns if roles.get(name) == "setting"]
    texts = frame.select_dtypes(include=["object", "string"])
    return [name for name in texts if name != "status" and frame[name].dropna().map(type).eq(str).all()]


def differing_settings(rows: pandas.DataFrame) -> list[str]:
    """Return the settings with several values, in order."""
    return [name for name in settings_of(rows) if rows[name].astype(str).nunique(dropna=False) > 1]


def _default_columns(frame: pandas.DataFrame) -> list[str]:
    roles, samples = frame.attrs.get("roles"), frame.attrs.get("samples", {})
    if not roles:
        raise ValueError("the results do not describe their columns (version 1): name the columns to draw as y")
    results = [name for name in frame.columns if roles.get(name) == "result" and is_number(frame[name])]
    results = [name for name in results if frame[name].notna().any() and own_column(name) is None]
    timed = [name for name in results if name in samples]
    medians = [name for name in timed if "median" in name] or timed[:1]
    return medians + [name for name in results if BESIDE_TIMES.search(name)] or results[:1]


def _independent(rows: pandas.DataFrame, differing: Sequence[str], x: str | None) -> list[str]:
    """Return the settings without those that the others determine, such as the count of a size and a type.

    Numbers are left out before text, and later settings before earlier ones. `x` stays.
    """
    kept = list(differing)
    candidates = [name for name in reversed(kept) if name != x]
    for name in sorted(candidates, key=lambda each: not is_number(rows[each])):
        others = [each for each in {*kept, *([x] if x else [])} if each != name]
        values = rows[name].astype(str)
        if others and values.groupby([rows[each] for each in others], dropna=False).nunique(dropna=False).max() == 1:
            kept.remove(name)
    return kept


def _default_x(rows: pandas.DataFrame, settings: Sequence[str]) -> str | None:
    """Return the setting with the most values: a number if there is one, and a size in bytes before other numbers."""
    units = rows.attrs.get("units", {})
    numbers = [name for name in settings if is_number(rows[name]) and rows[name].notna().all()]

    def rank(name: str) -> tuple[bool, int]:
        return units.get(name) == "B", rows[name].nunique(dropna=False)

    return max(numbers or settings, key=rank, default=None)


def _number_runs(rows: pandas.DataFrame, lines: list[str]) -> tuple[pandas.DataFrame, list[str]]:
    """Return the rows with their runs, which are lines too, if several rows have equal settings."""
    settings = settings_of(rows) if rows.attrs.get("roles") else []
    texts = rows[settings].astype(str)
    if not settings or not texts.duplicated().any():
        return rows, lines
    return rows.assign(**{RUN: texts.groupby(settings, sort=False).cumcount() + 1}), [*lines, RUN]


def _check_distinct(rows: pandas.DataFrame, x: str | None, lines: Sequence[str]) -> None:
    """Raise ValueError if several rows of a line have the same `x`."""
    names = [*([x] if x else []), *lines]
    groups = [group for _, group in rows.groupby(names, dropna=False, sort=False)] if names else [rows]
    largest = max(groups, key=len)
    if len(largest) == 1:
        return
    where = ", ".join(f"{name} {largest[name].iloc[0]}" for name in names) or "the same settings"
    raise ValueError(
        f"{len(largest)} rows have {where}: name the settings that tell them apart as by, or draw fewer rows"
    )

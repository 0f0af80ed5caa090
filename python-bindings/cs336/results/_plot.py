"""Plots of results: one panel per column, one line per combination of settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from cs336._checks import check_type
from cs336.results._choice import Choice, choose, differing_settings, is_number, own_column, settings_of
from cs336.results._packages import need

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Axes whose largest value is this multiple of the smallest one are logarithmic.
LOG_RATIO = 8.0
# The label of our own times beside those of PyTorch.
OWN_TIMES = "cs336"
# Ten colours, then the same ones with other markers.
COLOURS = 10
MARKERS = "o^vDs*"
# Sizes in inches.
PANEL = (6.4, 4.4)
LEGEND_ROW, LEGEND_LETTER = 0.16, 0.062
# The maximum number of letters of tick labels that fit side by side below a panel.
TICK_LETTERS = 60
# Hints for arguments that are not frames, by type.
FRAMES = {
    "str": "read the file first, cs336.results.plot(cs336.results.load(path)[0])",
    "PosixPath": "read the file first, cs336.results.plot(cs336.results.load(path)[0])",
    "list": "draw each of its frames by itself",
    "": "pass a frame of cs336.results.load",
}
UNITS_OF_BYTES = (("GiB", 1 << 30), ("GB", 10**9), ("MiB", 1 << 20), ("MB", 10**6), ("KiB", 1 << 10), ("kB", 1000))


def plot(
    frame: pandas.DataFrame,
    y: str | Sequence[str] | None = None,
    x: str | None = None,
    *,
    by: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw columns of results over a setting.

    Each column of `y` has a panel. If `x` is a number, a line connects the rows whose other settings are equal;
    otherwise each row is a bar. The legend names the settings that differ. A column with times of PyTorch, such as
    `torch_compile_median_ms`, is a dashed line in the panel of our own column, `median_ms`.

    Error bars of medians reach from the lower to the upper quartile of the steps. Axes of lines are logarithmic where
    the largest value is at least 8 times the smallest one, and always for sizes in bytes.

    Parameters
    ----------
    frame
        A frame of `load`, or rows of one. Its `attrs` have the titles and roles of columns.
    y
        Columns with numbers. Default: the medians of steps with the bus bandwidth, the share of communication or the
        TFLOP/s of attention beside them, or else the first result that is a number.
    x
        A setting. Default: a size in bytes, or else the setting with the most values, among those that are numbers if
        there are any.
    by
        Settings. Each combination of their values is a line. Default: all settings that differ, without those that
        follow from the others. If rows have equal settings, each of them is on a line of its own, which the number of
        its run names. Files of version 1 do not describe which columns are settings; their default is the columns with
        text.
    title
        The title of the figure. Default: the benchmark and the settings that all rows share.

    Returns
    -------
    Figure
        A figure of matplotlib, which needs no display.

    Raises
    ------
    ImportError
        If pandas or matplotlib is not installed.
    KeyError
        If the frame lacks a column; the message has the names of its columns.
    TypeError
        If `frame` is not a frame, such as the path of a file, or `by` is one string.
    ValueError
        If a column of `y` has text, if no row has a number to draw, if rows share `x` and `by`, or if `y` is missing
        and the frame does not describe its columns (version 1).
    """
    check_type(frame, need("pandas").DataFrame, "the frame to draw", FRAMES)
    figures = need("matplotlib.figure")
    rows, choice = choose(frame, y, x, by)
    lines = [line for column in choice.columns for line in _lines(rows, choice, column)]
    labels = list(dict.fromkeys(line.label for line in lines))
    has_legend = labels != [""]
    width = PANEL[0] * len(choice.columns)
    per_row = max(1, int(width / (LEGEND_LETTER * (max(map(len, labels)) + 8))))
    height = PANEL[1] + has_legend * LEGEND_ROW * -(-len(labels) // per_row)
    figure = figures.Figure(figsize=(width, height), layout="constrained")
    handles: dict[str, Any] = {}
    for axes, column in zip(figure.subplots(1, len(choice.columns), squeeze=False)[0], choice.columns, strict=True):
        _draw(axes, rows, choice, [line for line in lines if line.panel == column], labels, handles)
    if has_legend:
        shown = [handles[label] for label in labels]
        figure.legend(shown, labels, loc="outside lower center", ncols=per_row, fontsize=7)
    figure.suptitle(_describe(rows) if title is None else title, fontsize=9, wrap=True)
    return figure


@dataclass(frozen=True)
class _Line:
    """Rows that a line connects, or that are bars of one colour.

    `column` is the column of the panel, or one of PyTorch that is drawn beside it.
    """

    panel: str
    column: str
    label: str
    rows: pandas.DataFrame


def _lines(rows: pandas.DataFrame, choice: Choice, panel: str) -> list[_Line]:
    peers = [str(name) for name in rows.columns if own_column(str(name)) == panel and rows[name].notna().any()]
    lines = []
    groups = rows.groupby(choice.lines, sort=False, dropna=False) if choice.lines else [((), rows)]
    for _, group in groups:
        settings = ", ".join(_name_value(group[name].iloc[0], name) for name in choice.lines)
        for column in [panel, *peers]:
            shown = group[group[column].notna()]
            variant = column.removesuffix("_" + panel).replace("_", " ")
            if column == panel:
                variant = OWN_TIMES if peers else ""
            if not shown.empty:
                lines.append(_Line(panel, column, ", ".join(filter(None, [variant, settings])), shown))
    return lines


def _name_place(value: Any) -> str:
    """Return the text of a setting; a dash if it is missing."""
    return "-" if value is None or value != value else str(value)


def _name_value(value: Any, name: str) -> str:
    return f"{name.replace('_', ' ')} {_name_place(value)}"


def _describe(rows: pandas.DataFrame) -> str:
    """Return the benchmark and the settings that all rows share."""
    differing = differing_settings(rows)
    shared = {name: rows[name].iloc[0] for name in settings_of(rows) if name not in differing}
    words = [_name_value(value, name) for name, value in shared.items() if value is not None and value == value]
    return ": ".join(filter(None, [str(rows.attrs.get("benchmark", "")), ", ".join(words)]))


def _spreads(line: _Line, samples: dict[str, Any]) -> list[list[float]] | None:
    """Return how far the quartiles of the steps lie below and above each value, or None without at least 3 steps."""
    names = samples.get(line.column, [])
    below, above = [], []
    for _, row in line.rows.iterrows():
        steps = row[names[0]] if len(names) == 1 and names[0] in row else None
        value = float(row[line.column])
        lower = upper = value
        if isinstance(steps, list) and len(steps) >= 3:
            lower, _, upper = quantiles(steps, n=4, method="inclusive")
        below.append(max(value - lower, 0.0))
        above.append(max(upper - value, 0.0))
    return [below, above] if any(below + above) else None


def _draw(
    axes: Axes, rows: pandas.DataFrame, choice: Choice, lines: list[_Line], labels: list[str], handles: dict[str, Any]
) -> None:
    """Draw one panel, and add its entries of the legend to `handles`."""
    titles, samples = rows.attrs.get("titles") or {}, rows.attrs.get("samples") or {}
    is_bars = choice.x is None or not is_number(rows[choice.x])
    places = list(dict.fromkeys(map(_name_place, rows[choice.x]))) if choice.x else [""]
    for position, line in enumerate(lines):
        number = labels.index(line.label)
        colour, marker = f"C{number % COLOURS}", MARKERS[number // COLOURS % len(MARKERS)]
        if is_bars:
            width = 0.8 / len(lines)
            keys = map(_name_place, line.rows[choice.x]) if choice.x else [""] * len(line.rows)
            at = [places.index(key) + (position - (len(lines) - 1) / 2) * width for key in keys]
            drawn: Any = axes.bar(
                at, line.rows[line.column], width, color=colour, yerr=_spreads(line, samples), capsize=2
            )
        else:
            shown = _Line(line.panel, line.column, line.label, line.rows.sort_values(choice.x))
            drawn = axes.errorbar(
                shown.rows[choice.x],
                shown.rows[shown.column],
                yerr=_spreads(shown, samples),
                fmt=f"{marker}{'-' if line.column == line.panel else '--'}",
                color=colour,
                capsize=2,
                markersize=4,
                linewidth=1.2,
            )
        handles.setdefault(line.label, drawn)
    column = lines[0].panel if lines else ""
    axes.set_ylabel(titles.get(column, column))
    axes.set_xlabel(titles.get(choice.x, choice.x) if choice.x else "")
    axes.grid(alpha=0.3, axis="y" if is_bars else "both")
    axes.set_axisbelow(True)
    if is_bars:
        is_long = sum(map(len, places)) > TICK_LETTERS
        axes.set_xticks(range(len(places)), places, rotation=30 * is_long, ha="right" if is_long else "center")
        return
    is_bytes = (rows.attrs.get("units") or {}).get(choice.x) == "B"
    values = sorted(set(rows[choice.x]))
    if values[0] > 0 and (is_bytes or values[-1] >= LOG_RATIO * values[0]):
        axes.set_xscale("log", base=2)
    axes.set_xticks(values, [_format_bytes(value) if is_bytes else f"{value:g}" for value in values])
    axes.tick_params(axis="x", which="minor", bottom=False)
    heights = [value for line in lines for value in line.rows[line.column]]
    if heights and min(heights) > 0 and max(heights) >= LOG_RATIO * min(heights):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        # Every power of ten has labels at twice and five times its value too.
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[:2] in ("2.", "5.") else "")


def _format_bytes(value: float) -> str:
    """Return a size in the format of cs336-bench's flags: '64KiB'."""
    for unit, size in UNITS_OF_BYTES:
        if value >= size and value % size == 0:
            return f"{int(value) // size}{unit}"
    return f"{value:g}"

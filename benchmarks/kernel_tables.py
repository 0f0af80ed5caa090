"""Tables of profiled steps as Markdown, with the columns of nsys: by kernel, by kind of kernel, and by range."""

from __future__ import annotations

Row = dict[str, object]
Entry = dict[str, object]

COLUMNS = {
    "Time (%)": ("time_percent", "{:.1f}"),
    "Total Time (ns)": ("total_ns", "{:.0f}"),
    "Instances": ("instances", "{:d}"),
    "Avg (ns)": ("avg_ns", "{:.1f}"),
    "Med (ns)": ("med_ns", "{:.1f}"),
    "Min (ns)": ("min_ns", "{:.0f}"),
    "Max (ns)": ("max_ns", "{:.0f}"),
    "StdDev (ns)": ("stddev_ns", "{:.1f}"),
    "Phase": ("phase", "{}"),
    "Name": ("name", "{}"),
}

# The members of a row, their titles, and the most rows of their tables.
TABLES = {
    "profile": ("kernel", 10),
    "profile_kinds": ("kind of kernel", None),
    "profile_ranges": ("range", None),
}


def format_entry(entry: Entry) -> str:
    """Return a line of a table. Records before there were medians lack some columns."""
    texts = []
    for key, form in COLUMNS.values():
        value = entry.get(key)
        texts.append("" if value is None else form.format(value).replace("|", "\\|"))
    return f"| {' | '.join(texts)} |"


def summarize_others(entries: list[Entry]) -> Entry:
    """Return the sums of the entries that a table omits."""
    sums = {key: sum(entry[key] for entry in entries) for key in ("time_percent", "total_ns", "instances")}
    return {**sums, "name": f"{len(entries)} others"}


def table_lines(entries: list[Entry], most: int | None) -> list[str]:
    """Return a table of the entries with the most time, and the sum of the others."""
    entries = sorted(entries, key=lambda entry: -entry["total_ns"])
    shown, others = entries[:most], entries[most:] if most else []
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---:" * (len(COLUMNS) - 2) + "|---|---|"]
    lines += [format_entry(entry) for entry in shown]
    return [*lines, format_entry(summarize_others(others))] if others else lines


def profile_lines(rows: list[Row]) -> list[str]:
    """Return the sections of the profiled rows of `cs336-bench model`; empty if there are none."""
    lines = []
    for row in rows:
        for member, (title, most) in TABLES.items():
            entries = row.get(member)
            if not entries:
                continue
            cell = (
                f"{row['size']}, context {row['context_length']}, {row['dtype']}, fusion {row['fusion']}, {row['mode']}"
            )
            if member == "profile":
                lines += ["", f"## {cell}"]
            lines += ["", f"By {title}, in {row['steps']} steps:", "", *table_lines(entries, most)]
    return lines

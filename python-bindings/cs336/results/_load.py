"""Documents of results as data frames."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from cs336.results._inputs import read_json
from cs336.results._packages import need

if TYPE_CHECKING:
    import pandas

SCHEMA = "cs336.results"
VERSION = 2
# The version of documents that name no schema. They do not describe their columns.
UNNAMED_VERSION = 1
# Members that become rows and columns of a frame, or print them; they are not its attributes.
TABLE = ("schema", "results", "columns", "page")


def load(path: str | os.PathLike[str]) -> list[pandas.DataFrame]:
    """Read the results of one command, of a study, or of a record of benchmarks/results.

    Parameters
    ----------
    path
        A file that a command of cs336-bench has written with `--format json`.

    Returns
    -------
    list[pandas.DataFrame]
        One frame per command, with one row per measurement. Values that were not measured are missing. Lists, such as
        the time of each step, are objects. `attrs` has the other members of the document (`version`, `benchmark`,
        `command`, `device`, ...) and, from the descriptions of columns, the dictionaries `units`, `roles` and `titles`
        by column, and `samples`: for each statistic of steps, the names of the columns with the time of each step.
        Documents of version 1 have no descriptions, and the dictionaries are empty.

    Raises
    ------
    ImportError
        If pandas is not installed.
    OSError
        If the file cannot be read.
    ValueError
        If the file is not JSON, has another schema, a version that this package does not read, or several versions.
    """
    pandas = need("pandas")
    name = os.fspath(path)
    root = read_json(path)
    documents = root.get("documents", root) if isinstance(root, dict) else root
    documents = documents if isinstance(documents, list) else [documents]
    versions = sorted({_check(document, name) for document in documents})
    if len(versions) > 1:
        raise ValueError(
            f"'{name}' has documents of versions {' and '.join(map(str, versions))}, which describe their columns in "
            "different ways: load them from a file each"
        )
    return [_frame(pandas, document, name) for document in documents]


def _check(document: Any, name: str) -> int:
    """Return the version of a document."""
    rows = document.get("results") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"'{name}' has no results: pass a file that cs336-bench has written with --format json")
    schema = document.get("schema")
    if schema is None:
        return UNNAMED_VERSION
    if schema != SCHEMA:
        raise ValueError(
            f"the schema of '{name}' is {schema!r}, expected {SCHEMA!r}: pass a file that cs336-bench has written with "
            "--format json"
        )
    version = document.get("version")
    if version != VERSION:
        raise ValueError(
            f"'{name}' has version {version} of {SCHEMA}; this package reads {UNNAMED_VERSION} and {VERSION}: use the "
            "package of the cs336-bench that wrote the file"
        )
    return VERSION


def _frame(pandas: Any, document: Any, name: str) -> pandas.DataFrame:
    """Return the rows of a document, in the order of its columns."""
    version = _check(document, name)
    columns = document.get("columns", []) if version == VERSION else []
    try:
        frame = pandas.DataFrame(document["results"], columns=[column["key"] for column in columns] or None)
        described = {
            f"{what}s": {column["key"]: column[what] for column in columns} for what in ("unit", "role", "title")
        }
        described["samples"] = {column["key"]: column["samples"] for column in columns if "samples" in column}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"'{name}' does not conform to version {version} of {SCHEMA}: {error!r}") from error
    frame.attrs = {key: value for key, value in document.items() if key not in TABLE} | described
    frame.attrs["version"] = version
    return frame

"""Results of `cs336-bench --format json` as data frames.

    for frame in cs336.results.load("results.json"):
        print(frame.attrs["benchmark"], frame.groupby("mode")["median_ms"].min(), frame.attrs["units"]["median_ms"])

docs/Results.md describes the files. pandas is not installed with the package: `pip install pandas`.
"""

from cs336.results._load import load

__all__ = ["load"]

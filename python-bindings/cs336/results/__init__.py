"""Results of `cs336-bench --format json` as data frames, plots and MLflow runs.

    for frame in cs336.results.load("results.json"):
        print(frame.attrs["benchmark"], frame.groupby("mode")["median_ms"].min(), frame.attrs["units"]["median_ms"])
        cs336.results.plot(frame).savefig(frame.attrs["benchmark"] + ".svg")

`python3 -m cs336.results --help` does the same for whole files. docs/Results.md describes the files. pandas, matplotlib
and MLflow are not installed with the package: `pip install pandas matplotlib mlflow-skinny`.
"""

from cs336.results._load import load
from cs336.results._mlflow import log_to_mlflow
from cs336.results._overlap import plot_overlap
from cs336.results._plot import plot
from cs336.results._timeline import plot_timelines

__all__ = ["load", "log_to_mlflow", "plot", "plot_overlap", "plot_timelines"]

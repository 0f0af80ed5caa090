"""Packages that only `cs336.results` needs, which are not installed with cs336."""

from __future__ import annotations

import importlib
from typing import Any

# The package of each module whose name differs from the package's.
DISTRIBUTIONS = {"mlflow": "mlflow-skinny"}


def need(module: str) -> Any:
    """Return a module. Raises ImportError with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        package = DISTRIBUTIONS.get(package, package)
        raise ImportError(f"cs336.results needs {package}: install it with 'pip install {package}'") from error

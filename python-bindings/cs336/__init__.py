"""A compiler and runtime for Transformer training.

`build` a `TransformerConfig` (or `parse` IR) into a `Module`, `compile` it into an `Executable`, and run that in a
`Session`.
"""

from cs336 import distributed, results
from cs336._compiler import (
    Executable,
    Input,
    Module,
    OperationCost,
    Output,
    Plan,
    Variable,
    build,
    compile,
    operations,
    parse,
)
from cs336._config import Optimizer, TransformerConfig, size_names
from cs336._files import write_file
from cs336._overhead import ProfilingOverhead, profiling_overhead
from cs336._session import ProfileRow, Session, WrittenValue, best_device

__version__ = "0.1.0"

__all__ = [
    "Executable",
    "Input",
    "Module",
    "OperationCost",
    "Optimizer",
    "Output",
    "Plan",
    "ProfileRow",
    "ProfilingOverhead",
    "Session",
    "TransformerConfig",
    "Variable",
    "WrittenValue",
    "best_device",
    "build",
    "compile",
    "distributed",
    "operations",
    "parse",
    "profiling_overhead",
    "results",
    "size_names",
    "write_file",
]

"""From a description to IR, from IR to an executable."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import get_args

from cs336 import _cs336
from cs336._checks import check_type
from cs336._config import ComputeType, DType, Fusion, Mode, Optimizer, TransformerConfig, description_json
from cs336._files import read_file, write_file


@dataclass(frozen=True)
class OperationCost:
    """What all operations of one name cost in a function: a multiply-add is two FLOPs; bytes as if each stood alone."""

    count: int
    flops: int
    bytes: int


class Module:
    """IR at some stage. Immutable: passes make a new module. `str(module)` is its text."""

    def __init__(self, module: _cs336.Module) -> None:
        self._module = module

    def __str__(self) -> str:
        return self._module.print(locations=False)

    def text(self, locations: bool = True) -> str:
        """The text, with locations (which layer and operation) unless told otherwise."""
        return self._module.print(locations=locations)

    def run_passes(self, pipeline: str) -> Module:
        """Run passes, given as `cs336-opt --pass-pipeline` takes them inside `builtin.module(…)`.

        Raises
        ------
        ValueError
            If the pipeline does not parse, or a pass fails; the message holds the diagnostics.

        Examples
        --------
        >>> module.run_passes("cs336-decompose,canonicalize,cse")
        """
        return Module(self._module.run_passes(pipeline))

    def cost(self) -> dict[str, dict[str, OperationCost]]:
        """FLOPs and bytes by function and by operation."""
        costs: dict[str, dict[str, OperationCost]] = {}
        for function, operation, count, flops, nbytes in self._module.costs():
            costs.setdefault(function, {})[operation] = OperationCost(count, flops, nbytes)
        return costs


@dataclass(frozen=True)
class Input:
    """An input of an entry: int inputs with a `bound` hold values in [0, bound)."""

    dtype: str
    shape: tuple[int, ...]
    bound: int | None


@dataclass(frozen=True)
class Output:
    """An output of an entry."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Variable:
    """A parameter or state: `kind` is "parameter", "state" (of the optimizer) or "derived" (from the others)."""

    dtype: str
    shape: tuple[int, ...]
    kind: str


@dataclass(frozen=True)
class Plan:
    """Memory of an entry, known before it runs, in bytes.

    Attributes
    ----------
    arena_bytes
        Of temporary tensors and outputs: those that are needed at different times lie in the same place.
    host_bytes
        Of variables that a GPU leaves in host memory, because no entry but "prepare" reads them; not in the total.
    commands, kernels
        How many commands a run has, and how many different kernels they launch.
    largest
        Name, source location and size of the largest tensors in the arena.
    """

    arena_bytes: int
    parameter_bytes: int
    state_bytes: int
    derived_bytes: int
    host_bytes: int
    input_bytes: int
    total_bytes: int
    commands: int
    kernels: int
    largest: list[tuple[str, str, int]]


class Executable:
    """A compiled program: entry points that share variables by name. Never holds the variables' values.

    Raises
    ------
    ValueError
        If the bytes are truncated or damaged.
    RuntimeError
        If a newer version wrote them.
    """

    def __init__(self, data: bytes) -> None:
        self._executable = _cs336.Executable(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Executable:
        """Read a file that `save` or `cs336-translate --emit-executable` wrote."""
        return cls(read_file(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file; an error leaves what was there."""
        write_file(path, self._executable.bytes)

    @property
    def entries(self) -> list[str]:
        """Names of the entry points."""
        return self._executable.entries()

    def inputs(self, entry: str) -> dict[str, Input]:
        """What `Session.run` wants, by name."""
        return {n: Input(d, s, bound or None) for n, d, s, bound in self._executable.inputs(entry)}

    def outputs(self, entry: str) -> dict[str, Output]:
        """What `Session.run` returns, by name; gradients have their parameters' names."""
        return {name: Output(dtype, shape) for name, dtype, shape in self._executable.outputs(entry)}

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Parameters and state by checkpoint name; packed weights by the names of their parts."""
        return {n: Variable(dtype, shape, kind) for n, dtype, shape, kind in self._executable.variables()}

    def plan(self, entry: str, largest: int = 10) -> Plan:
        """Memory of an entry."""
        return Plan(**self._executable.plan(entry, largest))


# What to pass in place of objects of other types.
_CONFIGS = {
    "dict": "pass cs336.TransformerConfig(**config)",
    "str": "pass cs336.TransformerConfig.named(size) or cs336.TransformerConfig.from_json(text)",
}
_MODULES = {
    "TransformerConfig": "build it first, cs336.compile(cs336.build(config))",
    "Executable": "it is compiled already, pass it to cs336.Session",
    "PosixPath": "pass its text, cs336.compile(path.read_text())",
    "": "cs336.build and cs336.parse make one",
}


def build(
    config: TransformerConfig, mode: Mode = "train", dtype: DType = "f32", optimizer: Optimizer | None = None
) -> Module:
    """Build a Transformer's IR as a PyTorch author would write it.

    Parameters
    ----------
    config
        The model.
    mode
        "forward" (logits), "loss", "forward_backward" (loss and gradients) or "train" (a step of the optimizer; also
        the functions "loss" and "forward").
    dtype
        Of parameters and activations; "f64" is for checking.
    optimizer
        Of mode "train"; PyTorch's defaults if it is None.

    Raises
    ------
    ValueError
        If the numbers make no model or no optimizer.
    TypeError
        If `config` or `optimizer` is of another type.
    """
    check_type(config, TransformerConfig, "the configuration of a model", _CONFIGS)
    if optimizer is not None:
        check_type(optimizer, Optimizer, "the optimizer", {"dict": "pass cs336.Optimizer(**optimizer)"})
    description = {**asdict(config), "mode": mode, "dtype": dtype, "optimizer": asdict(optimizer or Optimizer())}
    return Module(_cs336.Module.build(description_json(description)))


def parse(text: str, name: str = "<string>") -> Module:
    """Read IR in any phase; `name` stands for the file in messages.

    Raises
    ------
    ValueError
        If the text does not parse or verify; the message says where.
    """
    return Module(_cs336.Module.parse(text, name))


def compile(
    module: Module | str,
    pipeline: str = "",
    device: str = "cpu",
    architectures: Sequence[str] = (),
    use_cache: bool = True,
    *,
    dump_dir: str | os.PathLike[str] | None = None,
    dtype: ComputeType | None = None,
    fusion: Fusion | None = None,
    checkpoint: int | None = None,
) -> Executable:
    """Run the whole pipeline and generate code, for this machine's CPU or for GPUs.

    Parameters
    ----------
    module
        IR, or its text.
    pipeline
        More options of the pipeline, as `--cs336-pipeline=` takes them.
    device
        "cpu", "cuda" or "cuda:1"; compiling for GPUs needs none.
    architectures
        Of kernels for GPUs, such as `["sm_80", "sm_90a"]`; that of the GPU by default, `sm_90a` without one.
    use_cache
        Whether to take the executable and compiled GPU kernels from the cache, and to keep them there.
    dump_dir
        Folder for the IR after every pass, the memory plan, and the kernels' text and machine code, as the tools'
        `--dump-dir`; made if it is missing.
    dtype
        Mixed precision: "fp32" (none, the default), "tf32", "bf16" or "fp16".
    fusion
        Which operations share kernels: "none", "elementwise", "softmax" (and these), "flash" (and attention), or "all"
        (the default).
    checkpoint
        Of so many layers together, keep only the input for the backward pass and compute the rest again; 0 (the
        default) keeps all.

    Raises
    ------
    ValueError
        If the module does not compile, or the folder cannot be written; the message holds the diagnostics. If there is
        no such type or level of fusion, or `pipeline` gives the same option as an argument.
    TypeError
        If `module` is neither a module nor text.

    Warns
    -----
    RuntimeWarning
        What the compiler warns of: a cache that is not used, or not written to, and why.
    """
    check_type(module, (Module, str), "the module to compile", _MODULES)
    for name, value, known in (("dtype", dtype, get_args(ComputeType)), ("fusion", fusion, get_args(Fusion))):
        if value is not None and value not in known:
            raise ValueError(f"unknown {name} {value!r}: expected {', '.join(known[:-1])} or {known[-1]}")
    parsed = parse(module) if isinstance(module, str) else module
    given = {option.split("=")[0]: option for option in pipeline.split()}
    chosen = {"dtype": dtype, "fusion": fusion, "checkpoint": checkpoint}
    chosen = {key: value for key, value in chosen.items() if value is not None}
    for key, value in chosen.items():
        if key in given:
            raise ValueError(f"{key}={value!r} conflicts with '{given[key]}' in pipeline: give one of the two")
    options = " ".join([pipeline, *(f"{key}={value}" for key, value in chosen.items())])
    folder = os.fspath(dump_dir) if dump_dir is not None else ""
    return Executable(parsed._module.compile(options.strip(), device, list(architectures), use_cache, folder))


def operations() -> dict[str, bool]:
    """The dialect's operations by name; whether each can be differentiated, by itself or once decomposed."""
    return _cs336.operations()

"""Building IR from a model description, and compiling it to an executable."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import get_args

from cs336 import _cs336
from cs336._checks import check_flag, check_name, check_names, check_path, check_range, check_type
from cs336._config import ComputeType, Distribute, DType, Fusion, Mode, Optimizer, TransformerConfig, description_json
from cs336._files import read_file, write_file


@dataclass(frozen=True)
class OperationCost:
    """Cost of all operations of one name in a function. A multiply-add is two FLOPs; bytes are those without fusion."""

    count: int
    flops: int
    bytes: int


class Module:
    """IR at some stage. Immutable: passes return a new module. `str(module)` is its text."""

    def __init__(self, module: _cs336.Module) -> None:
        self._module = module

    def __str__(self) -> str:
        return self._module.print(locations=False)

    def text(self, locations: bool = True) -> str:
        """Return the text, by default with locations (layer and operation)."""
        return self._module.print(locations=locations)

    def run_passes(self, pipeline: str) -> Module:
        """Run a pass pipeline in the syntax of `cs336-opt --pass-pipeline` inside `builtin.module(…)`.

        Raises
        ------
        ValueError
            If the pipeline does not parse or a pass fails; the message contains the diagnostics.

        Examples
        --------
        >>> module.run_passes("cs336-decompose,canonicalize,cse")
        """
        return Module(self._module.run_passes(pipeline))

    def cost(self) -> dict[str, dict[str, OperationCost]]:
        """Return FLOPs and bytes by function and by operation."""
        costs: dict[str, dict[str, OperationCost]] = {}
        for function, operation, count, flops, nbytes in self._module.costs():
            costs.setdefault(function, {})[operation] = OperationCost(count, flops, nbytes)
        return costs


@dataclass(frozen=True)
class Input:
    """An input of an entry. The values of an integer input with a `bound` must be in [0, bound)."""

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
    """A variable: `kind` is "parameter", "state" (of the optimizer) or "derived" (computed from other variables)."""

    dtype: str
    shape: tuple[int, ...]
    kind: str


@dataclass(frozen=True)
class Plan:
    """Memory of an entry in bytes, known before it runs.

    Attributes
    ----------
    arena_bytes
        Allocations and outputs. Those that are needed at different times share bytes.
    parameter_bytes, state_bytes
        Parameters and the optimizer's state; of variables that are sharded over ranks, the part of one rank.
    host_bytes
        Variables that a GPU leaves in host memory, because only the entry "prepare" reads them; not in the total.
    commands, kernels
        The number of commands of a run, and of the different kernels that they launch.
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
    """A compiled program: entries that share variables by name. Does not contain the variables' values.

    Raises
    ------
    ValueError
        If the data is truncated or damaged.
    RuntimeError
        If a newer version wrote it.
    """

    def __init__(self, data: bytes) -> None:
        self._executable = _cs336.Executable(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Executable:
        """Read a file that `save` or `cs336-translate --emit-executable` wrote."""
        return cls(read_file(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the executable to a file. After an error, an existing file is unchanged."""
        write_file(path, self._executable.bytes)

    @property
    def entries(self) -> list[str]:
        """Names of the entries."""
        return self._executable.entries()

    def inputs(self, entry: str) -> dict[str, Input]:
        """Return the inputs of an entry, which `Session.run` requires, by name."""
        return {n: Input(d, s, bound or None) for n, d, s, bound in self._executable.inputs(entry)}

    def outputs(self, entry: str) -> dict[str, Output]:
        """Return the outputs of an entry, by name. Gradients have their parameters' names."""
        return {name: Output(dtype, shape) for name, dtype, shape in self._executable.outputs(entry)}

    @property
    def ranks(self) -> int:
        """Number of ranks that run the program together. A program without collectives has 1."""
        return self._executable.world_size

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Variables by checkpoint name. Packed parameters appear as their named views."""
        return {n: Variable(dtype, shape, kind) for n, dtype, shape, kind in self._executable.variables()}

    def plan(self, entry: str, largest: int = 10) -> Plan:
        """Return the memory of an entry."""
        return Plan(**self._executable.plan(entry, largest))


# Hints for arguments of other types.
_CONFIGS = {
    "dict": "pass cs336.TransformerConfig(**config)",
    "str": "pass cs336.TransformerConfig.named(size) or cs336.TransformerConfig.from_json(text)",
}
_MODULES = {
    "TransformerConfig": "build it first, cs336.compile(cs336.build(config))",
    "Executable": "it is already compiled, pass it to cs336.Session",
    "PosixPath": "pass the file's text, cs336.compile(path.read_text())",
    "": "create one with cs336.build or cs336.parse",
}


def build(
    config: TransformerConfig, mode: Mode = "train", dtype: DType = "f32", optimizer: Optimizer | None = None
) -> Module:
    """Build a Transformer's IR in the form in which it would be written in PyTorch.

    Parameters
    ----------
    config
        The model.
    mode
        "forward" (logits), "loss", "forward_backward" (loss and gradients) or "train" (a step of the optimizer; the
        module then also has the functions "loss" and "forward").
    dtype
        Type of parameters and activations; "f64" is for checking results.
    optimizer
        The optimizer of mode "train"; None stands for PyTorch's defaults.

    Raises
    ------
    ValueError
        If the numbers do not describe a valid model or optimizer.
    TypeError
        If `config` or `optimizer` is of another type.
    """
    check_type(config, TransformerConfig, "the configuration of a model", _CONFIGS)
    if optimizer is not None:
        check_type(optimizer, Optimizer, "the optimizer", {"dict": "pass cs336.Optimizer(**optimizer)"})
    description = {**asdict(config), "mode": mode, "dtype": dtype, "optimizer": asdict(optimizer or Optimizer())}
    return Module(_cs336.Module.build(description_json(description)))


def parse(text: str, name: str = "<string>") -> Module:
    """Read IR in any phase. `name` is the file name in messages.

    Raises
    ------
    ValueError
        If the text does not parse or verify; the message contains the location.
    """
    return Module(_cs336.Module.parse(text, name))


# A value of an option without characters that would begin another option.
_WORD = re.compile(r"[\w.+-]+")


def _check_architectures(architectures: Sequence[str], device: str) -> list[str]:
    """Return the architectures as a list. Raises ValueError if they have no effect."""
    names = check_names(architectures, "architectures")
    if names and device == "cpu":
        raise ValueError('architectures requires device="cuda": code for the CPU is always for this machine')
    return names


def _check_choices(dtype: ComputeType | None, fusion: Fusion | None, distribute: Distribute | None) -> None:
    """Raise ValueError for names that no option has."""
    for name, value, known in (
        ("dtype", dtype, get_args(ComputeType)),
        ("fusion", fusion, get_args(Fusion)),
        ("distribute", distribute, get_args(Distribute)),
    ):
        if value is not None and value not in known:
            raise ValueError(f"unknown {name} {value!r}: expected {', '.join(known[:-1])} or {known[-1]}")


def _check_distribution(ranks: int | None, distribute: Distribute | None, bucket_mib: float | str | None) -> None:
    """Raise ValueError for arguments that have no effect without another."""
    if (ranks is None) != (distribute is None):
        given, missing = ("ranks", "distribute") if distribute is None else ("distribute", "ranks")
        raise ValueError(f"{given} requires {missing}: pass both, or neither")
    if bucket_mib is not None and distribute not in ("bucket", "zero1", "fsdp"):
        raise ValueError('bucket_mib requires distribute="bucket", "zero1" or "fsdp"')


def _check_count(count: int | None, name: str, lowest: int, bits: int) -> int | None:
    """Return the integer of an option. None stands for the default."""
    return None if count is None else check_range(count, name, lowest, bits)


def _check_budget(budget: int | str | None) -> int | str | None:
    """Return a budget that is one value of an option. The compiler checks the number and the unit."""
    if budget is None:
        return None
    message = f"memory_budget is {budget!r}, must be a size such as '30GiB', or 'auto'"
    if not isinstance(budget, (Real, str)):
        raise TypeError(message)
    if not _WORD.fullmatch(str(budget)):
        raise ValueError(message)
    return budget


def _check_bucket(bucket_mib: float | str | None) -> float | str | None:
    """Return the number of MiB as a float, or "auto"."""
    if bucket_mib is None or bucket_mib == "auto":
        return bucket_mib
    message = f"bucket_mib is {bucket_mib!r}, must be above 0 and finite, or 'auto'"
    if not isinstance(bucket_mib, (Real, str)):
        raise TypeError(message)
    if isinstance(bucket_mib, str) or not 0 < bucket_mib < float("inf"):
        raise ValueError(message)
    return float(bucket_mib)


def _join_options(pipeline: str, arguments: Mapping[str, tuple[str, object]]) -> str:
    """Return the text of all options: `pipeline`, then the arguments of `compile` that are not None.

    Parameters
    ----------
    pipeline
        Options as text.
    arguments
        Each argument's name and value, keyed by the option of the pipeline.

    Raises
    ------
    ValueError
        If an argument is also an option in `pipeline`.
    """
    given = {option.split("=")[0]: option for option in _cs336.split_pipeline_options(check_name(pipeline, "pipeline"))}
    options = [pipeline]
    for option, (name, value) in arguments.items():
        if value is None:
            continue
        if option in given:
            raise ValueError(f"{name}={value!r} conflicts with '{given[option]}' in pipeline: pass only one of them")
        options.append(f"{option}={value}")
    return " ".join(options).strip()


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
    memory_budget: int | str | None = None,
    ranks: int | None = None,
    distribute: Distribute | None = None,
    bucket_mib: float | str | None = None,
) -> Executable:
    """Run the whole pipeline and generate code for this machine's CPU or for GPUs.

    Parameters
    ----------
    module
        IR, or its text.
    pipeline
        Further options of the pipeline, in the syntax of `--cs336-pipeline=`.
    device
        "cpu", "cuda" or "cuda:1". Compiling for GPUs does not require a GPU.
    architectures
        Architectures of GPU kernels, such as `["sm_80", "sm_90a"]`. Requires the device "cuda". Default: that of the
        GPU, or `sm_90a` without one.
    use_cache
        Load the executable and compiled GPU kernels from the cache, and store them there.
    dump_dir
        Folder for the IR after every pass, the memory plan, and the kernels' text and machine code, as for the tools'
        `--dump-dir`. Created if it is missing.
    dtype
        Mixed precision: "fp32" (none, the default), "tf32", "bf16" or "fp16".
    fusion
        The operations that may share kernels: "none", "elementwise", "softmax" (and element-wise), "flash" (and
        attention), or "all" (the default).
    checkpoint
        Number of layers per checkpoint: only the input of each such group of layers is kept for the backward pass, the
        rest is recomputed. 0 (the default) keeps all activations.
    memory_budget
        Memory that the program may need: bytes, text such as "30GiB", or "auto" for 95 % of the device's free memory.
        The backward pass then recomputes as few activations as fit, those first that take the least time per byte.
        Excludes `checkpoint`. Default: unlimited.
    ranks
        Number of ranks that run the program together, each on inputs of its own. Requires `distribute`. Default: 1.
    distribute
        Where the ranks average gradients and the loss: "per-parameter" or "flat" (one collective of all gradients)
        after the backward pass, "overlap" as soon as a gradient is ready, or "bucket" as soon as all gradients of a
        bucket are. "zero1" and "fsdp" exchange like "bucket", and each rank stores a part of parameters and state:
        ranks gather parameters once per step, or for the forward and the backward pass. Requires `ranks`.
    bucket_mib
        Size in MiB at which a bucket is complete, or "auto", which chooses it by predicted times. Requires `distribute`
        "bucket", "zero1" or "fsdp". Default: a twentieth of all gradients, from 25 to 256.

    Raises
    ------
    ValueError
        If the module does not compile, or the folder cannot be written; the message contains the diagnostics. If
        `dtype`, `fusion` or `distribute` is unknown, a number is out of range, or `pipeline` contains an option that is
        also an argument. If only one of `ranks` and `distribute` is given, `bucket_mib` without buckets, or
        `architectures` for the CPU. If `memory_budget` is not a size, or is below what the program requires with all
        activations recomputed; the message contains the required size.
    TypeError
        If `module` is neither a Module nor text, or another argument is of the wrong type, such as one string as
        `architectures`.

    Warns
    -----
    RuntimeWarning
        Warnings of the compiler, such as a cache that is not used or not written, and why.
    """
    check_type(module, (Module, str), "the module to compile", _MODULES)
    targets = _check_architectures(architectures, check_name(device, "device"))
    _check_choices(dtype, fusion, distribute)
    _check_distribution(ranks, distribute, bucket_mib)
    options = _join_options(
        pipeline,
        {
            "dtype": ("dtype", dtype),
            "fusion": ("fusion", fusion),
            "checkpoint": ("checkpoint", _check_count(checkpoint, "checkpoint", lowest=0, bits=32)),
            "memory-budget": ("memory_budget", _check_budget(memory_budget)),
            "world-size": ("ranks", _check_count(ranks, "ranks", lowest=1, bits=63)),
            "distribute": ("distribute", distribute),
            "bucket-mib": ("bucket_mib", _check_bucket(bucket_mib)),
        },
    )
    parsed = parse(module) if isinstance(module, str) else module
    folder = "" if dump_dir is None else check_path(dump_dir, "dump_dir")
    caches = check_flag(use_cache, "use_cache")
    return Executable(
        parsed._module.compile(options, device, targets, caches, folder, reads_device_memory=memory_budget == "auto")
    )


def operations() -> dict[str, bool]:
    """Return the dialect's operations by name, and whether each can be differentiated, directly or decomposed."""
    return _cs336.operations()

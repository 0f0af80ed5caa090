"""Running executables."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cs336 import _cs336
from cs336._arrays import TensorLike, as_input
from cs336._checks import check_flag, check_integer, check_name, check_names, check_range, check_type
from cs336._compiler import Executable
from cs336._exclusive import exclusive
from cs336.distributed import Group

# Hints for arguments that are not executables, by type.
_EXECUTABLES = {
    "Module": "compile it first, cs336.Session(cs336.compile(module))",
    "TransformerConfig": "build and compile it first, cs336.Session(cs336.compile(cs336.build(config)))",
    "str": "load it first, cs336.Session(cs336.Executable.load(path))",
    "PosixPath": "load it first, cs336.Session(cs336.Executable.load(path))",
    "": "create one with cs336.compile",
}

_exclusive = exclusive(
    "the session is in use by another thread: create one session per thread, or call it from one thread at a time"
)


@dataclass(frozen=True)
class WrittenValue:
    """A tensor that a command wrote in a run.

    Attributes
    ----------
    index
        Position of the command in the entry.
    phase
        "forward", "backward", "communication", "optimizer" or "prepare".
    location
        The layer and operation of the program.
    kind, command
        The command's kind ("launch", "gemm", "copy", …) and name.
    name
        Name of the tensor. Commands that run in place write the same name again.
    array
        A copy of the value; bf16 is converted to float32.
    """

    index: int
    phase: str
    location: str
    kind: str
    command: str
    name: str
    array: NDArray[Any]


@dataclass(frozen=True)
class ProfileRow:
    """All runs with one key in one phase.

    Attributes
    ----------
    phase
        "forward", "backward", "communication", "optimizer" or "prepare"; "" for copies of inputs and outputs on a GPU.
    name
        Name of the kernel, command, operation, …: see the parameter `by` of `Session.profile`.
    count
        Number of runs.
    seconds
        Time of all runs together.
    mean, median, minimum, maximum, deviation
        Seconds of one run, and their sample standard deviation. The median is an estimate, within 1/256, if a kernel of
        one command of the entry (on the CPU: a command) ran more than 1024 times.
    """

    phase: str
    name: str
    count: int
    seconds: float
    mean: float
    median: float
    minimum: float
    maximum: float
    deviation: float


def best_device() -> str:
    """Return the device on which programs run fastest.

    Returns
    -------
    str
        "cuda" if there is a GPU with a driver for CUDA 13 and cuBLAS, else "cpu". `cs336-bench doctor` explains why.
    """
    return "cuda" if _cs336.has_usable_gpu() else "cpu"


class Session:
    """A loaded executable with its variables. One thread at a time may call it: concurrent calls raise RuntimeError.

    After `os.fork()` a session on the CPU works in both processes, each with its own variables. CUDA does not survive
    fork(): start processes that use a session on a GPU with the method "spawn".

    Indexing reads and writes variables by their checkpoint names: `session["lm_head.weight"]` returns a copy,
    `session["lm_head.weight"] = array` sets the variable.

    The ranks of a program that was compiled with `distribute` "zero1" or "fsdp" store a part of most variables each.
    Arrays and files always have whole variables: all ranks must set the same values, and reading or saving a variable
    gathers it, so all ranks must do so in the same order.

    Methods that take arrays also take tensors of other libraries, by DLPack. A tensor on the host is read in place. A
    tensor on the session's GPU is copied within the GPU, after the work that its library has enqueued in its stream; it
    must have exactly the required element type and be dense and row-major. The tensor may change as soon as the call
    returns.

    Parameters
    ----------
    executable
        The executable to load.
    device
        The device to run on: "cpu", "cuda", or "cuda:1" for the second GPU. The executable must be compiled for it.
    num_threads
        Threads that a kernel may use, at most 4096. 0 stands for OMP_NUM_THREADS if that is set, else one per core.
    memory_limit_bytes
        The most bytes to allocate; 0 stands for the available memory.
    poison_memory
        Fill inputs, outputs and the arena with NaN before each run, so that values that are read before they are
        written, or never written, show. For debugging: costs one pass over that memory.
    profile
        Prepare for `profile` on a GPU, with CUPTI; not needed on the CPU. Only one session at a time can do this. It
        keeps a record per kernel until `profile` reads them, so it is not for long training runs.
    use_graphs
        Run each entry on a GPU as a CUDA graph. If false, its commands are launched one by one, with an NVTX range for
        each phase, layer and operation, for Nsight Systems and Nsight Compute. The results are the same bits.
    exchange
        How ranks on GPUs exchange data: "nccl"; "peers", through each other's memory; or "auto", through each other's
        memory if all GPUs can, except for what NCCL does faster.
    group
        The group whose ranks run the executable, which is compiled for as many. None stands for one rank.

    Raises
    ------
    MemoryError
        If there is not enough memory; the message contains the requested bytes and their purpose.
    RuntimeError
        If the executable is for another device, if the device does not exist, or if kernels cannot be profiled.
    TypeError
        If an argument is of the wrong type. The message names it.
    ValueError
        If the device or the exchange has an invalid name, or if `use_graphs` is false or `exchange` is not "auto" on
        the CPU.
    """

    def __init__(
        self,
        executable: Executable,
        device: str = "cpu",
        num_threads: int = 0,
        memory_limit_bytes: int = 0,
        poison_memory: bool = False,
        profile: bool = False,
        use_graphs: bool = True,
        exchange: str = "auto",
        group: Group | None = None,
    ) -> None:
        check_type(executable, Executable, "the executable of a session", _EXECUTABLES)
        if group is not None:
            check_type(group, Group, "the group of a session", {"": "join one with cs336.distributed.init()"})
        self._session = _cs336.Session(
            executable._executable,
            check_name(device, "device"),
            check_range(num_threads, "num_threads", lowest=0, bits=31),
            check_range(memory_limit_bytes, "memory_limit_bytes", lowest=0, bits=63),
            check_flag(poison_memory, "poison_memory"),
            check_flag(profile, "profile"),
            check_flag(use_graphs, "use_graphs"),
            check_name(exchange, "exchange"),
            None if group is None else group._group,
        )
        self._lock = threading.RLock()
        self._is_profiling = False
        self._variables = executable.variables
        self._inputs = {entry: executable.inputs(entry) for entry in executable.entries}
        self._outputs = {entry: executable.outputs(entry) for entry in executable.entries}

    @property
    def device(self) -> str:
        """The device that the session runs on: "cpu", "cuda:0"."""
        return self._session.device

    @property
    def allocated_bytes(self) -> int:
        """Bytes that the session has allocated."""
        return self._session.allocated_bytes

    @_exclusive
    def initialize(self, seed: int = 0) -> None:
        """Set every variable to its initial value. The same seed, in [0, 2^64), gives bitwise the same values.

        Parameters that the program gives no initial value (``cs336.init``) must be set or loaded. A run with parameters
        that have no value raises a RuntimeError, which lists them.
        """
        seed = check_integer(seed, "the seed")
        if not 0 <= seed < 1 << 64:
            raise ValueError(f"the seed is {seed}, must be in [0, 2^64)")
        self._session.initialize(seed)

    @_exclusive
    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._session.get_variable(check_name(name, "the name of a variable"))

    @_exclusive
    def __setitem__(self, name: str, value: TensorLike) -> None:
        if check_name(name, "the name of a variable") not in self._variables:
            raise ValueError(f"the executable has no variable '{name}'")
        variable = self._variables[name]
        array = as_input(value, variable.dtype, variable.shape, self.device, f"variable '{name}'")
        self._session.set_variable(name, array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    @_exclusive
    def parameters(self) -> dict[str, NDArray[Any]]:
        """Return copies of all parameters."""
        return {name: self[name] for name, variable in self._variables.items() if variable.kind == "parameter"}

    @_exclusive
    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of the optimizer's state."""
        return {name: self[name] for name, variable in self._variables.items() if variable.kind == "state"}

    @_exclusive
    def set_parameters(self, values: Mapping[str, TensorLike]) -> None:
        """Set all parameters, and compute the values derived from them.

        Raises
        ------
        TypeError, ValueError
            If names are missing or extra, or a shape or type differs. All parameters are as before.
        """
        wanted = {name for name, variable in self._variables.items() if variable.kind == "parameter"}
        missing, extra = sorted(wanted - set(values)), sorted(map(str, set(values) - wanted))
        if missing or extra:
            raise ValueError(f"parameters missing: {', '.join(missing) or 'none'}; extra: {', '.join(extra) or 'none'}")
        arrays = {}
        for name, value in values.items():
            variable = self._variables[name]
            shape = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
            if shape != variable.shape:
                raise ValueError(f"parameter '{name}' has shape {variable.shape}, but the value has {shape}")
            arrays[name] = as_input(value, variable.dtype, variable.shape, self.device, f"variable '{name}'")
        for name, array in arrays.items():
            self._session.set_variable(name, array)
        self.prepare()

    @_exclusive
    def prepare(self) -> None:
        """Compute values derived from parameters. Runs do this by themselves, unless parameters were shared."""
        self._session.prepare()

    def _arguments(self, entry: str, inputs: Mapping[str, TensorLike]) -> dict[str, Any]:
        if check_name(entry, "the name of an entry") not in self._inputs:
            raise ValueError(f"the executable has no entry '{entry}'; it has: {', '.join(self._inputs)}")
        check_type(inputs, Mapping, "the inputs of a run", {"": "pass a dict of arrays by name"})
        ports = self._inputs[entry]
        arguments = {}
        for name, value in inputs.items():
            if check_name(name, "the name of an input") not in ports:
                raise ValueError(
                    f"entry '{entry}': there is no input '{name}'; the inputs are: {', '.join(ports) or 'none'}"
                )
            port = ports[name]
            arguments[name] = as_input(value, port.dtype, port.shape, self.device, f"input '{name}'")
        return arguments

    @_exclusive
    def run(
        self,
        entry: str,
        inputs: Mapping[str, TensorLike],
        outputs: Iterable[str] | None = None,
        *,
        check_nan: bool = False,
    ) -> dict[str, NDArray[Any]]:
        """Run an entry.

        Parameters
        ----------
        entry
            Name of the entry: "train", "forward_backward", "loss", "forward", or another function of the module.
        inputs
            Every input by name: arrays, or tensors on the host or on the session's GPU.
        outputs
            Names of the outputs to copy; default: all. The other outputs stay in the arena until the next run of any
            entry (see `share`). With an empty list, a run on a GPU is enqueued without waiting for it.
        check_nan
            Stop at the first command that writes a NaN. For debugging: commands run one by one, and the host reads
            everything that they write.

        Returns
        -------
        dict
            Copies of the outputs by name. Gradients have their parameters' names.

        Raises
        ------
        ValueError
            If an input is missing, extra, of another type or shape, on another device, or out of its bound; nothing has
            changed then. If there is no such output.
        TypeError
            If the inputs are not a mapping, or `outputs` is one string.
        RuntimeError
            If a parameter of the entry was neither initialized, nor loaded, nor set. The message names the first 20.
        FloatingPointError
            If `check_nan` is set and a command wrote a NaN. The message names the command, its location and the
            element. Later commands have not run, and variables have the values that earlier commands wrote.
        """
        wanted = self._outputs.get(entry, {}) if outputs is None else check_names(outputs, "outputs")
        if unknown := [name for name in wanted if name not in self._outputs.get(entry, {})]:
            raise ValueError(f"entry '{entry}' has no output '{unknown[0]}'")
        self._session.run(entry, self._arguments(entry, inputs), check_nan)
        return {name: self._session.output(entry, name) for name in wanted}

    @_exclusive
    def previous_output(self, entry: str, name: str) -> NDArray[Any]:
        """Copy an output of the run before the entry's last one, without waiting for the last one.

        This keeps a GPU busy while the loss of a training run is read: each step is enqueued with `outputs=[]`, and the
        loss of the previous step is read while it runs.

        Parameters
        ----------
        entry
            An entry that has run at least twice.
        name
            An output of at most 4 KiB.

        Raises
        ------
        ValueError
            If there is no such entry or output.
        RuntimeError
            If the entry has not run twice, or the output is larger.
        """
        check_name(entry, "the name of an entry")
        return self._session.previous_output(entry, check_name(name, "the name of an output"))

    @_exclusive
    def values(self, entry: str, inputs: Mapping[str, TensorLike], pattern: str = "*") -> list[WrittenValue]:
        """Run an entry command by command and copy the values that it writes, like `cs336-run --dump-values`.

        Parameters
        ----------
        entry, inputs
            As for `run`.
        pattern
            A glob such as "layers.0.attn.*". Selects values by their name, their command's name or its location.

        Returns
        -------
        list
            The values in the order of the commands.

        Raises
        ------
        ValueError
            As for `run`; if the glob is invalid; if nothing matches it, which is known only after the run.
        """
        check_name(pattern, "the glob")
        return [WrittenValue(*row) for row in self._session.values(entry, self._arguments(entry, inputs), pattern)]

    @_exclusive
    def profile(
        self,
        entry: str,
        inputs: Mapping[str, TensorLike],
        steps: int = 1,
        *,
        by: str = "kernel",
        trace: str | os.PathLike[str] | None = None,
    ) -> list[ProfileRow]:
        """Run an entry and measure the time of its parts, like `cs336-run --profile`.

        On a GPU, CUPTI reads the GPU's clock at the start and the end of each kernel, so the overhead of profiling is
        largest for steps with many short kernels. This method profiles every run and does not measure the overhead:
        `cs336.profiling_overhead` does.

        Parameters
        ----------
        entry, inputs
            As for `run`.
        steps
            Number of runs, on the same inputs.
        by
            Key of the rows: "kernel" (on the CPU, a command), "command", "kind" ("gemm", or the operations of a
            generated kernel), "operation" ("layers.*.attn.q_proj"), "range" ("norm", "qkv", "scores", …),
            "range-kernel" ("norm: cast_add_mul_reduce_9f5c"), "layer" or "phase".
        trace
            File to write every run to (.json), which ui.perfetto.dev opens. It has the first 1,000,000 runs of kernels
            or commands.

        Returns
        -------
        list
            Rows by decreasing time. On the CPU the commands, which run one by one; on a GPU the kernels and copies of
            the whole process, as they run in the entry's graph.

        Raises
        ------
        ValueError
            As for `run`; if `steps` is not positive; if `by` is not one of the keys.
        OSError
            If the trace cannot be written.
        RuntimeError
            On a GPU, if the session was not created with `profile=True`.
        """
        if steps < 1:
            raise ValueError(f"steps is {steps}, must be positive")
        path = "" if trace is None else os.fspath(trace)
        if self._is_profiling:  # A handler of a signal runs between two steps.
            raise RuntimeError("the session is being profiled: a handler of a signal cannot profile it too")
        self._is_profiling = True
        try:
            rows = self._session.profile(entry, self._arguments(entry, inputs), steps, by, path)
        finally:
            self._is_profiling = False
        return [ProfileRow(phase, name, count, *seconds) for phase, name, count, seconds in rows]

    @_exclusive
    def _time_steps(self, entry: str, inputs: Mapping[str, TensorLike], steps: int, profiled: bool) -> list[float]:
        """Run an entry, and return the device's time for each run in seconds."""
        return self._session.time_steps(entry, self._arguments(entry, inputs), steps, profiled)

    @_exclusive
    def share(self, name: str, entry: str | None = None) -> Any:
        """Return a variable, or an output of `entry`, for other libraries, without a copy.

        `torch.from_dlpack(session.share("lm_head.weight"))` is the variable itself: writes of one side are visible to
        the other. It lies on the session's device, or in host memory that the GPU reaches if only "prepare" reads it. A
        library that uses streams of its own must finish its work before the next run (`torch.cuda.synchronize()`).
        After the library has written a variable, call `prepare()`. Before passing the shared tensor back to this
        session, as an input or a variable, call `synchronize()`.

        Parameters
        ----------
        name
            Name of a variable or of an output.
        entry
            The entry of the output. The output is valid until the next run of any entry of the session, including
            `prepare()` and methods that call it; copy it to keep it longer.

        Returns
        -------
        object
            An object with `__dlpack__` and `__dlpack_device__`, which keeps the session alive.

        Raises
        ------
        ValueError
            If there is no such variable, entry or output.
        RuntimeError
            If the entry has not run, or another entry has run since, or if this rank stores a part of the variable.
        """
        if entry is None:
            return self._session.share_variable(check_name(name, "the name of a variable"))
        check_name(entry, "the name of an entry")
        return self._session.share_output(entry, check_name(name, "the name of an output"))

    @_exclusive
    def synchronize(self) -> None:
        """Wait for all work that was enqueued on the device.

        Raises
        ------
        RuntimeError
            If enqueued work failed.
        """
        self._session.synchronize()

    @_exclusive
    def last_run_seconds(self, entry: str) -> float:
        """Return the device's time for the last run of an entry, without the copies of its inputs."""
        return self._session.last_run_seconds(check_name(entry, "the name of an entry"))

    @_exclusive
    def memory(self) -> dict[str, int]:
        """Return the use of the device's memory in bytes.

        Returns
        -------
        dict
            "allocated_bytes": allocated by this session. "workspace_bytes": the part of it that GEMMs and kernels use
            on the CPU, which depends on the processor and the number of threads and is not planned. "used_bytes": in
            use since the session started, by the device's own count. "available_bytes": still available.
            "before_bytes": in use before, by the context and all other users of the device. "kernel_bytes",
            "library_bytes", "graph_bytes" and "rounding_bytes": the parts of "used_bytes" that are not allocated by the
            session: the code of its kernels, what libraries of GEMMs loaded, captured graphs, and what the device adds
            to allocations.
        """
        return self._session.memory()

    @_exclusive
    def load(self, path: str | os.PathLike[str], parameters_only: bool = False, ignore_extra: bool = False) -> None:
        """Set all variables from a .safetensors, .npz or .npy file, by checkpoint name.

        Warns if the last bits of further steps will differ from those of an uninterrupted run: on the CPU, if the
        session that wrote the file had another number of threads.

        Parameters
        ----------
        path
            The file.
        parameters_only
            Leave the optimizer's state unchanged.
        ignore_extra
            Accept names of the file that no variable has.

        Raises
        ------
        ValueError
            If the file is damaged, or names are missing, extra, or of another type; nothing has changed then.
        """
        if reason := self._session.load(os.fspath(path), parameters_only, ignore_extra):
            warnings.warn(reason, stacklevel=3)

    @_exclusive
    def save(self, path: str | os.PathLike[str] | None, parameters_only: bool = False) -> None:
        """Write all variables by checkpoint name. After an error, an existing file is unchanged.

        If ranks store parts of variables, all ranks must call it. A rank without a path takes part and writes no file.
        """
        if path is None:
            self._session.join_save(parameters_only)
        else:
            self._session.save(os.fspath(path), parameters_only)

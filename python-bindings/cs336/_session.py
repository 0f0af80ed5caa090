"""Running executables."""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import NDArray

from cs336 import _cs336
from cs336._arrays import TensorLike, as_input
from cs336._checks import check_integer, check_name, check_names, check_type
from cs336._compiler import Executable

# What to pass for a session's executable in place of objects of other types.
_EXECUTABLES = {
    "Module": "compile it first, cs336.Session(cs336.compile(module))",
    "TransformerConfig": "build and compile it first, cs336.Session(cs336.compile(cs336.build(config)))",
    "str": "load it first, cs336.Session(cs336.Executable.load(path))",
    "PosixPath": "load it first, cs336.Session(cs336.Executable.load(path))",
    "": "cs336.compile makes one",
}

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _exclusive(
    method: Callable[Concatenate[Session, Parameters], Result],
) -> Callable[Concatenate[Session, Parameters], Result]:
    """Raise RuntimeError if another thread is within a method of the same session."""

    @functools.wraps(method)
    def call(self: Session, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "the session is in use by another thread: give each thread a session of its own, or let one thread at "
                "a time call it"
            )
        try:
            return method(self, *args, **kwargs)
        finally:
            self._lock.release()

    return call


@dataclass(frozen=True)
class WrittenValue:
    """A tensor that a command of a run wrote.

    Attributes
    ----------
    index
        Of the command among the entry's.
    phase
        "forward", "backward", "optimizer" or "prepare".
    location
        In the program: the layer and operation.
    kind, command
        "launch", "gemm", "copy" and so on, and the command's name.
    name
        Of the tensor; in-place commands write one of a name again.
    array
        A copy; bf16 comes as float32.
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
    """All runs of the commands of one name, on a GPU of the kernels of one name.

    Attributes
    ----------
    phase
        "forward", "backward", "optimizer" or "prepare"; "" of a kernel, which phases share.
    name
        Of the command or the kernel.
    count
        How often it ran.
    seconds
        Of all its runs together.
    """

    phase: str
    name: str
    count: int
    seconds: float


def best_device() -> str:
    """Say where programs run fastest here.

    Returns
    -------
    str
        "cuda" where there is a GPU with a driver for CUDA 13 and cuBLAS, else "cpu". `cs336-bench doctor` says why.
    """
    return "cuda" if _cs336.has_usable_gpu() else "cpu"


class Session:
    """A loaded executable with its variables. One thread at a time may call it: a call during another is an error.

    After `os.fork()` a session on the CPU works in both processes, each with its own variables. CUDA does not survive
    fork(): start processes that use a session on a GPU with the method "spawn".

    Indexing reads and writes variables under their checkpoint names: `session["lm_head.weight"]` is a copy,
    `session["lm_head.weight"] = array` sets it.

    Wherever a session takes an array it takes a tensor of another library too, by DLPack: on the host it is read where
    it lies, and on the session's GPU it is copied within the GPU, after what its library has enqueued in its stream.
    On a GPU the element type must be the exact one, and the layout dense and row-major. The tensor may change as soon
    as the call returns.

    Parameters
    ----------
    executable
        What to load.
    device
        Where to run it: "cpu", "cuda", or "cuda:1" for the second GPU; it must be what the executable was compiled for.
    num_threads
        Threads that a kernel may use, at most 4096; 0 takes OMP_NUM_THREADS if that is set, otherwise one per core.
    memory_limit_bytes
        Most bytes to allocate; 0 takes what the machine has.
    poison_memory
        Before each run, fill inputs, outputs and temporary tensors with NaN, so that whatever is read before it was
        written, or left unwritten, shows. For debugging: it costs a pass over that memory.
    profile
        Prepare for `profile` on a GPU, by CUDA's CUPTI; the CPU needs no preparation. One session at a time can, and it
        keeps a record of every kernel until it is asked: not for long training.

    Raises
    ------
    MemoryError
        If there is not enough memory; the message says how much was wanted for what.
    RuntimeError
        If the executable is for another device, or there is none; if kernels cannot be profiled.
    ValueError
        If there is no such device name.
    """

    def __init__(
        self,
        executable: Executable,
        device: str = "cpu",
        num_threads: int = 0,
        memory_limit_bytes: int = 0,
        poison_memory: bool = False,
        profile: bool = False,
    ) -> None:
        check_type(executable, Executable, "the executable of a session", _EXECUTABLES)
        self._session = _cs336.Session(
            executable._executable, device, num_threads, memory_limit_bytes, poison_memory, profile
        )
        self._lock = threading.RLock()
        self._variables = executable.variables
        self._inputs = {entry: executable.inputs(entry) for entry in executable.entries}
        self._outputs = {entry: executable.outputs(entry) for entry in executable.entries}

    @property
    def device(self) -> str:
        """Where the session runs: "cpu", "cuda:0"."""
        return self._session.device

    @property
    def allocated_bytes(self) -> int:
        """Bytes that the session allocated."""
        return self._session.allocated_bytes

    @_exclusive
    def initialize(self, seed: int = 0) -> None:
        """Give every variable its initial value. The same seed, in [0, 2^64), gives the same values, to the bit."""
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
        """Copies of all parameters."""
        return {name: self[name] for name, variable in self._variables.items() if variable.kind == "parameter"}

    @_exclusive
    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the optimizer's state."""
        return {name: self[name] for name, variable in self._variables.items() if variable.kind == "state"}

    @_exclusive
    def set_parameters(self, values: Mapping[str, TensorLike]) -> None:
        """Set all parameters, and compute what is derived from them.

        Raises
        ------
        ValueError
            If names are missing or extra, or a shape differs.
        """
        wanted = {name for name, variable in self._variables.items() if variable.kind == "parameter"}
        missing, extra = sorted(wanted - set(values)), sorted(map(str, set(values) - wanted))
        if missing or extra:
            raise ValueError(f"parameters missing: {', '.join(missing) or 'none'}; extra: {', '.join(extra) or 'none'}")
        for name, value in values.items():
            self[name] = value
        self.prepare()

    @_exclusive
    def prepare(self) -> None:
        """Compute what is derived from parameters: runs do so by themselves, unless parameters were shared."""
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
        """Run an entry to its end.

        Parameters
        ----------
        entry
            "train", "forward_backward", "loss", "forward", or whatever the module's functions are called.
        inputs
            Every input by name: arrays, or tensors of the host or the session's GPU.
        outputs
            Names of the outputs to copy; all unless some are named. The others stay where they are until the next run
            of any entry (see `share`); with none to copy, a run on a GPU is enqueued and not waited for.
        check_nan
            Stop at the first command that writes a NaN. For debugging: commands then run one by one, and the host looks
            at all that they write.

        Returns
        -------
        dict
            Copies of the outputs by name. Gradients have their parameters' names.

        Raises
        ------
        ValueError
            If an input is missing, extra, of another type or shape, on another device, or out of its bound; then
            nothing has changed. If there is no such output.
        TypeError
            If the inputs are not a mapping, or `outputs` is one string.
        FloatingPointError
            If a command wrote a NaN and that was to be checked; the message names the command, its place in the
            program, and the element. Later commands have not run, and variables are as the earlier ones left them.
        """
        wanted = self._outputs.get(entry, {}) if outputs is None else check_names(outputs, "outputs")
        if unknown := [name for name in wanted if name not in self._outputs.get(entry, {})]:
            raise ValueError(f"entry '{entry}' has no output '{unknown[0]}'")
        self._session.run(entry, self._arguments(entry, inputs), check_nan)
        return {name: self._session.output(entry, name) for name in wanted}

    @_exclusive
    def previous_output(self, entry: str, name: str) -> NDArray[Any]:
        """Copy an output as the run before the entry's last left it, without waiting for the last.

        So whoever follows the loss of a training run keeps a GPU busy: each step is enqueued with `outputs=[]`, and the
        loss of the one before is read while it runs.

        Parameters
        ----------
        entry
            That has run at least twice.
        name
            Of an output of at most 4 KiB.

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
        """Run an entry, command by command, and copy what its commands write, as `cs336-run --dump-values` prints it.

        Parameters
        ----------
        entry, inputs
            As of `run`.
        pattern
            A glob: values whose name, or whose command's name or location matches it, "layers.0.attn.*".

        Returns
        -------
        list
            In the order of the commands.

        Raises
        ------
        ValueError
            As `run`; if the glob is none; if nothing matches it, which is known only after the run.
        """
        check_name(pattern, "the glob")
        return [WrittenValue(*row) for row in self._session.values(entry, self._arguments(entry, inputs), pattern)]

    @_exclusive
    def profile(self, entry: str, inputs: Mapping[str, TensorLike], steps: int = 1) -> list[ProfileRow]:
        """Run an entry and say where the time goes, as `cs336-run --profile` prints it.

        Parameters
        ----------
        entry, inputs
            As of `run`.
        steps
            How often to run it, on the same inputs.

        Returns
        -------
        list
            The most time first: the commands on the CPU, which then run one by one; on a GPU the kernels and copies of
            the whole process, as they run in the entry's graph.

        Raises
        ------
        ValueError
            As `run`; if `steps` is not positive.
        RuntimeError
            On a GPU, if the session was not created with `profile=True`.
        """
        if steps < 1:
            raise ValueError(f"steps is {steps}, must be positive")
        return [ProfileRow(*row) for row in self._session.profile(entry, self._arguments(entry, inputs), steps)]

    @_exclusive
    def share(self, name: str, entry: str | None = None) -> Any:
        """Give a variable, or an output of `entry`, to another library, without a copy.

        What `torch.from_dlpack(session.share("lm_head.weight"))` gives is the variable itself, on the device where it
        lies, or in host memory that the GPU reaches if "prepare" alone reads it: what one side writes, the other
        reads. A library that works in streams of its own must be done before the next run
        (`torch.cuda.synchronize()`), and `prepare()` follows what it has written. To give what is shared back to this
        session, as an input or a variable, `synchronize()` first.

        Parameters
        ----------
        name
            Of a variable, or of an output.
        entry
            Whose output. It is there until the next run of any entry of the session, `prepare()` and what calls it
            included, which overwrites it; clone what is to be kept.

        Returns
        -------
        object
            With `__dlpack__` and `__dlpack_device__`. It keeps the session alive.

        Raises
        ------
        ValueError
            If there is no such variable, entry or output.
        RuntimeError
            If the entry has not run, or another has run since.
        """
        if entry is None:
            return self._session.share_variable(check_name(name, "the name of a variable"))
        check_name(entry, "the name of an entry")
        return self._session.share_output(entry, check_name(name, "the name of an output"))

    @_exclusive
    def synchronize(self) -> None:
        """Wait for all that was enqueued on the device.

        Raises
        ------
        RuntimeError
            If something that was enqueued failed.
        """
        self._session.synchronize()

    @_exclusive
    def last_run_seconds(self, entry: str) -> float:
        """Return the device's time for the last run of an entry, without the feeding of its inputs."""
        return self._session.last_run_seconds(check_name(entry, "the name of an entry"))

    @_exclusive
    def memory(self) -> dict[str, int]:
        """Return bytes of the device's memory.

        Returns
        -------
        dict
            "allocated_bytes" by this session, "used_bytes" since it started, by the device's own count, and
            "available_bytes".
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
            Of the file.
        parameters_only
            Leave the optimizer's state as it is.
        ignore_extra
            Accept names that no variable has.

        Raises
        ------
        ValueError
            If the file is damaged, or names are missing, extra, or of another type; then nothing has changed.
        """
        if reason := self._session.load(os.fspath(path), parameters_only, ignore_extra):
            warnings.warn(reason, stacklevel=3)

    @_exclusive
    def save(self, path: str | os.PathLike[str], parameters_only: bool = False) -> None:
        """Write all variables by checkpoint name; an error leaves what was there."""
        self._session.save(os.fspath(path), parameters_only)

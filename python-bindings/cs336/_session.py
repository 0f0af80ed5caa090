"""Running executables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cs336 import _cs336
from cs336._compiler import Executable

# NumPy has no bf16; float32 holds it exactly.
_NUMPY_TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "bf16": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i1": np.bool_,
}


def _as_array(value: ArrayLike, dtype: str) -> NDArray[Any]:
    """A dense array of the wanted type if the conversion is harmless: between floats, or to a wider integer."""
    array = np.asarray(value, order="C")
    wanted = np.dtype(_NUMPY_TYPES[dtype])
    both_float = array.dtype.kind == wanted.kind == "f"
    return array.astype(wanted, copy=False) if both_float or np.can_cast(array.dtype, wanted) else array


def best_device() -> str:
    """Say where programs run fastest here.

    Returns
    -------
    str
        "cuda" where there is a GPU with a driver for CUDA 13 and cuBLAS, else "cpu". `cs336-bench doctor` says why.
    """
    return "cuda" if _cs336.has_usable_gpu() else "cpu"


class Session:
    """A loaded executable with its variables. Not for use by several threads at once.

    Indexing reads and writes variables under their checkpoint names: `session["lm_head.weight"]` is a copy,
    `session["lm_head.weight"] = array` sets it.

    Parameters
    ----------
    executable
        What to load.
    device
        Where to run it: "cpu", "cuda", or "cuda:1" for the second GPU; it must be what the executable was compiled for.
    num_threads
        Threads that a kernel may use; 0 takes all cores.
    memory_limit_bytes
        Most bytes to allocate; 0 takes what the machine has.
    poison_memory
        Before each run, fill inputs, outputs and temporary tensors with NaN, so that whatever is read before it was
        written, or left unwritten, shows. For debugging: it costs a pass over that memory.

    Raises
    ------
    MemoryError
        If there is not enough memory; the message says how much was wanted for what.
    RuntimeError
        If the executable is for another device, or there is none.
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
    ) -> None:
        self._session = _cs336.Session(executable._executable, device, num_threads, memory_limit_bytes, poison_memory)
        self._variables = executable.variables
        self._inputs = {entry: executable.inputs(entry) for entry in executable.entries}
        self._outputs = {entry: executable.outputs(entry) for entry in executable.entries}

    @property
    def allocated_bytes(self) -> int:
        """Bytes that the session allocated."""
        return self._session.allocated_bytes

    def initialize(self, seed: int = 0) -> None:
        """Give every variable its initial value. The same seed gives the same values, to the bit."""
        self._session.initialize(seed)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._session.get_variable(name)

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        if name not in self._variables:
            raise ValueError(f"the executable has no variable '{name}'")
        self._session.set_variable(name, _as_array(value, self._variables[name].dtype))

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def parameters(self) -> dict[str, NDArray[Any]]:
        """Copies of all parameters."""
        return {name: self[name] for name, variable in self._variables.items() if variable.kind == "parameter"}

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the optimizer's state."""
        return {name: self[name] for name, variable in self._variables.items() if variable.kind == "state"}

    def set_parameters(self, values: Mapping[str, ArrayLike]) -> None:
        """Set all parameters, and compute what is derived from them.

        Raises
        ------
        ValueError
            If names are missing or extra, or a shape differs.
        """
        wanted = {name for name, variable in self._variables.items() if variable.kind == "parameter"}
        missing, extra = sorted(wanted - set(values)), sorted(set(values) - wanted)
        if missing or extra:
            raise ValueError(f"parameters missing: {', '.join(missing) or 'none'}; extra: {', '.join(extra) or 'none'}")
        for name, value in values.items():
            self[name] = value
        self.prepare()

    def prepare(self) -> None:
        """Compute what is derived from parameters: runs do so by themselves, unless parameters were shared."""
        self._session.prepare()

    def run(
        self, entry: str, inputs: Mapping[str, ArrayLike], outputs: Iterable[str] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Run an entry to its end.

        Parameters
        ----------
        entry
            "train", "forward_backward", "loss", "forward", or whatever the module's functions are called.
        inputs
            Every input by name.
        outputs
            Names of the outputs to copy; all unless some are named. The others stay where they are until the next run
            of any entry (see `share`); with none to copy, a run on a GPU is enqueued and not waited for.

        Returns
        -------
        dict
            Copies of the outputs by name. Gradients have their parameters' names.

        Raises
        ------
        ValueError
            If an input is missing, extra, of another type or shape, or out of its bound; then nothing has changed. If
            there is no such output.
        """
        wanted = self._outputs.get(entry, {}) if outputs is None else list(outputs)
        if unknown := [name for name in wanted if name not in self._outputs.get(entry, {})]:
            raise ValueError(f"entry '{entry}' has no output '{unknown[0]}'")
        ports = self._inputs.get(entry, {})
        arrays = {
            name: _as_array(value, ports[name].dtype) if name in ports else np.asarray(value, order="C")
            for name, value in inputs.items()
        }
        self._session.run(entry, arrays)
        return {name: self._session.output(entry, name) for name in wanted}

    def share(self, name: str, entry: str | None = None) -> Any:
        """Give a variable, or an output of `entry`, to another library, without a copy.

        What `torch.from_dlpack(session.share("lm_head.weight"))` gives is the variable itself, on the device where it
        lies, or in host memory that the GPU reaches if "prepare" alone reads it: what one side writes, the other
        reads. A library that works in streams of its own must be done before the next run
        (`torch.cuda.synchronize()`), and `prepare()` follows what it has written.

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
            return self._session.share_variable(name)
        return self._session.share_output(entry, name)

    def synchronize(self) -> None:
        """Wait for all that was enqueued on the device.

        Raises
        ------
        RuntimeError
            If something that was enqueued failed.
        """
        self._session.synchronize()

    def last_run_seconds(self, entry: str) -> float:
        """Return the device's time for the last run of an entry, without the feeding of its inputs."""
        return self._session.last_run_seconds(entry)

    def memory(self) -> dict[str, int]:
        """Return bytes of the device's memory.

        Returns
        -------
        dict
            "allocated_bytes" by this session, "used_bytes" since it started, by the device's own count, and
            "available_bytes".
        """
        return self._session.memory()

    def load(self, path: str | os.PathLike[str], parameters_only: bool = False, ignore_extra: bool = False) -> None:
        """Set all variables from a .safetensors, .npz or .npy file, by checkpoint name.

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
        self._session.load(os.fspath(path), parameters_only, ignore_extra)

    def save(self, path: str | os.PathLike[str], parameters_only: bool = False) -> None:
        """Write all variables by checkpoint name; an error leaves what was there."""
        self._session.save(os.fspath(path), parameters_only)

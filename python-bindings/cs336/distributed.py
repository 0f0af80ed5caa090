"""Groups of processes that train one model.

`init` finds this process's place in a job that `python -m cs336.launch`, torchrun, mpirun or srun started. A `Session`
that gets the group runs a program that was compiled for as many ranks:

    group = cs336.distributed.init()
    executable = cs336.compile(module, ranks=group.size, distribute="bucket")
    session = cs336.Session(executable, group=group)

    python -m cs336.launch --nproc 2 train.py
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cs336 import _cs336
from cs336._exclusive import exclusive

__all__ = ["Group", "init", "launch"]

_exclusive = exclusive("the group is in use by another thread: call it from one thread at a time")

DEFAULT_TIMEOUT = 30.0
"""Seconds."""


def _as_array(value: Any) -> Any:
    """Return a Python number as an array without dimensions, and any other value unchanged."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return value
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"the number to reduce is {value}, must fit into 64 bits: pass a float")
    return np.asarray(value, np.int64 if isinstance(value, int) else np.float64)


class Group:
    """The membership of this process in a group of ranks. `init` creates it. One thread at a time may use it.

    All ranks must call the same methods, and run the same entries with collectives, in the same order. An error of one
    rank ends the group on all ranks. A group is a context manager, which closes it.
    """

    def __init__(self, group: _cs336.Group) -> None:
        self._group = group
        self._lock = threading.Lock()

    @property
    def rank(self) -> int:
        """The number of this process, from 0 to `size - 1`."""
        return self._group.rank

    @property
    def size(self) -> int:
        """The number of processes."""
        return self._group.size

    @property
    def local_rank(self) -> int:
        """The number of this process among those on its host."""
        return self._group.local_rank

    @property
    def local_size(self) -> int:
        """The number of processes on this host."""
        return self._group.local_size

    @_exclusive
    def barrier(self) -> None:
        """Wait until all ranks call it.

        Raises
        ------
        RuntimeError
            If a rank has failed, has left, or does not call it in time: the message names the rank. If another thread
            is within a method of the group, or this process was forked from the rank.
        """
        self._group.barrier()

    @_exclusive
    def all_reduce(self, array: Any, reduction: Literal["sum", "mean", "max", "min"] = "mean") -> NDArray[Any]:
        """Return the sum, mean, maximum or minimum over the ranks' arrays, which have one shape and type.

        Ranks are added in their order, so that all get the same bits. The mean of integers is rounded toward zero.

        Parameters
        ----------
        array
            An array of numbers. A Python number stands for an array without dimensions: int64 for an int, float64 for a
            float.
        reduction
            "sum", "mean", "max" or "min".

        Returns
        -------
        numpy.ndarray
            An array of the same shape and type.

        Raises
        ------
        RuntimeError
            As for `barrier`.
        TypeError
            If `array` is neither an array nor a number.
        ValueError
            If the ranks' arrays differ in type or number of elements, the reduction is unknown, the elements are
            booleans, or the array lies on a GPU.
        """
        return self._group.all_reduce(_as_array(array), reduction)

    @_exclusive
    def close(self) -> None:
        """Leave the group, once the sessions that use it are gone too.

        Raises
        ------
        RuntimeError
            If another thread is within a method of the group.
        """
        self._group.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _check_timeout(timeout: float) -> float:
    if not (math.isfinite(timeout) and timeout > 0):
        raise ValueError(f"timeout is {timeout}, must be a positive number of seconds")
    return float(timeout)


def init(timeout: float = DEFAULT_TIMEOUT) -> Group:
    """Join the group that this process was started for, and wait for all other ranks.

    Returns a group of one rank if no launcher started this process.

    Parameters
    ----------
    timeout
        Seconds in which all ranks end after a fault of one. For three fifths of them, this rank waits for ranks to
        arrive and, in each collective, for a rank that sends nothing. `launch` should have the same timeout.

    Raises
    ------
    MemoryError
        If there are too many open files, or too little memory.
    RuntimeError
        If a rank does not arrive in time, or the rendezvous cannot be reached.
    ValueError
        If an environment variable is missing or malformed. The message names it.
    """
    return Group(_cs336.join_group(_check_timeout(timeout)))


def launch(command: Sequence[str], ranks: int, timeout: float = DEFAULT_TIMEOUT) -> None:
    """Run a command as the ranks of a group on this host, and wait for their end.

    Lines that a rank prints begin with "rank R: ". The cores are divided among the ranks. A signal that ends this
    process ends the ranks, and a rank that fails ends all. Call it from the main thread.

    Parameters
    ----------
    command
        The program and its arguments.
    ranks
        The number of processes, from 1 to 1024.
    timeout
        Seconds in which all ranks end after a fault of one. The ranks should pass the same number to `init`.

    Raises
    ------
    KeyboardInterrupt
        If a signal to this process ended the ranks.
    MemoryError
        If there are too many open files, or too little memory.
    OSError
        If the program cannot be run.
    RuntimeError
        If a rank fails. The message has the first failure, and how ranks ended.
    ValueError
        If the command is not a list of words, is empty, or the number of ranks is another one.
    """
    if isinstance(command, str):
        raise ValueError(f"the command is one text, must be a list of words: {command.split()}")
    _cs336.launch([str(word) for word in command], ranks, _check_timeout(timeout))

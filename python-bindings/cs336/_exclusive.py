"""Methods of objects that one thread at a time may use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class Locked(Protocol):
    """An object with a lock that its methods hold."""

    _lock: Any


Owner = TypeVar("Owner", bound=Locked)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def exclusive(
    busy: str,
) -> Callable[[Callable[Concatenate[Owner, Parameters], Result]], Callable[Concatenate[Owner, Parameters], Result]]:
    """Return a decorator of methods, which raise RuntimeError with this message if another thread is within one."""

    def decorate(
        method: Callable[Concatenate[Owner, Parameters], Result],
    ) -> Callable[Concatenate[Owner, Parameters], Result]:
        @functools.wraps(method)
        def call(self: Owner, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            if not self._lock.acquire(blocking=False):
                raise RuntimeError(busy)
            try:
                return method(self, *args, **kwargs)
            finally:
                self._lock.release()

        return call

    return decorate

"""Values that users could pass to a session, as Hypothesis strategies, and the results that a session must give."""

from __future__ import annotations

import array
import warnings
from collections.abc import Iterator
from typing import Any

import cs336
import numpy as np
from hypothesis import strategies as st

# One input per element type and rank; each is an output too.
PORTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "f64": ("f64", (2, 3)),
    "f32": ("f32", (2, 3)),
    "f16": ("f16", (2, 3)),
    "i64": ("i64", (2, 3)),
    "i32": ("i32", (3,)),
    "i1": ("i1", (2, 2)),
    "scalar": ("f32", ()),
}
NUMPY_TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i1": "?"}
ODD_TYPES = ["c8", "c16", "g", "O", "S3", "U3", "M8[s]", "m8[ns]", "V6", "u1", "u2", "u4", "u8", "i1", "i2"]


def tensor(name: str) -> str:
    dtype, shape = PORTS[name]
    return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"


def make_session() -> cs336.Session:
    """Compile a program that returns its inputs and a parameter "w"."""
    parameter = '%w: tensor<2x3xf32> {cs336.kind = "parameter", cs336.name = "w"}'
    named = [f'%{name}: {tensor(name)} {{cs336.kind = "input", cs336.name = "{name}"}}' for name in PORTS]
    types = [tensor(name) for name in PORTS] + ["tensor<2x3xf32>"]
    values = [f"%{name}" for name in PORTS] + ["%w"]
    results = [
        f'{kind} {{cs336.kind = "output", cs336.name = "out.{value[1:]}"}}'
        for kind, value in zip(types, values, strict=True)
    ]
    text = f"func.func @identity({', '.join([*named, parameter])}) -> ({', '.join(results)}) {{\n"
    text += f"  return {', '.join(values)} : {', '.join(types)}\n}}\n"
    session = cs336.Session(cs336.compile(text))
    session["w"] = np.zeros((2, 3), np.float32)
    session.initialize(0)
    return session


def good_inputs() -> dict[str, np.ndarray]:
    return {name: np.zeros(shape, NUMPY_TYPES[dtype]) for name, (dtype, shape) in PORTS.items()}


class RaisedByValueError(Exception):
    """An error that values raise themselves."""


class LyingArray(np.ndarray):
    """An array that claims a shape, a type and strides that it does not have."""

    shape = property(lambda self: (2, 3))
    dtype = property(lambda self: np.dtype("f4"))
    strides = property(lambda self: (1 << 40, -8))
    ndim = property(lambda self: 2)

    def astype(self, *args: Any, **options: Any) -> Any:
        return None


class Protocol:
    """An object that converts itself by one of NumPy's or DLPack's methods."""

    def __init__(self, value: Any, method: str) -> None:
        self.value = value
        if method == "interface":
            self.__array_interface__ = value.__array_interface__
        self.method = method

    def __getattr__(self, name: str) -> Any:
        calls = {
            "array": {"__array__": lambda dtype=None, copy=None: self.value},
            "raises": {"__array__": self._fail},
            "dlpack": {"__dlpack__": self._to_dlpack, "__dlpack_device__": lambda: (1, 0)},
            "dlpack raises": {"__dlpack__": self._fail, "__dlpack_device__": lambda: (1, 0)},
            "elsewhere": {"__dlpack__": self._to_dlpack, "__dlpack_device__": lambda: (2, 7)},
            "not a capsule": {"__dlpack__": lambda **options: 3, "__dlpack_device__": lambda: (1, 0)},
        }.get(self.__dict__.get("method", ""), {})
        if name in calls:
            return calls[name]
        raise AttributeError(name)

    def _to_dlpack(self, **options: Any) -> Any:
        return self.value.__dlpack__(**{key: value for key, value in options.items() if value is not None})

    def _fail(self, *args: Any, **options: Any) -> Any:
        raise RaisedByValueError


METHODS = ["array", "raises", "interface", "dlpack", "dlpack raises", "elsewhere", "not a capsule"]


@st.composite
def arrays(draw: st.DrawFn, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Arrays mostly of a type and a shape, with any bytes, in any layout."""
    if draw(st.integers(0, 3)) == 0:
        kind = draw(st.sampled_from([*NUMPY_TYPES.values(), *ODD_TYPES]))
    else:
        kind = NUMPY_TYPES[dtype]
    order = draw(st.sampled_from("<<>"))
    wanted = np.dtype([("x", kind), ("y", "u1")]) if draw(st.integers(0, 40)) == 0 else np.dtype(kind)
    wanted = wanted.newbyteorder(order)
    if draw(st.integers(0, 4)) == 0:
        shape = draw(st.sampled_from([(), (1,), (6,), (3, 2), (2, 3), (1, 2, 3), (0, 3), (2, 0), (3,), (2, 2)]))
    layout = draw(st.sampled_from(["dense", "fortran", "reversed", "step", "broadcast", "unaligned", "huge"]))
    if layout == "huge":
        # More elements than memory has bytes, all at one address.
        return np.broadcast_to(np.zeros((), wanted), (1 << 20, 1 << 20))
    whole = tuple(2 * size for size in shape) if layout == "step" else shape
    count = int(np.prod(whole, dtype=np.int64))
    if wanted.hasobject:
        made = np.full(whole, 1.5, dtype=wanted)
    else:
        pad = int(layout == "unaligned")
        raw = np.frombuffer(draw(st.binary(min_size=8, max_size=8)) * (wanted.itemsize * count // 8 + 2), np.uint8)
        made = np.array(raw[: pad + wanted.itemsize * count])[pad:].view(wanted).reshape(whole)
    if layout == "fortran":
        made = np.asfortranarray(made)
    elif layout == "reversed":
        made = made[(..., *(slice(None, None, -1) for _ in shape))]
    elif layout == "step":
        made = made[(..., *(slice(None, None, 2) for _ in shape))]
    elif layout == "broadcast" and shape and count:
        made = np.broadcast_to(made[:1], shape)
    if draw(st.booleans()) and made.flags.owndata:
        made.flags.writeable = False
    return made


@st.composite
def values(draw: st.DrawFn, dtype: str, shape: tuple[int, ...]) -> Any:
    """Arrays, values that NumPy converts to arrays, and values that it does not."""
    value = draw(arrays(dtype, shape))
    if value.size > 1 << 20 or draw(st.integers(0, 2)):
        return value
    kind = draw(st.integers(0, 12))
    if kind == 0:
        return value.tolist()
    if kind == 1:
        return value.view(LyingArray)
    if kind == 2:
        return np.ma.masked_array(value)
    if kind in (3, 4, 5, 6):
        return Protocol(value, draw(st.sampled_from(METHODS)))
    if kind == 7:
        return value.tobytes()
    if kind == 8:
        return array.array("d", [1.0] * 6)
    if kind == 9:
        return [[1.0, 2.0], [3.0]]
    if kind == 10:
        return np.zeros(shape, "f4").__dlpack__()
    if kind == 11:
        return draw(st.sampled_from([None, {}, {1}, "x", 1 << 70, 1j, object(), lambda: 0, float("nan"), ...]))
    return memoryview(bytes(6))


ports = st.sampled_from([*PORTS, "w"])
names = st.one_of(
    ports,
    st.text(st.characters(codec=None), max_size=4),
    st.sampled_from(["", "\ud800", "a\0b", "w\0", 3, None, b"w", ("w",), 1.5, np.str_("f32")]),
)


def accepted(value: Any, dtype: str, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the elements that a session must read, or None if it must reject the value."""
    given = value.value if isinstance(value, Protocol) and value.method == "dlpack" else np.asarray(value)
    wanted = np.dtype(NUMPY_TYPES[dtype])
    both_float = given.dtype.kind == wanted.kind == "f"
    if given.shape != shape or not (both_float or np.can_cast(given.dtype, wanted)):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # Large numbers overflow to infinity in float16.
        result = np.array(given.astype(wanted))
    return result.view(np.uint8) != 0 if dtype == "i1" else result


def check_value(session: cs336.Session, port: str, value: Any) -> None:
    """Pass a value to an input, or to the variable "w": it arrives, or an error names the destination."""
    dtype, shape = PORTS.get(port, ("f32", (2, 3)))
    try:
        expected = accepted(value, dtype, shape)
    except Exception:  # Raised by the value itself, or by NumPy if it is not an array.
        expected = None
    must_take = expected is not None and type(value) is np.ndarray
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            if port == "w":
                session["w"] = value
            outputs = session.run("identity", good_inputs() | ({port: value} if port != "w" else {}))
    except RaisedByValueError:
        return
    except (TypeError, ValueError, BufferError) as error:
        assert not must_take, f"refused: {error}"
        assert port in str(error) or "dlpack" in str(error).lower(), f"does not name '{port}': {error!r}"
        return
    assert expected is not None, f"took {value!r} for {dtype}{list(shape)}"
    got = outputs[f"out.{port}"]
    np.testing.assert_array_equal(got, expected)
    if dtype == "i1":
        assert set(got.tobytes()) <= {0, 1}


def check_name(session: cs336.Session, name: Any) -> None:
    """Use a name for everything with a name: known names work, others are rejected."""
    zeros = np.zeros((2, 3), np.float32)

    def calls() -> Iterator[tuple[bool, Any]]:
        yield name == "w", lambda: session[name]
        yield name == "w", lambda: session.__setitem__(name, zeros)
        yield name == "w", lambda: session.share(name)
        yield name in PORTS, lambda: session.run("identity", {**good_inputs(), name: good_inputs().get(name, zeros)})
        yield False, lambda: session.run(name, good_inputs())
        yield False, lambda: session.run("identity", good_inputs(), outputs=[name])
        yield False, lambda: session.last_run_seconds(name)
        yield False, lambda: session.share("w", entry=name) if name is not None else session[name]

    for known, call in calls():
        try:
            call()
        except (TypeError, ValueError) as error:
            assert not known, f"refused {name!r}: {error}"
            assert "incompatible function arguments" not in str(error), f"does not explain {name!r}: {error}"
        else:
            assert known, f"took {name!r}"

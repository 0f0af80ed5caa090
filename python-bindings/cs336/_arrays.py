"""Values that sessions take: NumPy arrays, and tensors of other libraries by DLPack."""

from __future__ import annotations

from typing import Any, Protocol, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray


class DLPackTensor(Protocol):
    """A tensor of PyTorch, JAX, CuPy or another library, on any device."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...


TensorLike = Union[ArrayLike, DLPackTensor]  # noqa: UP007 - evaluated at run time, also by Python 3.9.

# NumPy has no bf16; float32 represents it exactly.
_NUMPY_TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "bf16": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i1": np.bool_,
}

# Names of element types in messages.
_TYPE_NAMES = {np.dtype(numpy_type): name for name, numpy_type in _NUMPY_TYPES.items() if name != "bf16"}

# DLPack's numbers of device kinds: host memory (pageable, pinned) and CUDA.
_HOST_KINDS = (1, 3)
_CUDA_KIND = 2

# DLPack's number of the legacy default stream. The runtime reads after its work.
_DEFAULT_STREAM = 1


def _converted(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return the array in the requested type if the conversion is harmless: between floats, or to a wider integer."""
    wanted = np.dtype(_NUMPY_TYPES[dtype])
    both_float = array.dtype.kind == wanted.kind == "f"
    return array.astype(wanted, copy=False) if both_float or np.can_cast(array.dtype, wanted) else array


def _misplaced(kind: int, ordinal: int, device: str, what: str) -> str:
    place = f"cuda:{ordinal}" if kind == _CUDA_KIND else f"a device of DLPack's kind {kind}"
    remedy = (
        "copy it to the host (in PyTorch, tensor.cpu()), or compile for that device and open the session there"
        if device == "cpu"
        else f"copy it to that device (in PyTorch, tensor.to('{device}')) or to the host"
    )
    return f"{what} lies on {place}, but the session runs on {device}: {remedy}"


def _from_dlpack(value: DLPackTensor) -> Any:
    """Return a tensor on the host as an array, or as a DLPack capsule if NumPy lacks its type (bf16)."""
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError):
        return value.__dlpack__()


def as_input(value: TensorLike, dtype: str, shape: tuple[int, ...], device: str, what: str) -> Any:
    """Convert a value to a form that the extension module accepts.

    Parameters
    ----------
    value
        An array, a value that NumPy converts to one, or a tensor of another library on the host or on `device`.
    dtype
        The element type that the session requires. Only values on the host are converted.
    shape
        The shape that the session requires. A value of another shape is not copied: its strides may make it huge.
    device
        The session's device: "cpu", "cuda:0".
    what
        Name of the value in messages: "input 'tokens'".

    Returns
    -------
    object
        A dense NumPy array, without a copy if possible, or a DLPack capsule for values without a NumPy array: tensors
        on the GPU, or of bf16.

    Raises
    ------
    TypeError
        If tensors do not support the type of the elements.
    ValueError
        If the tensor lies on another device, has another shape or type, or cannot be converted to an array.
    """
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        kind, ordinal = (int(number) for number in value.__dlpack_device__())
        if kind == _CUDA_KIND and device == f"cuda:{ordinal}":
            return value.__dlpack__(stream=_DEFAULT_STREAM)
        if kind not in _HOST_KINDS:
            raise ValueError(_misplaced(kind, ordinal, device, what))
        try:
            value = _from_dlpack(value)
        except (AttributeError, BufferError, TypeError, ValueError) as error:
            raise ValueError(f"{what} cannot be read by DLPack: {error}") from error
        if not isinstance(value, np.ndarray):
            return value
    try:
        array = np.asarray(value)
    except ValueError as error:  # Rows of different lengths.
        raise ValueError(f"{what} cannot be converted to an array: {error}") from error
    if array.shape != shape:
        given = _TYPE_NAMES.get(array.dtype, str(array.dtype))
        raise ValueError(f"{what} is a {dtype}{list(shape)}, but the value is a {given}{list(array.shape)}")
    array = _converted(array, dtype)
    if array.dtype not in _TYPE_NAMES:
        raise TypeError(
            f"{what} is a {dtype}{list(shape)}, but the value has elements of type {array.dtype}: arrays must be "
            "float64, float32, float16, int64, int32 or bool"
        )
    if array.dtype != _NUMPY_TYPES[dtype]:
        given = _TYPE_NAMES[array.dtype]
        raise ValueError(f"{what} is a {dtype}{list(shape)}, but the value is a {given}{list(array.shape)}")
    return np.asarray(array, order="C")

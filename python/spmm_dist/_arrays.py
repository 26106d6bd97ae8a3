# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library as the C library sees them: an address, a shape, strides, a type, a place.
Arrays are known by the protocols that they speak: nothing is copied and nothing imported but by
`moved`."""
from __future__ import annotations

import ctypes
import functools
import importlib
import sys
import typing
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from ._errors import UnsupportedError
from ._library import SIZES


class View(typing.NamedTuple):
    """Where the elements of an array lie."""

    address: int
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]  # in elements; None: row-major without gaps
    dtype: str
    on_gpu: bool
    writable: bool
    framework: str  # that made it: "numpy", "torch", ... whose stream and allocator it uses


_TYPESTRS = {f"{e}{k}": n for k, n in (
    ("f8", "float64"), ("f4", "float32"), ("f2", "float16"), ("c16", "complex128"),
    ("c8", "complex64"), ("i8", "int64"), ("i4", "int32")) for e in "<=|"
    if sys.byteorder == "little"}
_BYTES = {"int64": 8, "int32": 4, **SIZES}


def _by_interface(interface: Any, what: str, on_gpu: bool, framework: str) -> View:
    dtype = _TYPESTRS.get(interface["typestr"])
    if dtype is None:
        raise TypeError(f"{what} has elements of type {interface['typestr']!r}, which the library "
                        "does not multiply")
    address, readonly = interface["data"]
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if interface.get("mask") is not None:
        raise TypeError(f"{what} has a mask: fill what is masked")
    if strides is not None:
        size = _BYTES[dtype]
        if any(s % size for s in strides):
            raise ValueError(f"{what} has strides of {strides} bytes, no multiples of the {size} "
                             "of an element")
        strides = tuple(s // size for s in strides)
    return View(address or 0, shape, strides, dtype, on_gpu, not readonly, framework)


def _by_torch(x: Any, what: str) -> View:
    torch = sys.modules["torch"]
    dtype = str(x.dtype)[6:]
    if x.layout is not torch.strided:
        raise TypeError(f"{what} is a sparse tensor: give it as the matrix, dense ones as blocks")
    if x.requires_grad and torch.is_grad_enabled():
        raise TypeError(f"{what} requires a gradient, which this call does not record: use "
                        "spmm_dist.torch, or detach() it")
    if x.is_conj() or x.is_neg():
        raise TypeError(f"{what} is a lazy conjugate or negative: resolve_conj() or "
                        "resolve_neg() it")
    if dtype not in _BYTES:
        raise TypeError(f"{what} has elements of {x.dtype}, which the library does not multiply")
    if x.device.type not in ("cpu", "cuda"):
        raise TypeError(f"{what} lies on device {x.device}, not on a CPU or an NVIDIA GPU")
    return View(x.data_ptr(), tuple(x.shape), x.stride(), dtype, x.is_cuda, True, "torch")


# DLPack (dmlc/dlpack, dlpack.h), as far as it is read here.
class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("ordinal", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


_DL_TYPES = {(2, 64): "float64", (2, 32): "float32", (2, 16): "float16", (4, 16): "bfloat16",
             (5, 128): "complex128", (5, 64): "complex64", (0, 64): "int64", (0, 32): "int32"}
_DL_HOST, _DL_GPU = (1, 3), (2, 13)  # kDLCPU, kDLCUDAHost; kDLCUDA, kDLCUDAManaged
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = (
    ctypes.POINTER(_DLTensor), [ctypes.py_object, ctypes.c_char_p])


def _by_dlpack(x: Any, what: str) -> View:
    # The capsule is dropped unconsumed: its memory stays that of x, which the caller holds.
    try:
        capsule = x.__dlpack__()
        tensor = _capsule_pointer(capsule, b"dltensor").contents
    except (BufferError, ValueError, RuntimeError) as error:
        raise TypeError(f"{what} gives no DLPack tensor: {error}") from None
    if tensor.device not in _DL_HOST + _DL_GPU:
        raise TypeError(f"{what} lies on a device of kind {tensor.device} of DLPack, not on a CPU "
                        "or an NVIDIA GPU")
    dtype = _DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise TypeError(f"{what} has elements of a type that the library does not multiply")
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else None
    return View((tensor.data or 0) + tensor.offset, shape, strides, dtype,
                tensor.device in _DL_GPU, True, type(x).__module__.partition(".")[0])


def view(x: Any, what: str) -> View:
    """The `View` of an array.

    Raises
    ------
    TypeError
        where it is no array, or of elements that the library does not know
    """
    if type(x) is np.ndarray or isinstance(x, np.ndarray):
        if getattr(x, "mask", None) is not None:
            raise TypeError(f"{what} is a masked array: fill what is masked")
        # The interface leaves out the strides of an array of one row, which those of other ranks,
        # with more rows, are compared with.
        return _by_interface(dict(x.__array_interface__, strides=x.strides), what, False, "numpy")
    module = type(x).__module__.partition(".")[0]
    if hasattr(x, "data_ptr") and "torch" in sys.modules and isinstance(
            x, sys.modules["torch"].Tensor):
        return _by_torch(x, what)
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        return _by_interface(interface, what, True, module)
    interface = getattr(x, "__array_interface__", None)
    if interface is not None:
        return _by_interface(interface, what, False, module)
    if hasattr(x, "__dlpack__"):
        return _by_dlpack(x, what)
    try:
        return _by_interface(np.asarray(memoryview(x)).__array_interface__, what, False, "numpy")
    except TypeError as error:
        raise TypeError(f"{what} is a {type(x).__name__}, not an array: give one of NumPy, CuPy or "
                        "torch, or an object with DLPack or the buffer protocol") from error


def quick_key(x: Any) -> Any:
    """(address, key) of the common arrays: arrays of one key fit a plan alike, wherever they begin.
    None of others."""
    kind = type(x)
    if kind is np.ndarray:
        return x.__array_interface__["data"][0], (x.shape, x.strides, x.dtype, x.flags.writeable)
    module = kind.__module__
    if module == "torch":
        torch = sys.modules["torch"]
        if x.layout is not torch.strided or x.requires_grad or x.is_conj() or x.is_neg():
            return None
        return x.data_ptr(), (x.shape, x.stride(), x.dtype, x.get_device())
    if module == "cupy":
        return x.data.ptr, (x.shape, x.strides, x.dtype)
    return None


def leading(seen: View, what: str, is_row: bool, rows: int, columns: int) -> int:
    """The leading dimension of a block of `rows` x `columns` that lies as `is_row` says.

    A vector counts as one column.
    """
    shape = seen.shape
    if len(shape) not in (1, 2):
        raise ValueError(f"{what} has shape {shape}, but it needs one dimension or two")
    if len(shape) == 1:
        shape += (1,)
    if shape[0] != rows or shape[1] != columns:
        raise ValueError(f"{what} has shape {seen.shape}, but it needs {rows} rows, those of this "
                         f"rank{f', and {columns} columns' * (shape[-1] != columns)}")
    unit = _BYTES[seen.dtype] // (2 if seen.dtype[0] == "c" else 1)
    if seen.address % unit:
        raise ValueError(f"{what} begins at an address that is no multiple of the {unit} bytes of "
                         "a number: copy it")
    inner, outer = (columns, rows) if is_row else (rows, columns)
    if seen.strides is None:  # row-major without gaps
        if is_row or inner <= 1 or outer <= 1:
            return max(inner, 1)
        step, ld = columns, 1
    else:
        strides = seen.strides if len(seen.strides) == 2 else seen.strides + (1,)
        ld, step = strides if is_row else strides[::-1]
    if outer <= 1 or inner == 0:
        ld = max(ld, inner, 1)
    if step != 1 and inner > 1 and outer > 0 or ld < max(inner, 1):
        need, other = ("row", "col") if is_row else ("col", "row")
        raise ValueError(
            f"{what} of shape {seen.shape} has strides of {seen.strides} elements, which the "
            f"plan's layout '{need}' cannot take: copy it, or plan with layout='{other}' where "
            "blocks lie that way")
    return ld


def expect_place(seen: View, what: str, on_gpu: bool) -> None:
    """A ValueError where an array lies elsewhere than the context computes."""
    if seen.on_gpu != on_gpu:
        here, there = ("GPU" if gpu else "host" for gpu in (seen.on_gpu, on_gpu))
        raise ValueError(f"{what} lies on the {here}, but the context computes on the {there}")


def ranges(seen: View, what: str, length: Optional[int], dtypes: Sequence[str],
           on_gpu: Optional[bool] = None) -> int:
    """Check a one-dimensional array without gaps of `length` (None: any); returns its address."""
    if seen.dtype not in dtypes:
        raise TypeError(f"{what} holds {seen.dtype}, but it must hold {' or '.join(dtypes)}")
    if len(seen.shape) != 1:
        raise ValueError(f"{what} has {len(seen.shape)} dimensions, but it needs one")
    if length is not None and seen.shape[0] != length:
        raise ValueError(f"{what} has {seen.shape[0]} elements, but it needs {length}")
    if seen.strides is not None and seen.shape[0] > 1 and seen.strides[0] != 1:
        raise ValueError(f"{what} has gaps between its elements: copy it")
    if seen.address % (_BYTES[seen.dtype] // (2 if seen.dtype[0] == "c" else 1)):
        raise ValueError(f"{what} begins at an address that is no multiple of the size of a "
                         "number: copy it")
    if on_gpu is not None and seen.shape[0]:
        expect_place(seen, what, on_gpu)
    return seen.address


def stream_of(stream: Any, seen: View, device: Optional[int] = None) -> Any:
    """The address of a CUDA stream: of CuPy, torch, an object with `__cuda_stream__`, an int; of
    None, the current one, on `device`, of the library that made the array."""
    if stream is None:
        if not seen.on_gpu:
            return 0
        if seen.framework == "torch":
            torch = sys.modules["torch"]
            raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
            if raw is not None:  # what current_stream() wraps, without 5 us of wrapping
                stream = raw(torch.cuda.current_device() if device is None else device)
            else:
                stream = torch.cuda.current_stream(device).cuda_stream
            if stream and torch.cuda.is_current_stream_capturing():  # never the default one
                raise UnsupportedError(
                    "torch captures a CUDA graph, of which products are no part: plan with "
                    "graph=True, and the library captures its own")
            return stream
        if seen.framework == "cupy":
            return sys.modules["cupy"].cuda.get_current_stream().ptr
        return 0
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr"):  # torch, CuPy
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if hasattr(stream, "__cuda_stream__"):
        asked = stream.__cuda_stream__
        return int((asked() if callable(asked) else asked)[1])
    raise TypeError(f"stream is a {type(stream).__name__}: give one of CuPy or torch, an object "
                    "with __cuda_stream__, or the address of a cudaStream_t")


def empty_like(x: Any, seen: View, shape: Tuple[int, ...], dtype: str,
               order: typing.Literal["C", "F"]) -> Any:
    """An array of the library that made `x`, uninitialised; column-major for order "F"."""
    if seen.framework == "torch":
        torch = sys.modules["torch"]
        kind = getattr(torch, dtype)
        if order == "F" and len(shape) == 2:
            return torch.empty(shape[::-1], dtype=kind, device=x.device).T
        return torch.empty(shape, dtype=kind, device=x.device)
    if not seen.on_gpu:
        if dtype == "bfloat16":
            raise TypeError("NumPy has no bfloat16: use torch")
        return np.empty(shape, dtype, order)
    if seen.framework == "cupy":
        with x.device:  # which need not be the current one
            return sys.modules["cupy"].empty(shape, dtype, order=order)
    if "cupy" in sys.modules:
        return sys.modules["cupy"].empty(shape, dtype, order=order)
    raise TypeError(f"give C: it is not known how {seen.framework} allocates on GPUs")


def rows_of(x: Any, what: str) -> Tuple[Any, View]:
    """An array whose rows lie one after the other, copied where they do not, and its view."""
    seen = view(x, what)
    shape, strides = seen.shape, seen.strides
    if strides is None or len(shape) not in (1, 2) or (shape[-1] <= 1 or strides[-1] == 1) and (
            len(shape) == 1 or shape[0] <= 1 or strides[0] >= shape[1]):
        return x, seen
    made = empty_like(x, seen, shape, seen.dtype, "C")
    made[...] = x
    return made, view(made, what)


@functools.lru_cache(maxsize=None)
def _mover() -> Any:
    """CuPy or torch with CUDA, whichever is there."""
    for name in ("cupy", "torch"):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        if name == "cupy" or library.cuda.is_available():
            return library
    raise UnsupportedError("rows of NumPy reach a GPU by CuPy or by torch with CUDA, and neither "
                           "is installed: install one of them, or make the context with "
                           "device='cpu'")


def moved(x: Any, device: int) -> Any:
    """An array of NumPy on GPU `device`, by CuPy or torch."""
    library = _mover()
    if library.__name__ == "torch":
        return library.from_numpy(x).to(f"cuda:{device}")
    with library.cuda.Device(device):
        return library.asarray(x)


def fetched(x: Any) -> Any:
    """An array of `moved` in NumPy, once the work before is done."""
    return x.cpu().numpy() if hasattr(x, "cpu") else x.get()

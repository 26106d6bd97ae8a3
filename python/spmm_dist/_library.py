# SPDX-License-Identifier: Apache-2.0
"""The C library: found, loaded, and compared with the MPI that mpi4py uses."""
from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Tuple, TypeVar

from . import _build, _structs
from ._capi import ffi as ffi
from ._errors import CLASSES, SpmmError


T = TypeVar("T")


def _candidates() -> List[str]:
    """Where the library may be: as the user says, as built, or wherever the system looks."""
    if os.environ.get("SPMM_LIBRARY"):
        return [os.environ["SPMM_LIBRARY"]]
    built = pathlib.Path(__file__).parent / _build.LIBRARY
    return [str(built.resolve())] * built.exists() + [pathlib.Path(_build.LIBRARY).name]


def _open(name: str) -> Any:
    try:
        return ffi.dlopen(name)
    except OSError as error:
        if "libmpi" not in str(error):
            raise
    from mpi4py import MPI  # noqa: F401: loads MPI, from where the system does not look for it

    return ffi.dlopen(name)


def _load() -> Tuple[str, Any]:
    reasons = []
    for path in _candidates():
        try:
            found = _open(path)
            version = text(found.spmm_version())
        except (OSError, AttributeError) as error:
            reasons.append(str(error))
            continue
        if version.split(".")[:2] != _build.VERSION.split(".")[:2]:
            raise ImportError(f"{path} is spmm_dist {version}, but this package was built for "
                              f"{_build.VERSION}: install both of one version")
        return path, found
    raise ImportError("the C library of spmm_dist could not be loaded: " + "; ".join(reasons) +
                      ": name it by the environment variable SPMM_LIBRARY")


def text(chars: Any) -> str:
    """A `const char *` as a str; NULL as ""."""
    return ffi.string(chars).decode("utf-8", "replace") if chars else ""


path, lib = _load()
_errors = {getattr(lib, name): cls for name, cls in CLASSES.items()}


def error(status: int, ctx: Any = ffi.NULL) -> SpmmError:
    """The exception of a status, with the last sentence of a context (NULL: of this thread)."""
    made = _errors.get(status, SpmmError)(
        text(lib.spmm_last_error(ctx)) or text(lib.spmm_status_string(status)))
    made.status = int(status)
    return made


def check(status: int, ctx: Any = ffi.NULL) -> None:
    if status:
        raise error(status, ctx)


def _address(handle: Any, symbol: str) -> Optional[int]:
    try:
        return ctypes.cast(getattr(handle, symbol), ctypes.c_void_p).value
    except AttributeError:
        return None


def _mpi_version(handle: Any) -> str:
    buffer, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    handle.MPI_Get_library_version(buffer, ctypes.byref(length))
    return buffer.value.decode("utf-8", "replace").strip("\0 \n")


def check_mpi(MPI: Any) -> None:
    """Are mpi4py's MPI and the library's one and the same?  Handles of one mean nothing to the
    other, which would crash."""
    ours, theirs = ctypes.CDLL(path), ctypes.CDLL(MPI.__file__)
    mine, other = (_address(handle, "MPI_Comm_dup") for handle in (ours, theirs))
    if mine is None:  # a static MPI: nothing to compare
        return
    names = _mpi_version(ours), MPI.Get_library_version().strip("\0 \n")
    if mine != other if other is not None else names[0] != names[1]:
        names = [name.splitlines()[0].split(", package")[0] for name in names]
        raise ImportError(f"{path} was built with the MPI '{names[0]}', mpi4py with "
                          f"'{names[1]}'{' of another place' * (names[0] == names[1])}: build one "
                          "of them with the MPI of the other")


def fill(kind: str, function: Any, *arguments: Any, ctx: Any = ffi.NULL) -> Dict[str, Any]:
    """The struct `kind` that `function(*arguments, &struct)` fills, as a dict; texts as str."""
    info = ffi.new(kind + " *")
    info.struct_size = ffi.sizeof(kind)
    check(function(*arguments, info), ctx)
    return as_dict(info)


_chars = ffi.typeof("const char *")
_type_enum = ffi.typeof("spmm_type_t")


def as_dict(struct: Any) -> Dict[str, Any]:
    found = {}
    kind = ffi.typeof(struct)
    for name, field in (kind.item if kind.kind == "pointer" else kind).fields:
        if name == "struct_size":
            continue
        value = getattr(struct, name)
        if field.type is _chars:
            value = text(value)
        elif field.type is _type_enum:
            value = TYPE_NAMES[value]
        elif field.type.kind == "struct":
            value = _structs.CLASSES[field.type.cname](**as_dict(value))
        found[name] = value
    return found


# Storage types: NumPy's names, and "bfloat16", which NumPy lacks.
TYPES = {
    "auto": lib.SPMM_TYPE_AUTO,
    "float64": lib.SPMM_R_64F,
    "float32": lib.SPMM_R_32F,
    "float16": lib.SPMM_R_16F,
    "bfloat16": lib.SPMM_R_16BF,
    "complex128": lib.SPMM_C_64F,
    "complex64": lib.SPMM_C_32F,
}
TYPE_NAMES = {value: name for name, value in TYPES.items()}
SIZES = {name: int(lib.spmm_type_size(value)) for name, value in TYPES.items()}


def type_name(dtype: Any) -> str:
    """The name in `TYPES` of a name, a NumPy or CuPy dtype or a torch dtype."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(
        dtype, "__name__", None) or str(dtype)
    name = name.rpartition(".")[2]
    if name not in TYPES:
        raise TypeError(f"type {dtype!r}: spmm_dist has {', '.join(list(TYPES)[1:])}")
    return name


def whole(value: Any, kind: str = "int64_t") -> int:
    """A number as C takes it.

    Raises
    ------
    TypeError, OverflowError
        where it is no whole number, or too large
    """
    return int(ffi.new(kind + " *", value)[0])


def encoded(value: Any) -> bytes:
    """A text or path as C takes it.

    Raises
    ------
    TypeError, ValueError
        where it is none, or has a NUL, at which C would end it
    """
    made = os.fsencode(value)
    if b"\0" in made:
        raise ValueError(f"{value!r} has a NUL")
    return made


def tuned(tuning: Any) -> bytes:
    """Option tuning as C takes it: a str, or a dict of its keys, whose True and False are the words
    yes and no."""
    if isinstance(tuning, dict):
        tuning = ",".join(f"{key}={('no', 'yes')[value] if isinstance(value, bool) else value}"
                          for key, value in tuning.items())
    return encoded(tuning)


def choice(value: Any, names: Mapping[str, T], what: str) -> T:
    """The constant that a word names; `names` maps words to constants."""
    try:
        return names[value]
    except (KeyError, TypeError):
        raise ValueError(f"{what} is {value!r}: it may be "
                         f"{', '.join(repr(n) for n in names)}") from None

# SPDX-License-Identifier: Apache-2.0
"""Exceptions by status; each carries the library's sentence."""


class SpmmError(RuntimeError):
    """A call of the library failed.  `str()` is the library's sentence: what, where, what to do.

    Attributes
    ----------
    status : int
        the value of `spmm_status_t`
    """

    status = 0


class ArgumentError(SpmmError, ValueError):
    """An argument is outside its documented range."""


class OutOfMemoryError(SpmmError, MemoryError):
    """A host or device allocation failed."""


class UnsupportedError(SpmmError, NotImplementedError):
    """Valid, but not built in or not possible on this device."""


class FileError(SpmmError, OSError):
    """A file is missing, cut, malformed or could not be written."""


class DeviceError(SpmmError):
    """A CUDA call failed; close the context."""


class CommError(SpmmError):
    """An MPI or NCCL call failed or timed out; close the context."""


class RangeError(SpmmError, OverflowError):
    """An index or a value does not fit the type that must hold it."""


class InternalError(SpmmError):
    """A check of the library on itself failed: please report it."""


CLASSES = {
    "SPMM_ERR_ARGUMENT": ArgumentError,
    "SPMM_ERR_MEMORY": OutOfMemoryError,
    "SPMM_ERR_UNSUPPORTED": UnsupportedError,
    "SPMM_ERR_IO": FileError,
    "SPMM_ERR_DEVICE": DeviceError,
    "SPMM_ERR_COMM": CommError,
    "SPMM_ERR_RANGE": RangeError,
    "SPMM_ERR_INTERNAL": InternalError,
}

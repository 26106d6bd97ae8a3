# SPDX-License-Identifier: Apache-2.0
"""Sparse matrix times dense block, distributed over MPI ranks, one GPU per rank.

::

    from spmm_dist import Context, Matrix

    with Context() as ctx:
        A = Matrix.read(ctx, "web.mtx.gz")
        plan = A.plan(64)
        C = plan @ B              # or, without a plan of one's own, A @ B, A.T @ B, A.H @ B

`Context`, `Matrix`, `Plan`, `Sddmm` and `Attention` are the objects of the C library with their
calls as methods; `spmm_dist.scipy` and `spmm_dist.torch` fit them to SciPy's solvers and torch's
autograd.
Exceptions are subclasses of `SpmmError` with the library's sentence, and of `TypeError` or
`ValueError` where an array does not fit.
"""
from ._matrix import Matrix, Transposed  # first: it imports those of what it makes
from ._attention import Attention
from ._context import Context, components
from ._errors import (ArgumentError, CommError, DeviceError, FileError, InternalError,
                      OutOfMemoryError, RangeError, SpmmError, UnsupportedError)
from ._library import lib as _lib
from ._library import text as _text
from ._plan import Layout, Plan
from ._sddmm import Sddmm
from ._structs import *  # noqa: F401,F403: what the library fills
from ._structs import __all__ as _filled

__version__ = _text(_lib.spmm_version())

__all__ = [
    "ArgumentError", "Attention", "CommError", "Context", "DeviceError", "FileError",
    "InternalError", "Layout", "Matrix", "OutOfMemoryError", "Plan", "RangeError", "Sddmm",
    "SpmmError", "Transposed", "UnsupportedError", "components", *_filled,
]
for _name in __all__:
    globals()[_name].__module__ = __name__  # where users find it, and what messages say

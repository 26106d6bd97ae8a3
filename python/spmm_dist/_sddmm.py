# SPDX-License-Identifier: Apache-2.0
"""Sampled dense-dense products."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple, TypeVar, Union

from ._arrays import empty_like, expect_place, leading, ranges, stream_of, view
from ._collective import REFUSED, Product, collective, expect, product, refuse
from ._context import Resource
from ._library import TYPES, encoded, ffi, fill, lib, tuned, type_name, whole
from ._structs import SddmmInfo
from . import _matrix

if TYPE_CHECKING:
    from ._matrix import Matrix

Array = TypeVar("Array")


class Sddmm(Resource, Product):
    """Prepare ``S_e = alpha <X_i, Y_j> + beta S_e`` for every entry e = (i, j) of a matrix.

    Collective.  Values of the matrix take no part, as in cuSPARSE.

    Parameters
    ----------
    mask : Matrix
    k : int
        Columns of X and Y: executes may have fewer.
    s_type : str or dtype
        "auto", the type of the mask; "float32" possible for 16-bit ones.
    kernel : {"auto", "csr", "rectangles", "cvse", "dense"}
    transport : str
    tuning : str or dict
        As of `Plan`, of its keys "exchange" alone.
    """

    _word = "sddmm plan"

    @collective()
    def __init__(self, mask: Matrix, k: int, *, s_type: Any = "auto",  # type: ignore[misc]
                 kernel: str = "auto", transport: str = "auto",
                 tuning: Union[str, Mapping[str, Any]] = "") -> Any:
        pointer, k = expect(mask, _matrix.Matrix, "mask")._pointer, whole(k)
        options = ffi.new("spmm_sddmm_options_t *")
        options.struct_size = ffi.sizeof("spmm_sddmm_options_t")
        options.s_type = TYPES[type_name(s_type)]
        texts = [ffi.new("char[]", word) for word in
                 (encoded(kernel), encoded(transport), tuned(tuning))]
        options.kernel, options.transport, options.tuning = texts
        yield f"of object {mask._number}"
        super().__init__(mask._context, "spmm_sddmm_plan_t", lib.spmm_sddmm_plan_destroy,
                         (lib.spmm_sddmm_plan_create, pointer, k, options), mask._number)
        #: The mask and k as given.
        self.mask, self.k = mask, k
        self._s_type = mask.dtype if s_type == "auto" else type_name(s_type)

    def _facts(self) -> Dict[str, Any]:
        facts = {"shape": self.mask.shape, "nnz": self.mask.nnz, "k": self.k,
                 "dtype": self.mask.dtype}
        return {**facts, **({"closed": True} if self.closed else {"kernel": self.info.kernel})}

    @property
    def info(self) -> SddmmInfo:
        """SddmmInfo: what the plan chose, on this rank.  Local."""
        return SddmmInfo(**fill("spmm_sddmm_info_t", lib.spmm_sddmm_plan_get_info, self._pointer,
                                ctx=self._context._pointer))

    def _refuse(self, name: str = "execute") -> None:
        if not self.closed:
            refuse(self._context, lib.spmm_sddmm, self._pointer, REFUSED, 0.0, ffi.NULL, 0,
                   ffi.NULL, 0, 0.0, ffi.NULL, ffi.NULL)

    @product
    def execute(self, X: Array, Y: Array, S: Optional[Array] = None, alpha: float = 1.0,
                beta: float = 0.0, stream: Any = None) -> Tuple[Any, Tuple[Any, ...], Array]:
        """``S_e = alpha <X_i, Y_j> + beta S_e``.  Collective.

        Parameters
        ----------
        X : array, ``(local rows of the mask, k)``
            Row-major, of the mask's type, in memory of the context's device, as Y and S.
        Y : array, ``(local columns of the mask, k)``
        S : array, ``(mask.info.local_nnz,)``, optional
            In the order of `Matrix.update_values`.  Default: made by the library that made X.
        stream : optional
            as in `Plan.execute`

        Returns
        -------
        S
        """
        self._pointer
        on_gpu, info = self._context._on_gpu, self.mask.info
        seen = [view(X, "X"), view(Y, "Y")]
        k = seen[0].shape[1] if len(seen[0].shape) == 2 else 1
        lds = []
        for one, what, rows in zip(seen, "XY", (info.local_rows, info.local_cols)):
            if one.dtype != self.mask.dtype:
                raise TypeError(f"{what} holds {one.dtype}, but the mask {self.mask.dtype}")
            if rows:
                expect_place(one, what, on_gpu)
            lds.append(leading(one, what, True, rows, k))
        if S is None:
            if beta != 0:
                raise ValueError(f"beta is {beta}, but there is no S to be multiplied by it")
            S = empty_like(X, seen[0], (info.local_nnz,), self._s_type, "C")
        out = view(S, "S")
        address = ranges(out, "S", info.local_nnz, (self._s_type,), on_gpu)
        if not out.writable:
            raise ValueError("S is read-only")
        handle = ffi.cast("void *", stream_of(stream, seen[0]))
        x, y, s = (ffi.cast("void *", at) for at in (seen[0].address, seen[1].address, address))
        return lib.spmm_sddmm, (k, float(alpha), x, lds[0], y, lds[1], float(beta), s, handle), S

    def softmax(self, S: Array, P: Optional[Array] = None, scale: float = 1.0,
                stream: Any = None) -> Array:
        """``P = softmax(scale S)`` over the entries of each row.  Local.

        Parameters
        ----------
        S : array, ``(mask.info.local_nnz,)``
            as `execute` leaves it
        P : array, ``(mask.info.local_nnz,)``, optional
            Of the mask's type; may be S where the types are equal.  Default: made by the library
            that made S.

        Returns
        -------
        P
        """
        entries, on_gpu = self.mask.info.local_nnz, self._context._on_gpu
        seen = view(S, "S")
        source = ranges(seen, "S", entries, (self._s_type,), on_gpu)
        if P is None:
            P = empty_like(S, seen, (entries,), self.mask.dtype, "C")
        out = view(P, "P")
        if not out.writable:
            raise ValueError("P is read-only")
        to = ranges(out, "P", entries, (self.mask.dtype,), on_gpu)
        self._context._call(lib.spmm_sddmm_softmax, self._pointer, scale,
                            ffi.cast("void *", source), ffi.cast("void *", to),
                            ffi.cast("void *", stream_of(stream, seen)))
        return P

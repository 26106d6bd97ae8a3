# SPDX-License-Identifier: Apache-2.0
"""Sparse attention in one operation."""
from __future__ import annotations

from typing import (TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar,
                    Union)

from ._arrays import View, empty_like, expect_place, leading, quick_key, stream_of, view
from ._collective import REFUSED, Product, collective, expect, product, refuse
from ._context import Resource
from ._library import encoded, ffi, fill, lib, tuned, whole
from ._structs import AttentionInfo
from . import _matrix

if TYPE_CHECKING:
    from ._matrix import Matrix

Array = TypeVar("Array")


class Attention(Resource, Product):
    """Prepare ``O_i = sum_j softmax_j(scale <Q_i, K_j>) V_j`` over the entries (i, j) of a matrix.

    Collective.  Values of the matrix take no part.  Heads lie side by side: head h has columns
    ``h k`` to ``h k + k - 1`` of all blocks.

    Parameters
    ----------
    mask : Matrix
    heads : int
    k : int
        Columns of a head.
    backward : bool
        Prepare `gradients`, too.
    kernel : {"auto", "rows", "windows"}
    transport : str
    tuning : str or dict
        As of `Plan`, of its keys "exchange" alone.
    """

    _word = "attention plan"

    @collective()
    def __init__(self, mask: Matrix, heads: int, k: int, *,  # type: ignore[misc]
                 backward: bool = False, kernel: str = "auto", transport: str = "auto",
                 tuning: Union[str, Mapping[str, Any]] = "") -> Any:
        pointer, heads, k = expect(mask, _matrix.Matrix, "mask")._pointer, whole(heads), whole(k)
        options = ffi.new("spmm_attention_options_t *")
        options.struct_size = ffi.sizeof("spmm_attention_options_t")
        options.backward = bool(backward)
        texts = [ffi.new("char[]", word) for word in
                 (encoded(kernel), encoded(transport), tuned(tuning))]
        options.kernel, options.transport, options.tuning = texts
        yield f"of object {mask._number}"
        super().__init__(mask._context, "spmm_attention_plan_t", lib.spmm_attention_plan_destroy,
                         (lib.spmm_attention_plan_create, pointer, heads, k, options), mask._number)
        #: The mask, heads and k as given.
        self.mask, self.heads, self.k = mask, heads, k
        # Blocks that fit: checks take longer than a launch.
        self._known: Dict[Any, Tuple[View, int]] = {}

    def _facts(self) -> Dict[str, Any]:
        facts = {"shape": self.mask.shape, "nnz": self.mask.nnz, "heads": self.heads, "k": self.k,
                 "dtype": self.mask.dtype}
        return {**facts, **({"closed": True} if self.closed else {"kernel": self.info.kernel})}

    @property
    def info(self) -> AttentionInfo:
        """AttentionInfo: what the plan chose, on this rank.  Local."""
        return AttentionInfo(**fill("spmm_attention_info_t", lib.spmm_attention_plan_get_info,
                                    self._pointer, ctx=self._context._pointer))

    def _seen(self, blocks: Sequence[Tuple[Any, str, bool]], gaps: bool = True) -> List[
            Tuple[int, View, int]]:
        """(address, view, leading dimension) of each of [(array, name, lives with the columns)]."""
        made = []
        for array, name, with_columns in blocks:
            key = quick_key(array)
            kind = None if key is None or key[0] % 16 else (with_columns, gaps, key[1])
            if kind not in self._known:
                seen, ld = self._check(array, name, with_columns, gaps)
                if kind is None or len(self._known) >= 100:
                    made.append((seen.address, seen, ld))
                    continue
                self._known[kind] = seen, ld
            made.append((key[0], *self._known[kind]))
        return made

    def _check(self, array: Any, name: str, with_columns: bool, gaps: bool) -> Tuple[View, int]:
        """The view and leading dimension of a block that fits."""
        seen, on_gpu, info = view(array, name), self._context._on_gpu, self.mask.info
        width = self.heads * self.k
        rows = info.local_cols if with_columns else info.local_rows
        if seen.dtype != self.mask.dtype:
            raise TypeError(f"{name} holds {seen.dtype}, but the mask {self.mask.dtype}")
        if rows:
            expect_place(seen, name, on_gpu)
        ld = leading(seen, name, True, rows, width)
        if not gaps and rows > 1 and ld != width:
            raise ValueError(f"{name} has gaps between its rows: copy it")
        return seen, ld

    def _sums(self, like: Any, seen: View) -> Any:
        kind = "float64" if self.mask.dtype == "float64" else "float32"
        return empty_like(like, seen, (self.mask.info.local_rows, self.heads), kind, "C")

    def _refuse(self, name: str = "execute") -> None:
        if self.closed:
            return
        if name == "gradients":
            refuse(self._context, lib.spmm_attention_backward, self._pointer, 0.0,
                   ffi.NULL, REFUSED, *[ffi.NULL, 0] * 2, ffi.NULL, ffi.NULL, 0, *[ffi.NULL] * 5)
        else:
            refuse(self._context, lib.spmm_attention, self._pointer, 0.0,
                   ffi.NULL, REFUSED, *[ffi.NULL, 0] * 3, ffi.NULL, ffi.NULL)

    @product
    def execute(self, Q: Array, K: Array, V: Array, scale: Optional[float] = None,
                stream: Any = None) -> Tuple[Any, Tuple[Any, ...], Tuple[Array, Array]]:
        """Attention.  Collective.

        Parameters
        ----------
        Q : array, ``(local rows of the mask, heads k)``
            Row-major, of the mask's type, in memory of the context's device, as all blocks.
        K, V : array, ``(local columns of the mask, heads k)``
        scale : float, optional
            Default: ``1 / sqrt(k)``.
        stream : optional
            as in `Plan.execute`

        Returns
        -------
        O : array, ``(local rows of the mask, heads k)``
            Of the library that made Q.
        lse : array, ``(local rows of the mask, heads)``
            Log of the sum of exponentials of each row's scores, which `gradients` takes.
        """
        self._pointer
        (q, seen, ldq), (k, _, ldk), (v, _, ldv) = self._seen(
            [(Q, "Q", False), (K, "K", True), (V, "V", True)])
        rows, width = self.mask.info.local_rows, self.heads * self.k
        out = empty_like(Q, seen, (rows, width), self.mask.dtype, "C")
        sums = self._sums(Q, seen)
        to, lse = quick_key(out)[0], quick_key(sums)[0]
        handle = ffi.cast("void *", stream_of(stream, seen))
        scale = self.k**-0.5 if scale is None else float(scale)
        q, k, v, to, lse = (ffi.cast("void *", at) for at in (q, k, v, to, lse))
        return (lib.spmm_attention, (scale, q, ldq, k, ldk, v, ldv, to, width, lse, handle),
                (out, sums))

    @product
    def gradients(self, Q: Array, K: Array, V: Array, out: Array, lse: Array, dO: Array,
                  scale: Optional[float] = None, stream: Any = None) -> Tuple[
                      Any, Tuple[Any, ...], Tuple[Array, Array, Array]]:
        """Gradients of Q, K and V from that of O.  Collective; needs option backward.

        Parameters
        ----------
        Q, K, V : array
            As `execute` took them, without gaps between rows.
        out, lse : array
            What it gave.
        dO : array, shaped as O
            The gradient of O.
        scale, stream : optional
            as in `execute`

        Returns
        -------
        dQ, dK, dV : array
            Of the library that made Q.
        """
        self._pointer
        blocks = [(Q, "Q", False), (K, "K", True), (V, "V", True), (out, "O", False),
                  (dO, "dO", False)]
        at, seen, _ = zip(*self._seen(blocks, gaps=False))
        width, rows = self.heads * self.k, self.mask.info.local_rows
        sums = view(lse, "lse")
        kind = "float64" if self.mask.dtype == "float64" else "float32"
        if (sums.shape != (rows, self.heads) or sums.dtype != kind
                or sums.on_gpu != self._context._on_gpu and rows
                or rows > 1 and leading(sums, "lse", True, rows, self.heads) != self.heads):
            raise ValueError("lse is not what execute() gave")
        made = [empty_like(Q, seen[0], (one.shape[0], width), self.mask.dtype, "C")
                for one in seen[:3]]
        handle = ffi.cast("void *", stream_of(stream, seen[0]))
        scale = self.k**-0.5 if scale is None else float(scale)
        addresses = *at, sums.address, *(quick_key(one)[0] for one in made)
        q, k, v, o, do, lse, *to = (ffi.cast("void *", one) for one in addresses)
        return (lib.spmm_attention_backward,
                (scale, q, width, k, width, v, width, o, do, width, lse, *to, handle), tuple(made))

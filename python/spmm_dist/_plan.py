# SPDX-License-Identifier: Apache-2.0
"""The plan, and the product itself."""
from __future__ import annotations

import os
import tempfile
import typing
from typing import (TYPE_CHECKING, Any, Dict, Generator, List, Mapping, Optional, Tuple, Union,
                    cast)

import numpy as np

from ._arrays import View, empty_like, expect_place, leading, quick_key, ranges, stream_of, view
from ._collective import REFUSED, Product, collective, expect, product, refuse
from ._context import Resource
from ._library import TYPES, choice, encoded, ffi, fill, lib, text, tuned, type_name, whole
from ._structs import LayoutInfo, PlanStats, Span
from . import _matrix

if TYPE_CHECKING:
    from ._matrix import Matrix
    from ._plot import Picture

Array = typing.TypeVar("Array")

_OPS = {"n": lib.SPMM_OP_N, "t": lib.SPMM_OP_T, "h": lib.SPMM_OP_H}
_LAYOUTS = {"row": lib.SPMM_LAYOUT_ROW, "col": lib.SPMM_LAYOUT_COL}
_COMPUTES = {"auto": lib.SPMM_COMPUTE_AUTO, "64f": lib.SPMM_COMPUTE_64F,
             "32f": lib.SPMM_COMPUTE_32F, "32f-fast-tf32": lib.SPMM_COMPUTE_32F_FAST_TF32}
_OPERANDS = {"B": lib.SPMM_OPERAND_B, "C": lib.SPMM_OPERAND_C}
_COMPLEX = (complex, np.complexfloating)
# Of spmm_execute() and spmm_execute_scaled() with addresses as numbers: to make pointers of them
# would take longer than all checks.
_EXECUTE = ("spmm_status_t(*)(spmm_plan_t *, int64_t, {0}, uintptr_t, int64_t, {0}, uintptr_t, "
            "int64_t, uintptr_t)")


class Layout(typing.NamedTuple):
    """Where the rows of B and C live; see `LayoutInfo`."""

    B: LayoutInfo
    C: LayoutInfo


class Plan(Resource, Product):
    """All that ``C = alpha op(A) B + beta C`` pays once.  Collective; may take seconds.

    Parameters
    ----------
    A : Matrix
    n : int
        Columns of B and C: executes may have fewer, but engines are chosen for it.
    op : {"n", "t", "h"}
        A itself, its transpose or its conjugate transpose.
    layout : {"row", "col"}
        Storage order of B and C.
    compute : {"auto", "64f", "32f", "32f-fast-tf32"}
    c_type : str or dtype
        Of C: "auto", the type of A and B; "float32" possible for 16-bit ones.
    b_type : str or dtype
        Of B and C: "auto", that of A; the complex one of a real A, whose blocks are multiplied as
        they lie.
    partition : str
        "keep": rows stay with their ranks.  "block", "metis", "ptscotch", "auto", "one" (the first
        rank has all), "file:PATH": the plan has its own `layout`, and `scatter` and `gather` move
        blocks.
    imbalance : float
        Of metis and ptscotch: allowed max / mean entries per rank; 0: 1.03.
    engine, transport : str
        "auto", or a name that `components` lists.
    executes : int
        Products to come, which pay for ordering and measuring; 0: 1000.
    deterministic : bool
        The same bits from run to run.
    reproducible : bool
        The same bits for any number of ranks, partition and transport.
    halo_type : dtype or str
        Rows of B travel rounded to this type: "float16" or "bfloat16" of float32, "float32" of
        float64.
    profile : bool
        Time the phases of every product, for `stats`, `timeline` and `plot`.
    graph : bool
        Capture products in CUDA graphs.
    exact_nonfinite : bool
        Where B holds Inf or NaN, C has what the entries of A make of them: engine "cusparse" is
        left out.
    tuning : str or dict
        What the plan else chooses: "key=value,..." or ``{"key": value}``.  "order" in which a rank
        multiplies its rows: none, affinity or sorted.  "schedule": overlap or merged; "chunks" of
        columns, 1, 2 or 4, in which overlap brings rows.  "exchange": flat, straight to the ranks,
        or node, over the network once to each node.  "objective" of metis: vol or cut.  "seed" of
        the partitioner.  "measure": no, the models choose alone.

    Raises
    ------
    UnsupportedError
        Engine, transport or partitioner cannot do it; the sentence says why.
    """

    _word = "plan"

    @collective()
    def __init__(self, A: Matrix, n: int, *, op: str = "n",  # type: ignore[misc]
                 layout: str = "row", compute: str = "auto", c_type: Any = "auto",
                 b_type: Any = "auto", partition: Union[str, os.PathLike[str]] = "keep",
                 imbalance: float = 0.0, engine: str = "auto", transport: str = "auto",
                 executes: int = 0, deterministic: bool = False, reproducible: bool = False,
                 graph: bool = False, halo_type: Any = "auto", profile: bool = False,
                 exact_nonfinite: bool = False, tuning: Union[str, Mapping[str, Any]] = "") -> Any:
        pointer, n = expect(A, _matrix.Matrix, "A")._pointer, whole(n)
        options = ffi.new("spmm_plan_options_t *")
        options.struct_size = ffi.sizeof("spmm_plan_options_t")
        options.op = choice(op, _OPS, "op")
        options.layout = choice(layout, _LAYOUTS, "layout")
        options.compute = choice(compute, _COMPUTES, "compute")
        options.c_type, options.b_type = TYPES[type_name(c_type)], TYPES[type_name(b_type)]
        texts = [ffi.new("char[]", word) for word in  # live until the call
                 (encoded(partition), encoded(engine), encoded(transport), tuned(tuning))]
        options.partition, options.engine, options.transport, options.tuning = texts
        options.halo_type = TYPES[type_name(halo_type)]
        options.imbalance, options.executes = imbalance, executes
        options.deterministic, options.profile = bool(deterministic), bool(profile)
        options.graph, options.exact_nonfinite = bool(graph), bool(exact_nonfinite)
        options.reproducible = bool(reproducible)
        yield f"of object {A._number}"
        super().__init__(A._context, "spmm_plan_t", lib.spmm_plan_destroy,
                         (lib.spmm_plan_create, pointer, n, options), A._number)
        #: The matrix, n and op as given.
        self.matrix, self.n, self.op = A, n, op
        self._is_row = layout == "row"
        self._adds = op != "n" and not reproducible  # rows of C travel
        self._b_type = A.dtype if b_type == "auto" else type_name(b_type)
        self._c_type = self._b_type if c_type == "auto" else type_name(c_type)
        self._own_values = False  # which are not the matrix's
        #: Layout: where the rows of B and C live
        self.layout = Layout(self._get_layout("B"), self._get_layout("C"))
        self._b_rows, self._c_rows = self.layout.B.local_rows, self.layout.C.local_rows
        self._known: Dict[str, Dict[Any, Tuple[int, int, View]]] = {"B": {}, "C": {}}
        self._last: Dict[str, Tuple[Any, Any]] = {"B": (None, None), "C": (None, None)}
        self._execute = ffi.cast(_EXECUTE.format("double"), lib.spmm_execute)
        self._execute_scaled = ffi.cast(_EXECUTE.format("void *"), lib.spmm_execute_scaled)
        #: Of complex factors.
        self._sum_type = {"complex128": "double[]", "complex64": "float[]"}.get(A.dtype)

    def _facts(self) -> Dict[str, Any]:
        if self.closed:
            return {"op": self.op, "n": self.n, "dtype": self.dtype, "closed": True}
        stats = self.stats
        return {"shape": self.matrix.shape, "op": self.op, "n": self.n, "dtype": self.dtype,
                "engine": stats.engine, "transport": stats.transport,
                "partition": stats.partition, "halo_rows": stats.halo_rows}

    @property
    def dtype(self) -> str:
        """The type of B by name, "float64" for example."""
        return self._b_type

    def _get_layout(self, operand: str) -> LayoutInfo:
        found = fill("spmm_layout_info_t", lib.spmm_plan_get_layout, self._pointer,
                     _OPERANDS[operand], ctx=self._context._pointer)
        rows = found["local_rows"]
        found["global_row"] = np.frombuffer(
            ffi.buffer(found["global_row"], rows * 8), np.int64).copy() if rows else \
            np.empty(0, np.int64)
        return LayoutInfo(**found)

    def _block(self, x: Any, what: str, rows: int, columns: int, dtype: str) -> Tuple[View, int]:
        """The view of a dense block and its leading dimension."""
        seen = view(x, what)
        if seen.dtype != dtype:
            raise TypeError(f"{what} holds {seen.dtype}, but the plan multiplies {dtype}")
        if rows:
            expect_place(seen, what, self._context._on_gpu)
        return seen, leading(seen, what, self._is_row, rows, columns)

    def _take(self, x: Any, what: str) -> Tuple[int, int, int, View]:
        """Address, columns, leading dimension and view of B or C.  What fits is kept by its key:
        checks take longer than the launch of a small product."""
        key, known = quick_key(x), self._known[what]
        if key is not None and key[0] % 16 == 0:
            last, found = self._last[what]
            if key[1] != last:
                found = known.get(key[1])
                self._last[what] = (key[1], found) if found is not None else (None, None)
            if found is not None:
                return (key[0], *found)
        shape = view(x, what).shape
        columns = shape[1] if len(shape) == 2 else 1
        rows, dtype = ((self._b_rows, self._b_type) if what == "B" else
                       (self._c_rows, self._c_type))
        seen, ld = self._block(x, what, rows, columns, dtype)
        if what == "C" and not seen.writable:
            raise ValueError("C is read-only")
        if key is not None and len(known) < 100:
            known[key[1]] = columns, ld, seen
        return seen.address, columns, ld, seen

    def _refuse(self, name: str = "execute") -> None:
        if not self.closed:
            refuse(self._context, lib.spmm_execute, self._pointer, REFUSED, 0.0, ffi.NULL, 0, 0.0,
                   ffi.NULL, 0, ffi.NULL)

    @product
    def execute(self, B: Array, C: Optional[Array] = None, alpha: complex = 1.0,
                beta: complex = 0.0, stream: Any = None) -> Tuple[Any, Tuple[Any, ...], Array]:
        """``C = alpha op(A) B + beta C``.  Collective.

        Parameters
        ----------
        B : array, ``(layout.B.local_rows, n)``
            n from 1 to the planned one, the same on all ranks; of one dimension: n = 1.  Of NumPy,
            CuPy, torch or anything with DLPack or the buffer protocol, in memory of the context's
            device, and taken as it lies: rows (or, with layout "col", columns) may be further
            apart than they are long.
        C : array, ``(layout.C.local_rows, n)``, optional
            Shares no element with B.  Default: made by the library that made B.
        alpha, beta : number
            The same on all ranks; complex ones for a complex A.  beta = 0 never reads C.
        stream : optional
            A CUDA stream of CuPy or torch, an object with ``__cuda_stream__`` or an address.
            Default: the current one of the library that made B.

        Returns
        -------
        C
            On GPUs before it is ready: `stream` orders what reads it.

        Raises
        ------
        TypeError, ValueError
            B or C do not fit; on the other ranks an `ArgumentError` that names this one, unless
            the context does not check products.
        CommError
            A rank is late, gone or out of step.
        """
        self._pointer
        at, n, ldb, seen = self._take(B, "B")
        if C is None:
            if beta != 0:
                raise ValueError(f"beta is {beta}, but there is no C to be multiplied by it")
            C = empty_like(B, seen, (self._c_rows,) + seen.shape[1:], self._c_type,
                           "C" if self._is_row else "F")
        to, columns, ldc, _ = self._take(C, "C")
        if columns != n:
            raise ValueError(f"C has shape {view(C, 'C').shape}, but B has {n} columns")
        on = getattr(B, "get_device")() if seen.on_gpu and seen.framework == "torch" else None
        handle, call = stream_of(stream, seen, on), self._execute
        if type(alpha) is not float or type(beta) is not float:
            if isinstance(alpha, _COMPLEX) or isinstance(beta, _COMPLEX):
                if self._sum_type is None:
                    raise TypeError(f"alpha is {alpha} and beta {beta}, but A is real: so are they")
                alpha, beta = (ffi.new(self._sum_type, [complex(x).real, complex(x).imag])
                               for x in (alpha, beta))
                call = self._execute_scaled
            else:
                alpha, beta = float(alpha), float(beta)
        return call, (n, alpha, at, ldb, beta, to, ldc, handle), C

    @product
    def __matmul__(self, B: Array) -> Tuple[Any, Tuple[Any, ...], Array]:
        """``op(A) @ B``, in an array made by the library that made B; see `execute`."""
        made: Tuple[Any, Tuple[Any, ...], Array] = _prepare(self, B)
        return made

    @collective()
    def resync(self) -> Generator[str, None, None]:
        """Are all ranks in step, having refused the same number of products?  Collective; a
        `CommError` where they are not."""
        pointer = self._pointer
        yield f"object {self._number}"
        self._context._call(lib.spmm_plan_resync, pointer)

    def update_values(self, values: Any, stream: Any = None) -> None:
        """New values for this plan alone, in the order of `stream`.  Local.

        Parameters
        ----------
        values : array, ``(matrix.info.local_nnz,)``
            of the matrix's type, in the order of `Matrix.update_values`, in memory of the
            context's device

        Raises
        ------
        UnsupportedError
            where the partition is not "keep", and for op "t" and "h" of a reproducible plan
        """
        seen = view(values, "values")
        address = ranges(seen, "values", self.matrix.info.local_nnz, (self.matrix.dtype,),
                         self._context._on_gpu)
        self._context._call(lib.spmm_plan_update_values, self._pointer,
                            ffi.cast("void *", address),
                            ffi.cast("void *", stream_of(stream, seen)))
        self._own_values = True

    @collective()
    def scatter(self, operand: str, src: Array, dst: Optional[Array] = None,
                stream: Any = None) -> Generator[str, None, Array]:
        """Move a block from the caller's distribution to the plan's.  Collective; done when it
        returns.

        Parameters
        ----------
        operand : {"B", "C"}
        src : array, ``(original_rows, n)``
        dst : array, ``(local_rows, n)``, optional
            Shares no element with `src`.  Default: made by the library that made `src`.

        Returns
        -------
        dst
        """
        return (yield from self._move(lib.spmm_plan_scatter, "scatter", operand, src, dst, stream))

    @collective()
    def gather(self, operand: str, src: Array, dst: Optional[Array] = None,
               stream: Any = None) -> Generator[str, None, Array]:
        """The way back: ``(local_rows, n)`` to ``(original_rows, n)``; see `scatter`."""
        return (yield from self._move(lib.spmm_plan_gather, "gather", operand, src, dst, stream))

    def _move(self, call: Any, name: str, operand: str, src: Array, dst: Optional[Array],
              stream: Any) -> Generator[str, None, Array]:
        pointer, which = self._pointer, choice(operand, _OPERANDS, "operand")
        info = getattr(self.layout, operand)
        rows = [info.original_rows, info.local_rows][::1 if name == "scatter" else -1]
        dtype = self._b_type if operand == "B" else self._c_type
        shape = view(src, "src").shape
        n = shape[1] if len(shape) == 2 else 1
        seen, ld_src = self._block(src, "src", rows[0], n, dtype)
        if dst is None:
            dst = cast(Array, empty_like(src, seen, (rows[1],) + shape[1:], dtype,
                                         "C" if self._is_row else "F"))
        out, ld_dst = self._block(dst, "dst", rows[1], n, dtype)
        if not out.writable:
            raise ValueError("dst is read-only")
        handle = ffi.cast("void *", stream_of(stream, seen))
        yield f"{operand!r}, object {self._number}"
        self._context._call(call, pointer, which, n, ffi.cast("void *", seen.address), ld_src,
                            ffi.cast("void *", out.address), ld_dst, handle)
        return dst

    @collective()
    def write_partition(self, path: Union[str, os.PathLike[str]]) -> Generator[str, None, None]:
        """Write the part of every row, to be read back with partition "file:PATH".  Collective."""
        pointer, name = self._pointer, encoded(path)
        yield f"object {self._number}"
        self._context._call(lib.spmm_plan_write_partition, pointer, name)

    @property
    def stats(self) -> PlanStats:
        """PlanStats: what one product does and did.  Local."""
        return PlanStats(**fill("spmm_plan_stats_t", lib.spmm_plan_get_stats, self._pointer,
                                ctx=self._context._pointer))

    def timeline(self) -> List[Span]:
        """The phases of the last product on this rank, of a plan with ``profile=True``.  Local.

        Returns
        -------
        list of Span
        """
        spans, count = ffi.new("spmm_span_t[]", lib.SPMM_MOST_SPANS), ffi.new("int *")
        self._context._call(lib.spmm_plan_get_timeline, self._pointer, lib.SPMM_MOST_SPANS, spans,
                            count)
        return [Span(text(s.phase), s.chunk, s.from_s, s.to_s) for s in spans[0:count[0]]]

    def traffic(self) -> np.ndarray[Any, Any]:
        """Ghost rows that this rank receives from each.  Local.

        Returns
        -------
        numpy.ndarray of int64, ``(ranks,)``
        """
        rows = np.zeros(self._context.size, np.int64)
        self._context._call(lib.spmm_plan_get_traffic, self._pointer,
                            ffi.from_buffer("int64_t[]", rows))
        return rows

    @collective()
    def halo(self) -> Generator[str, None, np.ndarray[Any, Any]]:
        """The rows of B that this rank needs of other ranks; with op "t" and "h", unless the plan
        is reproducible, the rows of C of other ranks to which it adds.  Collective.

        Returns
        -------
        numpy.ndarray of int64, ``(stats.halo_rows,)``, of rows of C ``(stats.send_rows,)``
            Original indices, rank after rank, ascending for each.
        """
        stats = self.stats
        rows = np.zeros(stats.send_rows if self._adds else stats.halo_rows, np.int64)
        yield f"object {self._number}"
        self._context._call(lib.spmm_plan_get_halo, self._pointer,
                            ffi.from_buffer("int64_t[]", rows))
        return rows

    def explain(self) -> str:
        """Every engine, transport and number of chunks with its predicted and measured time, the
        winner, and why, on this rank.  Local.

        Returns
        -------
        str
        """
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "explain")
            self._context._call(lib.spmm_plan_explain_f, self._pointer, os.fsencode(name))
            with open(name, encoding="utf-8", errors="replace") as report:
                return report.read()

    @collective()
    def plot(self, path: Union[str, os.PathLike[str], None] = None) -> Generator[
            str, None, Picture]:
        """Who sends how many rows to whom, and when each phase of the last product ran on each
        rank, as spmm_dist_plot draws it.  Collective.

        Parameters
        ----------
        path : str or path, optional
            A file that rank 0 writes it to, as SVG.

        Returns
        -------
        Picture
            A notebook shows it; `str()` of it is SVG.
        """
        from ._plot import draw

        mine = self.traffic().tolist(), [s.__dict__ for s in self.timeline()]
        stats, path = self.stats, None if path is None else os.fspath(path)
        yield f"object {self._number}, path={path!r}"
        traffic, spans = zip(*self._context._comm.allgather(mine))
        picture: Picture = draw({
            "picture": {"traffic": traffic, "spans": spans}, "engine": stats.engine,
            "schedule": stats.schedule, "transport": stats.transport})
        failed = None
        if path is not None and self._context.rank == 0:
            try:
                picture.save(path)
            except OSError as error:
                failed = error
        self._context._agree(f"writing {path!r}", failed)
        return picture


_prepare: Any = vars(Plan.execute)["__wrapped__"]

# SPDX-License-Identifier: Apache-2.0
"""The sparse matrix."""
from __future__ import annotations

import functools
import inspect
import sys
import warnings
import weakref
import zlib
from typing import (TYPE_CHECKING, Any, Callable, Dict, Generator, List, Mapping, Optional,
                    Sequence, Tuple, TypeVar, Union, cast)

import numpy as np

from ._arrays import ranges, rows_of, view
from ._attention import Attention
from ._collective import collective, expect, of_product, refuse_solver
from ._context import Context, Resource
from ._errors import ArgumentError, UnsupportedError
from ._library import SIZES, TYPES, as_dict, encoded, ffi, fill, lib, tuned, type_name, whole
from ._plan import Plan
from ._sddmm import Sddmm
from ._shown import Shown
from ._structs import MatrixInfo, ScaleInfo

if TYPE_CHECKING:
    import os

    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")
Array = TypeVar("Array")
Part = Sequence["np.ndarray[Any, Any]"]  # indptr, indices, data
_VALUES = tuple(SIZES)[1:]
_PIECE = 1 << 30  # bytes of a message


def _csr_arrays(rows: Any) -> Tuple[Any, Any, Any, Any]:
    """(indptr, indices, data, columns or None) of whatever holds CSR rows."""
    if isinstance(rows, (tuple, list)) and len(rows) == 3:
        return (*rows, None)
    if str(getattr(rows, "layout", "")) == "torch.sparse_csr":
        return rows.crow_indices(), rows.col_indices(), rows.values(), rows.shape[1]
    if getattr(rows, "format", None) == "csr":  # SciPy, CuPy
        return rows.indptr, rows.indices, rows.data, rows.shape[1]
    raise TypeError(f"rows are a {type(rows).__name__}: give (indptr, indices, data), a CSR matrix "
                    "of SciPy or CuPy, or a sparse_csr tensor of torch")


def _whole_csr(S: Any) -> Tuple[Part, int]:
    """The rows of a sparse matrix of SciPy, no entry twice, and its columns."""
    if not hasattr(S, "tocsr") or len(getattr(S, "shape", ())) != 2:
        raise TypeError(f"S is a {type(S).__name__}, not a sparse matrix of SciPy")
    S = S.tocsr()
    if S.dtype.name not in _VALUES:
        raise TypeError(f"S holds {S.dtype}, but it must hold {' or '.join(_VALUES)}: convert it "
                        "by S.astype()")
    S = type(S)((S.data, S.indices, S.indptr), S.shape)  # whose flags are not those of old indices
    if not S.has_canonical_format:
        S = S.copy()
        S.sum_duplicates()
    return [np.ascontiguousarray(x) for x in (S.indptr, S.indices, S.data)], int(S.shape[1])


def _split(S: Part, ranks: int) -> List[Part]:
    """Consecutive rows for each rank, with as many rows and entries as for any other."""
    work = S[0] + np.arange(len(S[0]))
    cuts = np.searchsorted(work, [int(work[-1]) * rank // ranks for rank in range(ranks + 1)])
    cuts[-1] = len(work) - 1
    made: List[Part] = []
    for first, last in zip(cuts, cuts[1:]):
        entries = slice(S[0][first], S[0][last])
        made.append((S[0][first:last + 1] - S[0][first], S[1][entries], S[2][entries]))
    return made


def _scattered(comm: Any, root: int, parts: Optional[List[Part]]) -> Part:
    """What rank `root` has for this one, of any size.  Collective."""
    def pieces(x: Any) -> List[Any]:
        flat = x.view(np.uint8)
        return [flat[i:i + _PIECE] for i in range(0, len(flat), _PIECE)]

    about = comm.scatter(None if parts is None else [
        [(x.dtype.str, len(x)) for x in part] for part in parts], root)
    if parts is None:
        mine = [np.empty(count, dtype) for dtype, count in about]
        for piece in (piece for x in mine for piece in pieces(x)):
            comm.Recv(piece, root)
        return mine
    for rank, part in enumerate(parts):
        for piece in (piece for x in part if rank != root for piece in pieces(x)):
            comm.Send(piece, rank)
    return parts[root]


def _share(columns: int, ctx: Context) -> int:
    """Columns of this rank where they are split evenly."""
    least, extra = divmod(columns, ctx.size)
    return least + (ctx.rank < extra)


def _makes(kind: Callable[Concatenate[Matrix, P], R]) -> Callable[
        [Callable[..., Any]], Callable[Concatenate[Matrix, P], R]]:
    """A method that makes a `kind`, with the arguments of that."""
    def decorated(method: Callable[..., Any]) -> Callable[Concatenate[Matrix, P], R]:
        @functools.wraps(method)
        def call(self: Matrix, *arguments: P.args, **options: P.kwargs) -> R:
            return kind(self, *arguments, **options)

        of_kind, own = inspect.signature(kind), inspect.signature(method)
        _, *rest = of_kind.parameters.values()
        vars(call)["__signature__"] = own.replace(parameters=[*own.parameters.values(), *rest])
        return cast("Callable[Concatenate[Matrix, P], R]", call)

    return decorated


class Matrix(Resource):
    """A sparse matrix, distributed over the ranks by blocks of consecutive rows.

    Made by `from_csr`, `from_scipy`, `from_blocks`, `read` or `generate`, all of them collective.
    Its columns, which are the rows of B, are split over the ranks in the same way.

    ``A @ B``, ``A.T @ B`` and ``A.H @ B`` multiply this rank's rows of B.  The first product of a
    width, a type and one of the three makes a plan, which may take seconds; the matrix keeps it
    until it is closed itself.  `plan` has options, and saves comparing calls over the ranks twice.
    """

    _word = "matrix"
    __array_ufunc__ = None  # arrays of NumPy leave products to it

    def __init__(self, ctx: Context, call: Any, *arguments: Any) -> None:
        super().__init__(ctx, "spmm_matrix_t", lib.spmm_matrix_destroy,
                         (call, ctx._pointer, *arguments))
        self._updates = 0  # of values
        self._by_rows = call is not lib.spmm_matrix_create_cvse  # the order of values
        self._plans: Dict[Tuple[int, str, str], Plan] = {}  # of products without a plan
        #: MatrixInfo: the shape, and this rank's part
        self.info = MatrixInfo(**fill("spmm_matrix_info_t", lib.spmm_matrix_get_info,
                                      self._pointer))

    def _facts(self) -> Dict[str, Any]:
        return {"shape": self.shape, "nnz": self.nnz, "dtype": self.dtype,
                **({"closed": True} if self.closed else {})}

    @property
    def shape(self) -> Tuple[int, int]:
        """Rows and columns of the whole matrix."""
        return self.info.rows, self.info.cols

    @property
    def dtype(self) -> str:
        """The storage type by name, "float64" for example."""
        return self.info.type

    @property
    def nnz(self) -> int:
        """Entries of the whole matrix."""
        return self.info.nnz

    @property
    def T(self) -> Transposed:
        """The transpose, to be multiplied by blocks."""
        return Transposed(self, "t")

    @property
    def H(self) -> Transposed:
        """The conjugate transpose, to be multiplied by blocks."""
        return Transposed(self, "h" if self.dtype.startswith("complex") else "t")

    def __matmul__(self, B: Array) -> Array:
        """This rank's rows of the product with B, of which it has this rank's rows.  Collective."""
        return self._multiply(B, "n", sys._getframe(1).f_globals.get("__name__", ""))

    @collective(on=of_product)
    def _multiply(self, B: Array, op: str, caller: str) -> Generator[str, None, Array]:
        """op(A) B, of a caller from module `caller`."""
        self._pointer
        if self._context.size > 1:
            refuse_solver(caller)
        B, seen = rows_of(B, "B")
        width = seen.shape[1] if len(seen.shape) == 2 else 1
        yield f"of object {self._number}, op {op}, {width} columns of {seen.dtype}"
        plan = self._plans.get((width, seen.dtype, op))
        if plan is None:
            plan = self.plan(width, op=op, b_type=seen.dtype)
            plan.matrix = weakref.proxy(self)  # no cycle: it goes with the matrix
            self._plans[width, seen.dtype, op] = plan
        return plan @ B

    @classmethod
    @collective()
    def from_csr(cls, ctx: Context, rows: Any, *, local_cols: Optional[int] = None) -> Generator[
            str, None, Matrix]:
        """This rank's rows.  Collective; the arrays are local and copied.

        Parameters
        ----------
        ctx : Context
        rows : tuple or matrix
            ``(indptr, indices, data)``, a CSR matrix of SciPy or CuPy or a sparse_csr tensor of
            torch: the rows of this rank, with the columns of the whole matrix.  In host or device
            memory, where it is read without a detour; indices of 64 or 32 bits; columns in any
            order, none twice in a row.
        local_cols : int, optional
            Columns (rows of B) that this rank owns.  Default: for a square matrix, and for three
            arrays, as many as rows; else the columns split evenly.

        Raises
        ------
        TypeError, ValueError
            for arrays that do not fit each other
        ArgumentError
            names row and entry where indices break the rules
        """
        expect(ctx, Context, "ctx")
        *keep, columns = _csr_arrays(rows)  # what frameworks make of rows lives until the call
        columns = None if columns is None else whole(columns)
        call, (count, *arguments) = cls._csr_arguments(*keep)
        local_cols = None if local_cols is None else whole(local_cols)
        yield "without local_cols" if local_cols is None else "with local_cols"
        every = ctx._comm.allgather((count, columns))
        known = [(c, rank) for rank, (_, c) in enumerate(every) if c is not None]
        for other, rank in known:
            if other != known[0][0]:
                raise ArgumentError(f"the rows have {known[0][0]} columns on rank {known[0][1]}, "
                                    f"but {other} on rank {rank}: give those of the whole matrix")
        if ctx.size > 1 and count > 0 and all(r == c for r, c in every):
            warnings.warn(f"all {ctx.size} ranks give {count} rows of {count} columns, which makes "
                          f"a matrix of {ctx.size * count} rows: Matrix.from_scipy(ctx, S) takes a "
                          "whole matrix S", UserWarning, stacklevel=3)
        if local_cols is None:
            split = known and known[0][0] != sum(r for r, _ in every)
            local_cols = _share(known[0][0], ctx) if split else count
        return cls(ctx, call, count, local_cols, *arguments)

    @classmethod
    @collective()
    def from_scipy(cls, ctx: Context, S: Any, *, root: Optional[int] = None) -> Generator[
            str, None, Matrix]:
        """A whole matrix, of which each rank takes its rows.  Collective; S is copied.

        Ranks get as many rows and entries as each other: `info` says which.

        Parameters
        ----------
        ctx : Context
        S : sparse matrix or array of SciPy
            The same on all ranks.  Entries that are given twice are added up.
        root : int, optional
            The only rank that has S, which the others get their rows from; what they give for S is
            not looked at.

        Raises
        ------
        ArgumentError
            for another S on some rank
        """
        expect(ctx, Context, "ctx")
        root = None if root is None else whole(root, "int")
        if root is not None and not 0 <= root < ctx.size:
            raise ValueError(f"root is {root}, but there are {ctx.size} ranks")
        parts, columns, words = None, 0, f"root={root}"
        if root is None or ctx.rank == root:
            whole_S, columns = _whole_csr(S)
            parts = _split(whole_S, ctx.size)
        if root is None:
            sums = [zlib.crc32(x.data) for x in whole_S]
            words = f"{len(whole_S[0]) - 1} x {columns}, checksums {sums}"
        yield words
        if root is None:
            assert parts is not None
            mine = parts[ctx.rank]
        else:
            columns = ctx.comm.bcast(columns, root)
            mine = _scattered(ctx.comm, root, parts)
        call, (count, *arguments) = cls._csr_arguments(*mine)
        square = ctx.comm.allreduce(count) == columns
        return cls(ctx, call, count, count if square else _share(columns, ctx), *arguments)

    @staticmethod
    def _csr_arguments(indptr: Any, indices: Any, data: Any) -> Tuple[Any, Tuple[Any, ...]]:
        seen = [view(x, what) for x, what in zip((indptr, indices, data),
                                                 ("indptr", "indices", "data"))]
        width = seen[0].dtype
        pointer = ranges(seen[0], "indptr", None, ("int64", "int32"))
        if not seen[0].shape[0]:
            raise ValueError("indptr is empty: it has one element more than there are rows")
        entries = seen[2].shape[0] if len(seen[2].shape) == 1 else None
        address = ranges(seen[1], "indices", entries, ("int64", "int32"))
        if seen[1].dtype != width:
            raise TypeError(f"indptr holds {width}, but indices holds {seen[1].dtype}: make them "
                            "equal")
        values = ranges(seen[2], "data", None, _VALUES)
        if not seen[0].on_gpu and indptr[-1] != entries:
            raise ValueError(f"indptr ends with {indptr[-1]}, but there are {entries} entries")
        index = "const int32_t *" if width == "int32" else "const int64_t *"
        call = lib.spmm_matrix_create_csr32 if width == "int32" else lib.spmm_matrix_create_csr
        return call, (seen[0].shape[0] - 1, ffi.cast(index, pointer), ffi.cast(index, address),
                      ffi.cast("void *", values), TYPES[seen[2].dtype])

    @classmethod
    @collective()
    def from_blocks(cls, ctx: Context, block_ptr: Any, col_idx: Any, values: Any, *, vector: int,
                    width: int = 1, n_rows: int, local_cols: Optional[int] = None) -> Generator[
                        str, None, Matrix]:
        """This rank's blocks of `vector` rows by `width` columns.  Collective.

        Parameters
        ----------
        ctx : Context
        block_ptr : array of int64, ``(n_rows / vector + 1,)``
            First block of each row of blocks.
        col_idx : array of int64, ``(blocks,)``
            First column of each block, of the whole matrix.
        values : array, ``(blocks * width * vector,)``
            Block after block, in each column after column.
        vector : {2, 4, 8, 16}
        width : int
            1: column-vector-sparse.
        n_rows : int
            Rows of this rank, a multiple of `vector`.
        local_cols : int, optional
            Columns that this rank owns; default `n_rows`.
        """
        expect(ctx, Context, "ctx")
        vector, width, n_rows = whole(vector), whole(width), whole(n_rows)
        local_cols = n_rows if local_cols is None else whole(local_cols)
        seen = view(values, "values")
        blocks = len(col_idx)
        # A number of rows that vectors do not divide is the library's to refuse.
        rows = -(-n_rows // vector) + 1 if n_rows % vector == 0 else None
        pointers = (ranges(view(block_ptr, "block_ptr"), "block_ptr", rows, ("int64",)),
                    ranges(view(col_idx, "col_idx"), "col_idx", None, ("int64",)),
                    ranges(seen, "values", blocks * width * vector, _VALUES))
        if rows and not view(block_ptr, "block_ptr").on_gpu and block_ptr[-1] != blocks:
            raise ValueError(f"block_ptr ends with {block_ptr[-1]}, but there are {blocks} blocks")
        yield ""
        return cls(ctx, lib.spmm_matrix_create_cvse, n_rows, local_cols, vector, width,
                   ffi.cast("const int64_t *", pointers[0]),
                   ffi.cast("const int64_t *", pointers[1]), ffi.cast("void *", pointers[2]),
                   TYPES[seen.dtype])

    @classmethod
    @collective()
    def read(cls, ctx: Context, path: Union[str, os.PathLike[str]], dtype: Any = "auto",
             seed: int = 0) -> Generator[str, None, Matrix]:
        """A matrix from a file.  Collective; rows are split evenly by entries.

        Parameters
        ----------
        ctx : Context
        path : str or path
            Matrix Market, also gzipped, binary CSR, PETSc's binary format or DLMC's ``.smtx``, told
            by its content.
        dtype : str or dtype
            "auto": float64, complex128 where the file is complex.
        seed : int
            of the values of a ``.csr`` or ``.smtx`` file without values

        Raises
        ------
        FileError
            for a missing or malformed file, with the line where there is one
        """
        return (yield from cls._by_text(ctx, lib.spmm_matrix_read, path, dtype, seed))

    @classmethod
    @collective()
    def generate(cls, ctx: Context, spec: str, dtype: Any = "float64", seed: int = 0) -> Generator[
            str, None, Matrix]:
        """A matrix by a generator, the same for any number of ranks.  Collective.

        Parameters
        ----------
        ctx : Context
        spec : str
            ``kind:key=value,...``, "stencil5:nx=100,ny=100" for example;
            docs/reference/generators.md lists them
        dtype : str or dtype
        seed : int
        """
        return (yield from cls._by_text(ctx, lib.spmm_matrix_generate, spec, dtype, seed))

    @classmethod
    def _by_text(cls, ctx: Context, call: Any, what: Any, dtype: Any, seed: int) -> Generator[
            str, None, Matrix]:
        expect(ctx, Context, "ctx")
        what, dtype, seed = encoded(what), type_name(dtype), whole(seed, "uint64_t")
        yield ""
        return cls(ctx, call, what, TYPES[dtype], seed)

    @collective()
    def write(self, path: Union[str, os.PathLike[str]], format: Optional[str] = None) -> Generator[
            str, None, None]:
        """Write the matrix to a file that `read` reads.  Collective; all ranks write.

        Parameters
        ----------
        path : str or path
        format : {"csr", "petsc"}, optional
            by the end of the path: ``.csr``, ``.petsc`` or ``.petscbin``

        Raises
        ------
        ArgumentError
            for another format
        FileError
            where the file cannot be written
        """
        pointer, file = self._pointer, encoded(path)
        name = ffi.NULL if format is None else ffi.new("char[]", encoded(format))
        yield f"object {self._number}"
        self._context._call(lib.spmm_matrix_write, pointer, file, name)

    def csr(self) -> Tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """This rank's rows: ``(indptr, indices, data)``, copies in host memory with the columns of
        the whole matrix, ascending in each row.  Local.  bfloat16 comes as its 16 bits."""
        cells = ffi.new("const int64_t **"), ffi.new("const int64_t **"), ffi.new("const void **")
        self._context._call(lib.spmm_matrix_get_csr, self._pointer, *cells)
        size = SIZES[self.dtype]
        kind = "uint16" if self.dtype == "bfloat16" else self.dtype
        lengths = (self.info.local_rows + 1) * 8, self.info.local_nnz * 8, \
            self.info.local_nnz * size
        indptr, indices, data = (
            np.frombuffer(ffi.buffer(cell[0], length), like).copy() if length else
            np.empty(0, like) for cell, length, like in zip(cells, lengths,
                                                            ("int64", "int64", kind)))
        return indptr, indices, data

    def drop_entries(self) -> None:
        """Free columns and values, of which plans have what they need.  Local, for all ranks to
        call: plans work on, but new ones, masks, `csr`, `write`, `scale` and `update_values`
        raise `ArgumentError`."""
        self._context._call(lib.spmm_matrix_drop_entries, self._pointer)

    @collective()
    def update_values(self, values: Any) -> Generator[str, None, None]:
        """New values, same pattern, in the order of the arrays given at creation, of `csr` where
        the matrix was read or generated.  Collective; refills every plan made from the matrix.

        Parameters
        ----------
        values : array, ``(info.local_nnz,)``
            of the matrix's type, host or device memory, copied
        """
        pointer = self._pointer
        address = ranges(view(values, "values"), "values", self.info.local_nnz, (self.dtype,))
        yield f"object {self._number}"
        self._updates += 1
        self._context._call(lib.spmm_matrix_update_values, pointer, ffi.cast("void *", address))

    def scale(self, n: int, ranks: int, *, ranks_per_node: int = 0,
              partition: Optional[str] = None, imbalance: float = 0.0,
              tuning: Union[str, Mapping[str, Any]] = "") -> ScaleInfo:
        """What a product would exchange among ranks that need not be there.  On one rank.

        Parameters
        ----------
        n : int
            Columns of B.
        ranks : int
            How many there would be.
        ranks_per_node : int
            So many successive ones each; 0: all on one.
        partition : {"metis", "block"}, optional
        imbalance, tuning
            As of `Plan`, of the keys of tuning "objective" and "seed" alone.

        Returns
        -------
        ScaleInfo
        """
        options, info = ffi.new("spmm_scale_options_t *"), ffi.new("spmm_scale_info_t *")
        options.struct_size = ffi.sizeof("spmm_scale_options_t")
        info.struct_size = ffi.sizeof("spmm_scale_info_t")
        texts = [ffi.NULL if partition is None else ffi.new("char[]", encoded(partition)),
                 ffi.new("char[]", tuned(tuning))]
        options.partition, options.tuning = texts
        options.ranks, options.ranks_per_node = ranks, ranks_per_node
        options.imbalance = imbalance
        self._context._call(lib.spmm_matrix_scale, self._pointer, n, options, info)
        return ScaleInfo(**as_dict(info))

    @_makes(Plan)
    def plan(self) -> Plan:  # type: ignore[empty-body]
        """Prepare ``C = alpha op(A) B + beta C``: the `Plan` of this matrix.  Collective."""

    @_makes(Sddmm)
    def sddmm(self) -> Sddmm:  # type: ignore[empty-body]
        """Prepare products sampled at the entries of this matrix: its `Sddmm`.  Collective."""

    @_makes(Attention)
    def attention(self) -> Attention:  # type: ignore[empty-body]
        """Prepare attention at the entries of this matrix: its `Attention`.  Collective."""


class Transposed(Shown):
    """The transpose of a matrix or, where `op` is "h", its conjugate transpose."""

    __array_ufunc__ = None

    def __init__(self, matrix: Matrix, op: str) -> None:
        #: The matrix, and "t" or "h"
        self.matrix, self.op = matrix, op
        #: As those of the matrix.
        self.dtype, self.nnz, self.shape = matrix.dtype, matrix.nnz, matrix.shape[::-1]

    def _facts(self) -> Dict[str, Any]:
        return {"op": self.op, "shape": self.shape, "nnz": self.nnz, "dtype": self.dtype}

    def _back(self, op: str) -> Matrix:
        if self.op != op and self.dtype.startswith("complex"):
            raise UnsupportedError("the conjugate of a matrix is no operand: conjugate B and C")
        return self.matrix

    @property
    def T(self) -> Matrix:
        """The matrix again, of a conjugate transpose where it is real."""
        return self._back("t")

    @property
    def H(self) -> Matrix:
        """The matrix again, of a transpose where it is real."""
        return self._back("h")

    def __matmul__(self, B: Array) -> Array:
        """As that of the matrix.  Collective."""
        return self.matrix._multiply(B, self.op, sys._getframe(1).f_globals.get("__name__", ""))

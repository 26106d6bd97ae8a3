# SPDX-License-Identifier: Apache-2.0
"""The sparse matrix."""
import warnings

import numpy as np

from ._arrays import ranges, view
from ._collective import collective, expect
from ._context import Context, Resource
from ._errors import ArgumentError
from ._library import SIZES, TYPES, as_dict, encoded, ffi, fill, lib, tuned, type_name, whole
from ._structs import MatrixInfo, ScaleInfo

_VALUES = tuple(SIZES)[1:]


def _csr_arrays(rows):
    """(indptr, indices, data, columns or None) of whatever holds CSR rows."""
    if isinstance(rows, (tuple, list)) and len(rows) == 3:
        return (*rows, None)
    if str(getattr(rows, "layout", "")) == "torch.sparse_csr":
        return rows.crow_indices(), rows.col_indices(), rows.values(), rows.shape[1]
    if getattr(rows, "format", None) == "csr":  # SciPy, CuPy
        return rows.indptr, rows.indices, rows.data, rows.shape[1]
    raise TypeError(f"rows are a {type(rows).__name__}: give (indptr, indices, data), a CSR matrix "
                    "of SciPy or CuPy, or a sparse_csr tensor of torch")


class Matrix(Resource):
    """A sparse matrix, distributed over the ranks by blocks of consecutive rows.

    Made by `from_csr`, `from_blocks`, `read` or `generate`, all of them collective.  Its columns,
    which are the rows of B, are split over the ranks in the same way.
    """

    _word = "matrix"

    def __init__(self, ctx, call, *arguments):
        super().__init__(ctx, "spmm_matrix_t", lib.spmm_matrix_destroy,
                         (call, ctx._pointer, *arguments))
        self._updates = 0  # of values
        self._by_rows = call is not lib.spmm_matrix_create_cvse  # the order of values
        #: MatrixInfo: the shape, and this rank's part
        self.info = MatrixInfo(**fill("spmm_matrix_info_t", lib.spmm_matrix_get_info,
                                      self._pointer))

    def __repr__(self):
        return (f"<spmm_dist.Matrix of {self.info.rows} x {self.info.cols}, {self.info.nnz} "
                f"entries of {self.info.type}{', closed' * self.closed}>")

    @property
    def shape(self):
        """Rows and columns of the whole matrix."""
        return self.info.rows, self.info.cols

    @property
    def dtype(self):
        """The storage type by name, "float64" for example."""
        return self.info.type

    @property
    def nnz(self):
        """Entries of the whole matrix."""
        return self.info.nnz

    @classmethod
    @collective
    def from_csr(cls, ctx, rows, *, local_cols=None):
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
                          f"a matrix of {ctx.size * count} rows: of one whole matrix S, give this "
                          "rank's rows, S[first:last]", UserWarning, stacklevel=3)
        if local_cols is None:
            local_cols = count
            if known and known[0][0] != sum(r for r, _ in every):
                least, extra = divmod(known[0][0], ctx.size)
                local_cols = least + (ctx.rank < extra)
        return cls(ctx, call, count, local_cols, *arguments)

    @staticmethod
    def _csr_arguments(indptr, indices, data):
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
    @collective
    def from_blocks(cls, ctx, block_ptr, col_idx, values, *, vector, width=1, n_rows,
                    local_cols=None):
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
    @collective
    def read(cls, ctx, path, dtype="auto", seed=0):
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
    @collective
    def generate(cls, ctx, spec, dtype="float64", seed=0):
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
    def _by_text(cls, ctx, call, what, dtype, seed):
        expect(ctx, Context, "ctx")
        what, dtype, seed = encoded(what), type_name(dtype), whole(seed, "uint64_t")
        yield ""
        return cls(ctx, call, what, TYPES[dtype], seed)

    @collective
    def write(self, path, format=None):
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
        pointer, path = self._pointer, encoded(path)
        name = ffi.NULL if format is None else ffi.new("char[]", encoded(format))
        yield f"object {self._number}"
        self._context._call(lib.spmm_matrix_write, pointer, path, name)

    def csr(self):
        """This rank's rows: ``(indptr, indices, data)``, copies in host memory with the columns of
        the whole matrix, ascending in each row.  Local.  bfloat16 comes as its 16 bits."""
        cells = ffi.new("const int64_t **"), ffi.new("const int64_t **"), ffi.new("const void **")
        self._context._call(lib.spmm_matrix_get_csr, self._pointer, *cells)
        size = SIZES[self.dtype]
        kind = "uint16" if self.dtype == "bfloat16" else self.dtype
        lengths = (self.info.local_rows + 1) * 8, self.info.local_nnz * 8, \
            self.info.local_nnz * size
        return tuple(np.frombuffer(ffi.buffer(cell[0], length), like).copy()
                     if length else np.empty(0, like)
                     for cell, length, like in zip(cells, lengths, ("int64", "int64", kind)))

    def drop_entries(self):
        """Free columns and values, of which plans have what they need.  Local, for all ranks to
        call: plans work on, but new ones, masks, `csr`, `write`, `scale` and `update_values`
        raise `ArgumentError`."""
        self._context._call(lib.spmm_matrix_drop_entries, self._pointer)

    @collective
    def update_values(self, values):
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

    def scale(self, n, ranks, *, ranks_per_node=0, partition=None, imbalance=0.0, tuning=""):
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

    def plan(self, *n, **options):
        """``plan(n, **options)``: prepare ``C = alpha op(A) B + beta C``; see `Plan`.  Collective.
        """
        from ._plan import Plan

        return Plan(self, *n, **options)

    def sddmm(self, *k, **options):
        """``sddmm(k, **options)``: prepare products sampled at the entries of this matrix; see
        `Sddmm`.  Collective."""
        from ._sddmm import Sddmm

        return Sddmm(self, *k, **options)

    def attention(self, *heads_and_k, **options):
        """``attention(heads, k, **options)``: prepare attention at the entries of this matrix; see
        `Attention`.  Collective."""
        from ._attention import Attention

        return Attention(self, *heads_and_k, **options)

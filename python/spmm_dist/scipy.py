# SPDX-License-Identifier: Apache-2.0
"""Plans in SciPy's block eigensolver.

::

    from spmm_dist.scipy import lobpcg

    values, X = lobpcg(A.plan(10), X, largest=False, tol=1e-8, maxiter=200)

SciPy's LOBPCG runs unchanged on every rank, on this rank's rows alone: `RowBlock` makes its inner
products sums over all ranks, and `Operator` its products those of the plan.  SciPy computes on the
host: for a plan on GPUs, `Operator` moves rows there and back.
"""
import inspect
import warnings

import numpy as np
import scipy.sparse.linalg
from mpi4py import MPI

from ._arrays import fetched, moved
from ._collective import Handle, agree, collective, expect
from ._plan import Plan

_ALONG_ROWS = {np.add, np.maximum, np.minimum}
# Functions of NumPy that end in methods or ufuncs, which know what to do.
_PASSED = {np.sum, np.amax, np.amin, np.max, np.min, np.shape, np.ndim, np.copy}


def _extreme(ufunc, dtype):
    """The maximum or minimum of no rows, below or above all others."""
    least = ufunc is np.maximum
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if least else np.iinfo(dtype).max
    return not least if dtype.kind == "b" else -np.inf if least else np.inf


def _over_ranks(part, comm, ufunc=np.add):
    """What all ranks' `part()` come to: the same bits on all, so that all take the same decisions,
    or an exception on all.  Collective."""
    x = failed = None
    try:
        x = np.asarray(part(), order="C")
    except Exception as error:
        failed = error
    agree(comm, "" if failed else f"numpy.{ufunc.__name__} of {x.dtype}, shape {x.shape}", failed)
    if ufunc is not np.add:  # MPI has no order of complex numbers
        return ufunc.reduce(comm.allgather(x), 0)
    total = np.empty_like(x)
    comm.Reduce(x, total, MPI.SUM, root=0)
    comm.Bcast(total, root=0)
    return total if total.ndim else total[()]


class RowBlock(np.ndarray):
    """This rank's rows of a block that is distributed over the ranks by rows.

    An array of NumPy in which what runs along rows runs over all ranks, and is then collective:
    ``X.T @ Y``, ``numpy.dot(X.T, Y)``, and sums, maxima and minima over axis 0.  Elementwise
    arithmetic and ``X @ small`` give a `RowBlock`.  What would see the rows of one rank alone and
    pass for the whole is a TypeError; ``numpy.asarray(X)`` has this rank's rows, ``X[i]`` one of
    them, both arrays of NumPy.

    Parameters
    ----------
    rows : array, ``(local rows,)`` or ``(local rows, n)``
    comm : mpi4py.MPI.Comm
    """

    def __new__(cls, rows, comm):
        expect(comm, MPI.Comm, "comm")
        made = np.asarray(rows).view(cls)
        made._comm = comm
        return made

    def __array_finalize__(self, other):
        self._comm = getattr(other, "_comm", None)

    def __reduce_ex__(self, protocol):
        raise TypeError("a RowBlock is not pickled, since it has the rows of one rank of this run: "
                        "numpy.asarray() of it is")

    @property
    def T(self):
        """Its transpose: columns over all ranks, to be multiplied by another block."""
        return self if self.ndim < 2 else _Columns(self)

    def transpose(self, *axes):
        if axes not in ((), (None,), (1, 0), ((1, 0),)):
            raise TypeError("transpose() of a RowBlock swaps its rows and columns, and no more")
        return self.T

    def reshape(self, *shape, **options):
        made = super().reshape(*shape, **options)
        if made.ndim > 1 and made.shape[0] != self.shape[0]:
            raise TypeError("reshape() of a RowBlock keeps its rows, or makes a vector of it")
        return made

    def dot(self, other):
        return self @ other

    def __getitem__(self, key):
        first = key[0] if isinstance(key, tuple) and key else key
        if first is None:
            raise TypeError("a RowBlock has its rows in front: a new axis may follow them")
        # A row of this rank has none of other ranks'.
        return (np.asarray(self)[key] if isinstance(first, (int, np.integer))
                else super().__getitem__(key))

    def __array_function__(self, function, types, arguments, options):
        if function is np.dot and len(arguments) == 2 and not options:
            return arguments[0] @ arguments[1]
        if function in _PASSED:
            return super().__array_function__(function, types, arguments, options)
        raise TypeError(f"numpy.{function.__name__} of a RowBlock, whose rows are on several ranks:"
                        " numpy.asarray() of it has this rank's")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [np.asarray(x) if isinstance(x, RowBlock) else x for x in inputs]
        if out is not None:
            options["out"] = tuple(np.asarray(x) if isinstance(x, RowBlock) else x for x in out)
        if ufunc is np.matmul and method == "__call__":
            return self._matmul(inputs, plain, options)
        if method == "__call__":
            return self._elementwise(inputs, ufunc(*plain, **options), out)
        if method == "reduce":
            return self._reduce(ufunc, plain[0], **options)
        raise TypeError(f"numpy.{ufunc.__name__}.{method} of a RowBlock, whose rows are on several "
                        "ranks")

    def _elementwise(self, inputs, found, out):
        if out is not None:
            return out if len(out) > 1 else out[0]
        if isinstance(found, tuple):
            return tuple(self._elementwise(inputs, one, None) for one in found)
        if found.ndim > max(x.ndim for x in inputs if isinstance(x, RowBlock)):
            raise TypeError("an array of more axes than a RowBlock would move its rows")
        return RowBlock(found, self._comm)

    def _matmul(self, inputs, plain, options):
        if (isinstance(inputs[0], RowBlock) and inputs[0].ndim > 1
                and not isinstance(inputs[1], RowBlock)):
            return RowBlock(np.matmul(*plain, **options), self._comm)

        def part():
            if not isinstance(inputs[0], RowBlock):
                raise TypeError("an array times a RowBlock would add rows of this rank alone: the "
                                "transpose of a RowBlock adds those of all")
            if inputs[0].ndim != 1 or options or not isinstance(inputs[1], RowBlock):
                raise TypeError("rows of a RowBlock are multiplied by those of a RowBlock: one of "
                                "them is to be transposed, and out is not for it")
            return np.matmul(*plain)

        return _over_ranks(part, self._comm)

    def _reduce(self, ufunc, x, axis=0, out=None, **options):
        if axis is not None and set(np.ravel(axis)) <= {*range(1, x.ndim), *range(1 - x.ndim, 0)}:
            return RowBlock(ufunc.reduce(x, axis, out=out, **options), self._comm)

        def part():
            # What methods pass on though nothing is asked for.
            asked = {k: v for k, v in options.items() if v is not None and v is not np._NoValue
                     and not (k == "where" and v is True)}
            if (ufunc not in _ALONG_ROWS or out is not None
                    or not asked.keys() <= {"keepdims", "dtype"}):
                raise TypeError(f"numpy.{ufunc.__name__} along the rows of a RowBlock, which are on"
                                " several ranks: without where, initial and out it may be add, "
                                "maximum or minimum")
            initial = {} if len(x) or ufunc is np.add else {"initial": _extreme(ufunc, x.dtype)}
            return ufunc.reduce(x, axis, **asked, **initial)

        return _over_ranks(part, self._comm, ufunc)


def _refused(name):
    def method(self, *arguments, **options):
        raise TypeError(f"{name}() of a RowBlock, whose rows are on several ranks: numpy.asarray() "
                        "of it has this rank's")

    return method


# Methods that are no ufuncs, or divide what one gave by the rows of this rank.
for _name in ("argmax", "argmin", "argpartition", "argsort", "diagonal", "mean", "nonzero",
              "partition", "searchsorted", "sort", "std", "swapaxes", "trace", "var"):
    setattr(RowBlock, _name, _refused(_name))


class _Columns:
    """The transpose of a `RowBlock`."""

    __array_ufunc__ = None

    def __init__(self, rows):
        self.T = rows
        self.shape, self.dtype, self.ndim = rows.shape[::-1], rows.dtype, 2

    def conj(self):
        return _Columns(self.T.conj())

    conjugate = conj

    def __matmul__(self, other):
        def part():
            if not isinstance(other, RowBlock):
                raise TypeError("the transpose of a RowBlock is multiplied by a RowBlock")
            return np.asarray(self.T).T @ np.asarray(other)

        return _over_ranks(part, self.T._comm)

    dot = __matmul__

    def __array_function__(self, function, types, arguments, options):
        if function is not np.dot or len(arguments) != 2 or options:
            raise TypeError(f"numpy.{function.__name__} of the transpose of a RowBlock")
        return arguments[0] @ arguments[1]


class Operator(Handle):
    """A plan as solvers call it, like ``scipy.sparse.linalg.LinearOperator``, on blocks of NumPy:
    those of a plan on GPUs are copied there and back, by CuPy or torch.

    On several ranks it multiplies a `RowBlock` and nothing else: a solver that is given this rank's
    rows as an array would take them for the whole, and find something else on every rank.

    Parameters
    ----------
    plan : Plan
        Square, its rows where its columns are.
    adjoint : Plan, optional
        The one with op "h", for `rmatmat`.

    Attributes
    ----------
    shape : tuple
        This rank's rows, twice.
    dtype : numpy.dtype
    """

    def __init__(self, plan, adjoint=None):
        expect(plan, Plan, "plan")
        if adjoint is not None:
            expect(adjoint, Plan, "adjoint")
        rows = plan.layout.B.local_rows
        if not np.array_equal(plan.layout.B.global_row, plan.layout.C.global_row):
            raise ValueError("the matrix is not square, or its columns live elsewhere than its "
                             "rows")
        self.plan, self.adjoint = plan, adjoint
        self.shape, self.dtype = (rows, rows), np.dtype(plan._b_type)

    @property
    def _context(self):
        return self.plan.context if hasattr(self, "plan") else None

    def _apply(self, plan, X):
        context = plan.context
        on_gpu = context.info.device == "cuda"
        try:
            if context.size > 1 and not isinstance(X, RowBlock):
                raise TypeError(f"X is a {type(X).__name__}, which has no more than this rank's "
                                "rows for a solver: use spmm_dist.scipy.lobpcg, or give a RowBlock")
            if np.asarray(X).dtype.kind == "c" and self.dtype.kind != "c":
                raise TypeError("X is complex, but the plan multiplies real blocks")
            rows = np.ascontiguousarray(X, self.dtype)
            rows = moved(rows, context.info.device_ordinal) if on_gpu else rows
        except Exception:
            plan._refuse()
            raise
        found = plan.execute(rows)
        found = fetched(found) if on_gpu else found
        return RowBlock(found, context.comm) if isinstance(X, RowBlock) else found

    def matmat(self, X):
        """``A X``, a `RowBlock` of one.  Collective."""
        return self._apply(self.plan, X)

    def rmatmat(self, X):
        """The conjugate transpose of A times X."""
        if self.adjoint is None:
            raise ValueError("give the plan with op='h' as adjoint")
        return self._apply(self.adjoint, X)

    matvec = dot = __matmul__ = __call__ = matmat
    rmatvec = rmatmat


@collective
def lobpcg(plan, X, B=None, M=None, Y=None, tol=None, verbosityLevel=0, **options):
    """``scipy.sparse.linalg.lobpcg`` over all ranks.  Collective.

    Parameters
    ----------
    plan : Plan
        Of the Hermitian matrix, for as many columns as X has.
    X : array, ``(local rows, k)``
        This rank's rows of the first guess; at least 5 k of them on every rank.
    B, M : Plan or callable, optional
        The second matrix and the preconditioner.  A callable gets this rank's rows.
    Y : array, ``(local rows, sizeY)``, optional
        This rank's rows of the constraints.
    tol : float, optional
        Default: square root of the machine epsilon times the rows of the matrix.
    options
        maxiter, largest, retLambdaHistory and so on, as SciPy's.

    Returns
    -------
    values : numpy.ndarray, ``(k,)``
        The same on all ranks.
    X : numpy.ndarray, ``(local rows, k)``
        This rank's rows of the eigenvectors.
    histories
        where asked for
    """
    operator, verbosityLevel = Operator(plan), int(verbosityLevel)
    comm, rows = plan.context.comm, operator.shape[0]
    X, Y = (None if x is None else np.array(x, operator.dtype) for x in (X, Y))
    if np.ndim(X) != 2 or len(X) != rows:
        raise ValueError(f"X has shape {np.shape(X)}, but it needs the {rows} rows of this rank")
    if Y is not None and (Y.ndim != 2 or len(Y) != rows):
        raise ValueError(f"Y has shape {Y.shape}, but it needs the {rows} rows of this rank")
    if rows - (0 if Y is None else Y.shape[1]) < 5 * X.shape[1]:
        raise ValueError(f"this rank has {rows} rows for {X.shape[1]} columns of X: LOBPCG takes "
                         "five times as many rows as columns on every rank")
    inspect.signature(scipy.sparse.linalg.lobpcg).bind(
        operator, X, tol=tol, verbosityLevel=verbosityLevel, **options)

    def wrapped(given):
        if given is None:
            return None
        if not callable(given):
            return Operator(given)

        def preconditioned(block):
            made = failed = None
            try:
                made = RowBlock(given(np.asarray(block)), comm)
                if made.shape != block.shape:
                    raise ValueError(f"a function that is given to lobpcg() makes shape "
                                     f"{made.shape} of {block.shape}")
            except Exception as error:
                failed = error
            agree(comm, "a function that is given to lobpcg()", failed)
            return made

        return preconditioned

    B, M = wrapped(B), wrapped(M)
    yield (f"of object {plan._number}, {X.shape[1]} columns, B {type(B).__name__}, "
           f"M {type(M).__name__}, Y {None if Y is None else Y.shape[1]}, tol={tol!r}, "
           f"{sorted(options.items())!r}")
    if tol is None:
        tol = np.sqrt(np.finfo(operator.dtype).eps) * plan.matrix.shape[0]
    with warnings.catch_warnings():
        if comm.rank > 0:  # one rank says it
            warnings.simplefilter("ignore")
        values, vectors, *more = scipy.sparse.linalg.lobpcg(
            operator, RowBlock(X, comm), B, M, None if Y is None else RowBlock(Y, comm), tol=tol,
            verbosityLevel=verbosityLevel if comm.rank == 0 else 0, **options)
    return (values, np.asarray(vectors), *more)

# SPDX-License-Identifier: Apache-2.0
"""Plans in SciPy's solvers.

::

    from spmm_dist.scipy import linear_operator, lobpcg

    values, _ = scipy.sparse.linalg.eigsh(linear_operator(A.plan(1)), 10, v0=v0)
    values, X = lobpcg(A.plan(10), X, largest=False, tol=1e-8, maxiter=200)

`linear_operator` fits any of them, and every rank has the same whole vectors, v0 too, and does all
of SciPy's work. `lobpcg` distributes that, too: SciPy's LOBPCG runs on every rank, on its rows
alone: `RowBlock` makes its inner products sums over all ranks, and `Operator` its products those of
the plan. SciPy computes on the host: for a plan on GPUs rows are moved there and back.
"""
from __future__ import annotations

import warnings
import zlib
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, Optional, Union

import numpy as np
import scipy.sparse.linalg
from mpi4py import MPI

from ._arrays import fetched, moved
from ._collective import Handle, agree, collective, expect, meetings
from ._plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._context import Context

#: A second matrix or a preconditioner: a plan, or a function of this rank's rows.
Second = Union[None, Plan, Callable[[Any], Any]]
_ALONG_ROWS = {np.add, np.maximum, np.minimum}
# Functions of NumPy that end in methods or ufuncs, which know what to do.
_PASSED = {np.sum, np.amax, np.amin, np.max, np.min, np.shape, np.ndim, np.copy}


def _extreme(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """The maximum or minimum of no rows, below or above all others."""
    least = ufunc is np.maximum
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if least else np.iinfo(dtype).max
    return not least if dtype.kind == "b" else -np.inf if least else np.inf


def _over_ranks(part: Callable[[], Any], comm: MPI.Intracomm, ufunc: np.ufunc = np.add) -> Any:
    """What all ranks' `part()` come to: the same bits on all, so that all take the same decisions,
    or an exception on all.  Collective."""
    x: Any = None
    failed = None
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


class RowBlock(np.ndarray):  # type: ignore[type-arg]
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

    _comm: MPI.Intracomm

    def __new__(cls, rows: Any, comm: MPI.Intracomm) -> RowBlock:
        expect(comm, MPI.Comm, "comm")
        made = np.asarray(rows).view(cls)
        made._comm = comm
        return made

    def __array_finalize__(self, other: Any) -> None:
        comm: Any = getattr(other, "_comm", None)
        self._comm = comm

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a RowBlock is not pickled, since it has the rows of one rank of this run: "
                        "numpy.asarray() of it is")

    @property
    def T(self) -> Any:
        """Its transpose: columns over all ranks, to be multiplied by another block."""
        return self if self.ndim < 2 else _Columns(self)

    def transpose(self, *axes: Any) -> Any:
        if axes not in ((), (None,), (1, 0), ((1, 0),)):
            raise TypeError("transpose() of a RowBlock swaps its rows and columns, and no more")
        return self.T

    def reshape(self, *shape: Any, **options: Any) -> Any:
        made = super().reshape(*shape, **options)
        if made.ndim > 1 and made.shape[0] != self.shape[0]:
            raise TypeError("reshape() of a RowBlock keeps its rows, or makes a vector of it")
        return made

    def dot(self, other: Any) -> Any:  # type: ignore[override]
        return self @ other

    def __getitem__(self, key: Any) -> Any:
        first = key[0] if isinstance(key, tuple) and key else key
        if first is None:
            raise TypeError("a RowBlock has its rows in front: a new axis may follow them")
        # A row of this rank has none of other ranks'.
        return (np.asarray(self)[key] if isinstance(first, (int, np.integer))
                else super().__getitem__(key))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function is np.dot and len(arguments) == 2 and not options:
            return arguments[0] @ arguments[1]
        if function in _PASSED:
            return super().__array_function__(function, types, arguments, options)
        raise TypeError(f"numpy.{function.__name__} of a RowBlock, whose rows are on several ranks:"
                        " numpy.asarray() of it has this rank's")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None,
                        **options: Any) -> Any:
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

    def _elementwise(self, inputs: Any, found: Any, out: Any) -> Any:
        if out is not None:
            return out if len(out) > 1 else out[0]
        if isinstance(found, tuple):
            return tuple(self._elementwise(inputs, one, None) for one in found)
        if found.ndim > max(x.ndim for x in inputs if isinstance(x, RowBlock)):
            raise TypeError("an array of more axes than a RowBlock would move its rows")
        return RowBlock(found, self._comm)

    def _matmul(self, inputs: Any, plain: Any, options: Any) -> Any:
        if (isinstance(inputs[0], RowBlock) and inputs[0].ndim > 1
                and not isinstance(inputs[1], RowBlock)):
            return RowBlock(np.matmul(*plain, **options), self._comm)

        def part() -> Any:
            if not isinstance(inputs[0], RowBlock):
                raise TypeError("an array times a RowBlock would add rows of this rank alone: the "
                                "transpose of a RowBlock adds those of all")
            if inputs[0].ndim != 1 or options or not isinstance(inputs[1], RowBlock):
                raise TypeError("rows of a RowBlock are multiplied by those of a RowBlock: one of "
                                "them is to be transposed, and out is not for it")
            return np.matmul(*plain)

        return _over_ranks(part, self._comm)

    def _reduce(self, ufunc: np.ufunc, x: Any, axis: Any = 0, out: Any = None,
                **options: Any) -> Any:
        if axis is not None and set(np.ravel(axis)) <= {*range(1, x.ndim), *range(1 - x.ndim, 0)}:
            return RowBlock(ufunc.reduce(x, axis, out=out, **options), self._comm)

        def part() -> Any:
            # What methods pass on though nothing is asked for.
            nothing: Any = np
            asked = {k: v for k, v in options.items() if v is not None and v is not nothing._NoValue
                     and not (k == "where" and v is True)}
            if (ufunc not in _ALONG_ROWS or out is not None
                    or not asked.keys() <= {"keepdims", "dtype"}):
                raise TypeError(f"numpy.{ufunc.__name__} along the rows of a RowBlock, which are on"
                                " several ranks: without where, initial and out it may be add, "
                                "maximum or minimum")
            initial = {} if len(x) or ufunc is np.add else {"initial": _extreme(ufunc, x.dtype)}
            return ufunc.reduce(x, axis, **asked, **initial)

        return _over_ranks(part, self._comm, ufunc)


def _refused(name: str) -> Callable[..., Any]:
    def method(self: RowBlock, *arguments: Any, **options: Any) -> Any:
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

    def __init__(self, rows: RowBlock) -> None:
        self.T = rows
        self.shape, self.dtype, self.ndim = rows.shape[::-1], rows.dtype, 2

    def conj(self) -> _Columns:
        return _Columns(self.T.conj())

    conjugate = conj

    def __matmul__(self, other: Any) -> Any:
        def part() -> Any:
            if not isinstance(other, RowBlock):
                raise TypeError("the transpose of a RowBlock is multiplied by a RowBlock")
            return np.asarray(self.T).T @ np.asarray(other)

        return _over_ranks(part, self.T._comm)

    dot = __matmul__

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function is not np.dot or len(arguments) != 2 or options:
            raise TypeError(f"numpy.{function.__name__} of the transpose of a RowBlock")
        return arguments[0] @ arguments[1]


def _by_host(plan: Plan, rows: Any) -> NDArray[Any]:
    """The product with rows of NumPy, also of a plan on GPUs."""
    on_gpu, ordinal = plan.context._on_gpu, plan.context.info.device_ordinal
    try:
        rows = np.ascontiguousarray(rows)
        rows = moved(rows, ordinal) if on_gpu else rows
    except Exception:
        plan._refuse()
        raise
    found = plan.execute(rows)
    made: NDArray[Any] = fetched(found) if on_gpu else found
    return made


class Operator(Handle):
    """A plan as solvers call it, like ``scipy.sparse.linalg.LinearOperator``, on blocks of NumPy:
    those of a plan on GPUs are copied there and back, by CuPy or torch.

    On several ranks it multiplies a `RowBlock` and nothing else: a solver that is given this rank's
    rows as an array would take them for the whole, and find something else on every rank:
    `linear_operator` is for such.

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

    def __init__(self, plan: Plan, adjoint: Optional[Plan] = None) -> None:
        expect(plan, Plan, "plan")
        if adjoint is not None:
            expect(adjoint, Plan, "adjoint")
        rows = plan.layout.B.local_rows
        if not np.array_equal(plan.layout.B.global_row, plan.layout.C.global_row):
            raise ValueError("the matrix is not square, or its columns live elsewhere than its "
                             "rows")
        self.plan, self.adjoint = plan, adjoint
        self.shape, self.dtype = (rows, rows), np.dtype(plan._b_type)

    def _facts(self) -> Dict[str, Any]:
        return {"shape": self.shape, "dtype": self.dtype.name, "plan": self.plan}

    @property
    def _context(self) -> Optional[Context]:  # type: ignore[override]
        return self.plan.context if hasattr(self, "plan") else None

    def _apply(self, plan: Plan, X: Any) -> Any:
        context = plan.context
        try:
            if context.size > 1 and not isinstance(X, RowBlock):
                raise TypeError(f"X is a {type(X).__name__}, which has no more than this rank's "
                                "rows for a solver: use spmm_dist.scipy.linear_operator or "
                                "spmm_dist.scipy.lobpcg, or give a RowBlock")
            if np.asarray(X).dtype.kind == "c" and self.dtype.kind != "c":
                raise TypeError("X is complex, but the plan multiplies real blocks")
            rows = np.ascontiguousarray(X, self.dtype)
        except Exception:
            plan._refuse()
            raise
        found = _by_host(plan, rows)
        return RowBlock(found, context.comm) if isinstance(X, RowBlock) else found

    def matmat(self, X: Any) -> Any:
        """``A X``, a `RowBlock` of one.  Collective."""
        return self._apply(self.plan, X)

    def rmatmat(self, X: Any) -> Any:
        """The conjugate transpose of A times X."""
        if self.adjoint is None:
            raise ValueError("give the plan with op='h' as adjoint")
        return self._apply(self.adjoint, X)

    matvec = dot = __matmul__ = __call__ = matmat
    rmatvec = rmatmat


class _Replicated(scipy.sparse.linalg.LinearOperator):  # type: ignore[misc]
    """See `linear_operator`."""

    def __init__(self, plan: Plan, adjoint: Optional[Plan]) -> None:
        layout = plan.layout
        parts = plan.context.comm.allgather(layout.C.global_row)
        columns = plan.matrix.shape[plan.op == "n"]
        super().__init__(np.dtype(plan.dtype), (sum(len(part) for part in parts), columns))
        self.plan, self._adjoint_plan = plan, adjoint
        self._from, self._counts = layout.B.global_row, [len(part) for part in parts]
        self._to = np.concatenate(parts)

    def _all_rows(self, part: NDArray[Any]) -> NDArray[Any]:
        """The rows of all ranks, in order.  Collective."""
        row = MPI.BYTE.Create_contiguous(part.shape[1] * part.itemsize).Commit()
        every = np.empty((len(self._to), part.shape[1]), part.dtype)
        starts = np.cumsum([0, *self._counts[:-1]])
        self.plan.context.comm.Allgatherv([np.ascontiguousarray(part), len(part), row],
                                          [every, (self._counts, starts), row])
        row.Free()
        made = np.empty_like(every)
        made[self._to] = every
        return made

    def _matmat(self, X: Any) -> NDArray[Any]:
        failed, words, plan = None, "", self.plan
        try:
            plan._pointer
            X = np.asarray(X)
            if X.dtype.kind not in "biufc":
                raise TypeError(f"X holds {X.dtype}, no numbers")
            split = X.dtype.kind == "c" and self.dtype.kind != "c"  # one product for each part
            X = np.ascontiguousarray(np.hstack([X.real, X.imag]) if split else X, self.dtype)
            words = (f"object {plan._number}, {X.shape[1]} columns with checksum "
                     f"{zlib.crc32(X.data)}: give all ranks the same, start "
                     "vectors too")
        except Exception as error:
            failed = error
        agree(plan.context.comm, f"linear_operator of {words}", failed)
        parts = [_by_host(plan, X[self._from, first:first + plan.n])
                 for first in range(0, X.shape[1], plan.n)]
        none = np.empty((self._counts[plan.context.rank], 0), self.dtype)
        found = self._all_rows(np.hstack([none, *parts]))
        half = found.shape[1] // 2
        return found[:, :half] + 1j * found[:, half:] if split else found

    def _adjoint(self) -> _Replicated:
        plan = self.plan
        if self._adjoint_plan is None:
            if plan.op == "t" and plan.matrix.dtype.startswith("complex"):
                raise ValueError("the adjoint of a transpose is a conjugate, which no plan "
                                 "multiplies by")
            if plan._own_values:
                raise ValueError("the plan has values of its own: give linear_operator() the plan "
                                 "of its adjoint with the same")
            self._adjoint_plan = plan.matrix.plan(
                plan.n, op="h" if plan.op == "n" else "n", b_type=plan.dtype)
        return _Replicated(self._adjoint_plan, plan)

    def __repr__(self) -> str:
        return f"<spmm_dist.scipy.linear_operator: shape={self.shape}, plan={self.plan!r}>"


def _told(name: str) -> Callable[..., Any]:
    """A method of SciPy: what that refuses before there is a product is refused on all ranks."""
    def method(self: _Replicated, x: Any) -> Any:
        met = meetings[0]
        try:
            return getattr(super(_Replicated, self), name)(x)
        except Exception as error:
            if meetings[0] == met:
                agree(self.plan.context.comm, name, error)
            raise

    return method


for _name in ("matvec", "rmatvec", "matmat", "rmatmat", "dot", "__matmul__"):
    setattr(_Replicated, _name, _told(_name))


@collective()
def linear_operator(plan: Plan, adjoint: Optional[Plan] = None) -> Generator[str, None, Any]:
    """A plan as SciPy's own solvers take it: they run on every rank, on whole vectors.  Collective,
    as every product of it.

    Each rank multiplies its rows, and gets those of all others, so that all ranks have the same
    bits.  A complex vector is multiplied by a real matrix in two parts.  Blocks may have any number
    of columns: the plan takes as many at a time as it has.

    Parameters
    ----------
    plan : Plan
        Of any shape, op and partition.
    adjoint : Plan, optional
        For `rmatvec` and `rmatmat`.  Default: made when it is first asked for.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        On vectors of NumPy, which are the same on all ranks: where they differ, in a random start
        vector for example, every rank raises an `ArgumentError`.
    """
    expect(plan, Plan, "plan")._pointer
    if adjoint is not None:
        expect(adjoint, Plan, "adjoint")._pointer
    np.dtype(plan.dtype)  # NumPy has no bfloat16
    yield f"of object {plan._number}, adjoint {adjoint and adjoint._number}"
    return _Replicated(plan, adjoint)


@collective()
def lobpcg(plan: Plan, X: Any, B: Second = None, M: Second = None, Y: Any = None,
           tol: Optional[float] = None, maxiter: Optional[int] = None, largest: bool = True,
           verbosityLevel: int = 0, retLambdaHistory: bool = False,
           retResidualNormsHistory: bool = False,
           restartControl: Optional[int] = None) -> Generator[str, None, Any]:
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
    maxiter, largest, verbosityLevel, retLambdaHistory, retResidualNormsHistory, restartControl
        As SciPy's; None: its default.

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
    options = {"maxiter": maxiter, "largest": bool(largest), "retLambdaHistory": retLambdaHistory,
               "retResidualNormsHistory": retResidualNormsHistory}
    if restartControl is not None:  # which SciPy has since 1.9
        options["restartControl"] = restartControl

    def wrapped(given: Second) -> Any:
        if given is None:
            return None
        if not callable(given):
            return Operator(given)

        def preconditioned(block: Any) -> Any:
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

# SPDX-License-Identifier: Apache-2.0
"""Graphs for training, as far as the examples need them."""
from __future__ import annotations

from typing import Any, Generator, Mapping, Tuple, Union

import numpy as np

from ._collective import collective, expect
from ._matrix import Matrix

Rows = Tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]


def _rows_of_square(A: Matrix) -> Rows:
    if expect(A, Matrix, "A").shape[0] != A.shape[1]:
        raise ValueError(f"the matrix has {A.shape[0]} rows and {A.shape[1]} columns: it needs as "
                         "many")
    if A.dtype == "bfloat16":
        raise TypeError("NumPy has no bfloat16")
    return A.csr()


@collective()
def repartitioned(A: Matrix, partition: str = "metis", *, imbalance: float = 0.0,
                  tuning: Union[str, Mapping[str, Any]] = "measure=no") -> Generator[
                      str, None, Tuple[Rows, np.ndarray[Any, Any]]]:
    """A square matrix with its rows where a partition wants them, renumbered so that each rank
    again has consecutive rows.  Collective.

    Plans of the result keep rows where they are, so that blocks need not be moved and values can
    be replaced.

    Parameters
    ----------
    A : Matrix
        Square; not of type bfloat16.
    partition, imbalance, tuning
        As of `Plan`.

    Returns
    -------
    rows : tuple
        ``(indptr, indices, data)`` of this rank, for `Matrix.from_csr`
    order : numpy.ndarray
        the row of A that each of them was
    """
    indptr, indices, data = _rows_of_square(A)
    ctx = A.context
    yield f"of object {A._number}"
    with A.plan(1, partition=partition, imbalance=imbalance, tuning=tuning) as plan:
        order = plan.layout.C.global_row
    every = ctx.comm.allgather(order)
    owner, number = np.empty(A.shape[0], np.int64), np.empty(A.shape[0], np.int64)
    number[np.concatenate(every)] = np.arange(A.shape[0])
    for rank, rows in enumerate(every):
        owner[rows] = rank
    lengths, first = np.diff(indptr), A.info.first_row
    to = owner[first:first + len(lengths)]
    entry_to = np.repeat(to, lengths)
    # Senders have ascending rows and ascending ranks, as the receiver's order is.
    came = ctx.comm.alltoall([(lengths[to == rank], indices[entry_to == rank],
                               data[entry_to == rank]) for rank in range(ctx.size)])
    lengths, indices, data = (np.concatenate(parts) for parts in zip(*came))
    return (np.concatenate([[0], np.cumsum(lengths)]), number[indices], data), order


@collective()
def normalised(A: Matrix) -> Generator[str, None, Matrix]:
    """``D^-1/2 (A + I) D^-1/2`` of the pattern of a square matrix, the adjacency of a GCN (Kipf and
    Welling 2017), whose rows keep their ranks.  Collective.

    Parameters
    ----------
    A : Matrix
        Square; not of type bfloat16.  Its values are not used; D has the entries in each row of
        A + I.

    Returns
    -------
    Matrix
        of the same type
    """
    indptr, indices, data = _rows_of_square(A)
    yield f"of object {A._number}"
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) + A.info.first_row
    own = np.arange(A.info.local_rows) + A.info.first_row
    keep = rows != indices
    rows, indices = np.r_[rows[keep], own], np.r_[indices[keep], own]
    sort = np.lexsort((indices, rows))
    rows, indices = rows[sort], indices[sort]
    counts = np.bincount(rows - A.info.first_row, minlength=A.info.local_rows)
    weights = 1 / np.sqrt(np.concatenate(A.context.comm.allgather(counts)))
    return Matrix.from_csr(A.context, (np.r_[0, np.cumsum(counts)], indices,
                                       (weights[rows] * weights[indices]).astype(data.dtype)))

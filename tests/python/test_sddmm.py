# SPDX-License-Identifier: Apache-2.0
"""SDDMM and softmax of rows against NumPy."""
import numpy as np
import pytest
from conftest import WORLD, assert_close, dense, gathered, sparse_rows
from mpi4py import MPI

from spmm_dist import ArgumentError, Matrix


@pytest.mark.parametrize("seed", range(24))
def test_random(ctx, seed):
    rng, own = np.random.default_rng(seed), np.random.default_rng([seed, WORLD.rank])
    dtype = str(rng.choice(["float64", "float32", "float16"]))
    options = {"kernel": str(rng.choice(["auto", "csr"])), "transport": str(
        rng.choice(["auto", "mpi-host"]))}
    s_type = dtype
    if dtype == "float16" and rng.integers(2):
        s_type = options["s_type"] = "float32"
    k, rows, columns = int(rng.integers(1, 9)), int(own.integers(0, 20)), int(own.integers(0, 20))
    given = sparse_rows(own, rows, WORLD.allreduce(columns), dtype)
    mask = Matrix.from_csr(ctx, given, local_cols=columns)
    scores = mask.sddmm(k, **options)
    gap = 2 * (WORLD.allreduce(rows, MPI.MIN) > 0)  # an array without rows has no strides
    X = dense(own, (rows, k + gap), dtype)[:, gap // 2:k + gap // 2]
    Y = dense(own, (columns, k), dtype)
    S = scores.execute(X, Y)
    at = np.repeat(np.arange(rows), np.diff(given[0])), given[1]
    expected = np.sum(X.astype("f8")[at[0]] * gathered(Y)[at[1]], 1)
    terms = np.sum(abs(X.astype("f8")[at[0]]) * abs(gathered(Y)[at[1]]), 1)
    assert S.dtype == s_type
    assert_close(S, expected, terms, dtype)
    before = S.astype("f8")
    assert scores.execute(X, Y, S, -0.5, 2.0) is S
    assert_close(S, 2 * before - 0.5 * expected, 2 * abs(before) + 0.5 * terms, dtype)
    P = scores.softmax(S, scale=0.25)
    assert P.dtype == dtype
    weights = np.exp(0.25 * S.astype("f8"))
    sums = np.zeros(rows)
    np.add.at(sums, at[0], weights)
    assert np.allclose(P, weights / sums[at[0]], rtol=4e-3 if dtype == "float16" else 1e-6)
    assert scores.info.kernel == "csr" and scores.info.device_bytes >= 0
    scores.close()
    mask.close()


def test_refused(ctx):
    mask = Matrix.generate(ctx, "stencil5:nx=5,ny=5")
    scores = mask.sddmm(3)
    X = np.ones((mask.info.local_rows, 3))
    for arguments, error, sentence in [
            ((X.astype("f4"), X), TypeError, "X holds float32, but the mask float64"),
            ((X, X[:-1]), ValueError, "Y has shape"),
            ((X, X.tolist()), TypeError, "Y is a list"),
            ((np.asfortranarray(X), X), ValueError, "X of shape"),
            ((X, X, np.ones(3)), ValueError, "S has 3 elements"),
            ((X, X, np.ones(mask.info.local_nnz, "f4")), TypeError, "S holds float32"),
            ((X, X, None, 1.0, 1.0), ValueError, "there is no S"),
            ((X, X, None, 1j), TypeError, "complex"),
            ((np.repeat(X, 2, 1), np.repeat(X, 2, 1)), ArgumentError, "k is 6")]:
        with pytest.raises(error, match=sentence):
            scores.execute(*arguments)
    with pytest.raises(TypeError, match="S is a NoneType"):
        scores.softmax(None)
    with pytest.raises(ArgumentError, match="0 columns"):
        mask.sddmm(0)
    assert scores.execute(X, X)[0] == 3

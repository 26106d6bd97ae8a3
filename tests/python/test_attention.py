# SPDX-License-Identifier: Apache-2.0
"""Attention against NumPy, its gradients against dense torch."""
import numpy as np
import pytest
from conftest import WORLD, dense, gathered, sparse_rows, whole

from spmm_dist import ArgumentError, Matrix, UnsupportedError


def reference(pattern, Q, K, V, heads, scale):
    """O and lse of rows of Q against all of K and V; pattern, rows x all columns, is true at
    entries."""
    k = Q.shape[1] // heads
    out, lse = np.zeros(Q.shape), np.full((len(Q), heads), -np.inf)
    for h in range(heads):
        at = slice(h * k, h * k + k)
        scores = np.where(pattern, scale * Q[:, at].astype("f8") @ K[:, at].T, -np.inf)
        some = pattern.any(1)
        most = scores[some].max(1, keepdims=True)
        weights = np.exp(scores[some] - most)
        sums = weights.sum(1, keepdims=True)
        out[some, at] = weights / sums @ V[:, at]
        lse[some, h] = (most + np.log(sums))[:, 0]
    return out, lse


@pytest.mark.parametrize("dtype, kernel, heads, k", [
    ("float64", "auto", 2, 5), ("float32", "rows", 1, 8), ("float16", "windows", 3, 16)])
def test_values(ctx, dtype, kernel, heads, k):
    own = np.random.default_rng([1, WORLD.rank])
    rows, columns = int(own.integers(1, 20)), int(own.integers(1, 20))
    given = sparse_rows(own, rows, WORLD.allreduce(columns), dtype)
    mask = Matrix.from_csr(ctx, given, local_cols=columns)
    plan = mask.attention(heads, k, kernel=kernel)
    Q = dense(own, (rows, heads * k), dtype)
    K, V = (dense(own, (columns, heads * k), dtype) for _ in range(2))
    O, lse = plan.execute(Q, K, V, 0.7)
    pattern = np.zeros((rows, WORLD.allreduce(columns)), bool)
    pattern[np.repeat(np.arange(rows), np.diff(given[0])), given[1]] = True
    expected, logs = reference(pattern, Q, gathered(K), gathered(V), heads, 0.7)
    assert O.dtype == dtype and lse.shape == (rows, heads)
    bound = {"float64": 1e-12, "float32": 1e-5, "float16": 5e-3}[dtype]
    assert np.allclose(O, expected, atol=bound)
    assert np.allclose(lse, logs, rtol=0, atol=1e-12 if dtype == "float64" else 1e-4)
    assert plan.info.kernel == ("windows" if kernel == "windows" else "rows")
    with pytest.raises(ValueError, match="K has shape"):
        plan.execute(Q, K[:, :-1], V)
    with pytest.raises(TypeError, match="V holds"):
        plan.execute(Q, K, V.astype("f4" if dtype == "float64" else "f8"))
    with pytest.raises((UnsupportedError, ArgumentError)):
        plan.gradients(Q, K, V, O, lse, O)
    assert np.array_equal(plan.execute(Q, K, V, 0.7)[0], O)
    plan.close()
    mask.close()


def test_gradients(ctx):
    torch = pytest.importorskip("torch")
    from spmm_dist.torch import attention

    rng = np.random.default_rng([2, WORLD.rank])
    rows, heads, k = 5 + WORLD.rank, 2, 3
    total = WORLD.allreduce(rows)
    first = WORLD.exscan(rows) or 0
    given = sparse_rows(rng, rows, total, "float64", 0.4)
    mask = Matrix.from_csr(ctx, given)
    plan = mask.attention(heads, k, backward=True)
    mine = [torch.from_numpy(dense(rng, (rows, heads * k), "float64")).requires_grad_()
            for _ in range(3)]
    weight = torch.from_numpy(dense(rng, (rows, heads * k), "float64"))
    (attention(plan, *mine) * weight).sum().backward()

    every = [torch.from_numpy(gathered(x.detach().numpy())).requires_grad_() for x in mine]
    ones = given[0], given[1], np.ones(len(given[1]))
    pattern = torch.from_numpy(whole(ones, total)) > 0
    parts = []
    for h in range(heads):
        q, key, v = (x[:, h * k:h * k + k] for x in every)
        scores = (q @ key.T / k**0.5).masked_fill(~pattern, -float("inf"))
        parts.append(torch.nan_to_num(torch.softmax(scores, 1)) @ v)
    (torch.cat(parts, 1) * torch.from_numpy(gathered(weight.numpy()))).sum().backward()
    for got, want in zip(mine, every):
        assert torch.allclose(got.grad, torch.nan_to_num(want.grad)[first:first + rows], atol=1e-12)
    plan.close()
    mask.close()

# SPDX-License-Identifier: Apache-2.0
"""Autograd: values and gradients against dense torch, and by finite differences on one rank."""
import copy
import pickle

import numpy as np
import pytest
from conftest import WORLD, dense, sparse_rows, whole

from spmm_dist import ArgumentError, Matrix, UnsupportedError

torch = pytest.importorskip("torch")
from gradients import gradcheck  # noqa: E402
from spmm_dist.sparse_dataset import normalised, repartitioned  # noqa: E402
from spmm_dist.torch import (  # noqa: E402
    Graph, attention, sddmm, sparse_softmax, spmm, sum_over_ranks)


def gather(x):
    return torch.cat(WORLD.allgather(x.detach()))


@pytest.fixture(scope="module")
def setting(ctx):
    """A graph, its pattern as (row, column) of all entries, and where this rank's begin."""
    rng = np.random.default_rng(ctx.rank)
    rows = 6 + ctx.rank
    columns = ctx.comm.allreduce(rows)
    given = sparse_rows(rng, rows, columns, "float64", 0.4)
    A = Matrix.from_csr(ctx, given)
    first = A.info.first_row
    at = np.repeat(np.arange(rows), np.diff(given[0])) + first, given[1]
    pattern = [torch.from_numpy(np.concatenate(ctx.comm.allgather(x))) for x in at]
    return A, given, pattern


def dense_of(pattern, values, n):
    return torch.zeros(n, n, dtype=values.dtype).index_put(tuple(pattern), values)


def own(x, A):
    return x[A.info.first_row:A.info.first_row + A.info.local_rows]


def own_entries(x, A):
    first = WORLD.exscan(A.info.local_nnz) or 0
    return x[first:first + A.info.local_nnz]


@pytest.mark.parametrize("n", [1, 5])
def test_gradients(setting, n):
    """Of a sum over all ranks of spmm(softmax(sddmm)) with respect to everything."""
    A, given, pattern = setting
    graph, rng = Graph(A, 5), np.random.default_rng([7, WORLD.rank])
    leaves = [torch.from_numpy(dense(rng, (A.info.local_rows, k), "float64")).requires_grad_()
              for k in (3, 3, n)]
    weight = torch.from_numpy(dense(rng, (A.info.local_rows, n), "float64"))
    X, Y, B = leaves
    P = sparse_softmax(graph, sddmm(graph, X, Y), 0.5)
    C = spmm(graph, B, P)
    (C * weight).sum().backward()

    whole_leaves = [gather(x).requires_grad_() for x in leaves]
    size = A.shape[0]
    everywhere = dense_of(pattern, torch.ones(len(pattern[0]), dtype=torch.float64), size) > 0
    S = 0.5 * whole_leaves[0] @ whole_leaves[1].T
    weights = torch.softmax(S.masked_fill(~everywhere, -np.inf), 1).masked_fill(~everywhere, 0)
    weights = torch.where(everywhere.any(1, keepdim=True), weights, torch.zeros_like(weights))
    expected = torch.nan_to_num(weights) @ whole_leaves[2]
    (expected * gather(weight)).sum().backward()
    assert torch.allclose(C, own(expected, A))
    assert torch.allclose(P, own_entries(weights[tuple(pattern)], A))
    for found, reference in zip(leaves, whole_leaves):
        assert torch.allclose(found.grad, own(torch.nan_to_num(reference.grad), A), atol=1e-12)


def test_own_values(setting):
    """Products with the matrix's values; given ones replace them, and that is said."""
    A, given, pattern = setting
    graph = Graph(A, 2, values=False)
    B = torch.from_numpy(dense(np.random.default_rng(WORLD.rank), (A.info.local_rows, 2),
                               "float64")).requires_grad_()
    full = torch.from_numpy(whole(given, A.shape[1]))
    C = spmm(graph, B)
    C.sum().backward()
    assert torch.allclose(C, own(full @ gather(B), A))
    assert torch.allclose(B.grad, own(full.T @ torch.ones(A.shape[0], 2, dtype=torch.float64), A))
    with pytest.raises(UnsupportedError, match="values=True"):
        sddmm(graph, B, B)
    spmm(graph, B.detach(), torch.ones(A.info.local_nnz, dtype=torch.float64))
    with pytest.raises(ValueError, match="give values each time"):
        spmm(graph, B)
    with pytest.raises(ValueError, match="partition of a Graph is 'keep'"):
        Graph(A, 2, partition="metis")


def stale(case, A, graph, x, values):
    """A product whose gradient would take what is no more, and how that changes."""
    if case in ("update_values", "other values"):
        C = spmm(graph, x)
        return C, lambda: (A.update_values(3 * A.csr()[2]) if case == "update_values" else
                           spmm(graph, x.detach(), values))
    if case == "values":
        return spmm(graph, x, values), lambda: values.detach().mul_(2)
    y = 2 * x  # no leaf, which may not be changed in place
    if case == "B":
        given = values.clone().requires_grad_()
        return spmm(graph, y, given), lambda: y.detach().mul_(2)
    if case == "sddmm":
        return sddmm(graph, x, y), lambda: y.detach().mul_(2)
    C = attention(A.attention(1, 2, backward=True), x, y, x)
    return C, lambda: (y if case == "attention" else C).detach().mul_(2)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("case", ["update_values", "other values", "values", "B", "sddmm",
                                  "attention", "attention's result"])
def test_stale_gradients(setting, case, everywhere):
    """What changes between a product and its gradient is refused, on all ranks where on one."""
    A, given, pattern = setting
    if not everywhere and (WORLD.size == 1 or case in ("update_values", "other values")):
        pytest.skip("all ranks do it")
    A = Matrix.from_csr(A.context, given)
    graph, last = Graph(A, 2), WORLD.size - 1
    values = torch.ones(A.info.local_nnz, dtype=torch.float64)
    x = torch.ones(A.info.local_rows, 2, dtype=torch.float64, requires_grad=True)
    C, change = stale(case, A, graph, x, values)
    if everywhere or WORLD.rank == last:
        change()
    if everywhere or WORLD.rank == last:
        with pytest.raises(RuntimeError, match="new values|modified by an inplace operation"):
            C.sum().backward()
    else:
        with pytest.raises(ArgumentError, match=f"rank {last}"):
            C.sum().backward()
    x.grad = None  # and what is made anew is right
    weight = torch.rand(A.info.local_nnz, dtype=torch.float64)
    spmm(graph, x, weight).sum().backward()
    full = dense_of(pattern, torch.cat(WORLD.allgather(weight)), A.shape[0])
    assert torch.allclose(x.grad, own(full.T @ torch.ones(A.shape[0], 2, dtype=torch.float64), A))


def test_kept_values(setting):
    """A gradient of values that were given takes those, whatever the matrix has then."""
    A, given, pattern = setting
    A = Matrix.from_csr(A.context, given)
    graph = Graph(A, 2)
    values = torch.rand(A.info.local_nnz, dtype=torch.float64)
    x = torch.ones(A.info.local_rows, 2, dtype=torch.float64, requires_grad=True)
    C = spmm(graph, x, values)
    A.update_values(given[2])
    C.sum().backward()
    full = dense_of(pattern, torch.cat(WORLD.allgather(values)), A.shape[0])
    assert torch.allclose(x.grad, own(full.T @ torch.ones(A.shape[0], 2, dtype=torch.float64), A))
    own_values = Graph(A, 2)  # B is not taken by a gradient of B, and may change
    y = 2 * x
    C = spmm(own_values, y)
    y.detach().mul_(0)
    C.sum().backward()


def test_no_copies(setting):
    graph = Graph(setting[0], 2)
    assert copy.copy(graph) is graph
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a Graph is neither copied nor pickled"):
            copied(graph)


def test_gradcheck(setting):
    A, _, _ = setting
    graph, entries, rows = Graph(A, 3), A.info.local_nnz, A.info.local_rows

    def random(*shape):
        return torch.rand(*shape, dtype=torch.float64)

    assert gradcheck(lambda v, b: spmm(graph, b, v), random(entries), random(rows, 3))
    assert gradcheck(lambda x, y: sddmm(graph, x, y), random(rows, 2), random(rows, 2))
    assert gradcheck(lambda s: sparse_softmax(graph, s, 0.7), random(entries))
    own_values = Graph(A, 3)
    assert gradcheck(lambda b: spmm(own_values, b), random(rows, 3))


def test_complex(ctx):
    """The gradient of a complex product is that of its conjugate transpose."""
    rng = np.random.default_rng(ctx.rank)
    given = sparse_rows(rng, 5, 5 * ctx.size, "complex128", 0.5)
    A = Matrix.from_csr(ctx, given)
    B = torch.from_numpy(dense(rng, (5, 2), "complex128")).requires_grad_()
    spmm(Graph(A, 2), B).abs().sum().backward()
    other = gather(B).requires_grad_()
    (torch.from_numpy(whole(given, A.shape[1])) @ other).abs().sum().backward()
    assert torch.allclose(B.grad, own(other.grad, A))


def test_vector(ctx):
    """A sum of a vector has a gradient whose elements are one number in memory."""
    A = Matrix.generate(ctx, "uniform:rows=30,cols=30,degree=4")
    x = torch.ones(A.info.local_cols, dtype=torch.float64, requires_grad=True)
    spmm(Graph(A, 1), x).sum().backward()
    assert np.allclose(gather(x.grad), whole(A.csr(), 30).sum(0))


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "complex64"])
def test_tensors(ctx, name):
    """Tensors of every type as matrix and blocks."""
    dtype, rows = getattr(torch, name), 6
    n = rows * ctx.size
    torch.manual_seed(1)
    full = (torch.rand(n, n) * (torch.rand(n, n) < 0.5)).to(dtype)
    part = full[rows * ctx.rank:rows * (ctx.rank + 1)]
    A = Matrix.from_csr(ctx, part.to_sparse_csr() if name not in ("float16", "bfloat16") else (
        torch.cumsum(torch.cat([torch.zeros(1), (part != 0).sum(1)]), 0).long(),
        part.nonzero()[:, 1], part[part != 0]))
    assert A.dtype == name
    B = torch.rand(n, 3).to(dtype)
    C = A.plan(3) @ B[rows * ctx.rank:rows * (ctx.rank + 1)]
    wide = torch.complex128 if name == "complex64" else torch.float64
    expected = part.to(wide) @ B.to(wide)
    assert C.dtype == dtype and torch.allclose(C.to(wide), expected, rtol=2e-2 if name[-2:] == "16"
                                               else 1e-5)
    by_columns = A.plan(3, layout="col")
    lies = B.T.contiguous().T[rows * ctx.rank:rows * (ctx.rank + 1)]
    D = by_columns @ lies
    assert torch.equal(D, C) or torch.allclose(D.to(wide), expected, rtol=2e-2)
    assert D.stride(0) == 1


def test_refused(ctx):
    A = Matrix.generate(ctx, "stencil5:nx=5,ny=5")
    plan, rows = A.plan(2), A.info.local_cols
    ones = torch.ones(rows, 2, dtype=torch.float64)
    for B, sentence in ((ones.clone().requires_grad_(), "spmm_dist.torch"),
                        (ones.to_sparse(), "sparse tensor"), (ones.int(), "holds int32"),
                        (ones.bool(), "torch.bool"), (ones.to("meta"), "device meta"),
                        (torch.complex(ones, ones).conj(), "lazy conjugate"),
                        (ones.float(), "B holds float32")):
        with pytest.raises(TypeError, match=sentence):
            plan.execute(B)
    with torch.no_grad():
        plan.execute(ones.clone().requires_grad_())
    plan.resync()


def test_capture_is_refused(monkeypatch):
    """As far as a machine without GPUs can tell."""
    from spmm_dist import _arrays

    seen = _arrays.View(0, (1, 1), (1, 1), "float32", True, True, "torch")
    monkeypatch.setattr(torch.cuda, "current_stream",
                        lambda device: type("S", (), {"cuda_stream": 5})())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(UnsupportedError, match="graph=True"):
        _arrays.stream_of(None, seen)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert _arrays.stream_of(None, seen) == 5


def test_dataset(ctx):
    """Renumbered rows are the same matrix; the weights of a GCN by their formula."""
    A = Matrix.generate(ctx, "rmat:scale=6,degree=4", "float64", 3)
    full = whole(A.csr(), 64)
    rows, order = repartitioned(A, "metis" if ctx.size > 1 else "block")
    every = np.concatenate(ctx.comm.allgather(order))
    assert sorted(every) == list(range(64))
    assert np.array_equal(whole(rows, 64), full[np.ix_(every, every)])
    weights = whole(normalised(A).csr(), 64)
    loops = ((full != 0) | np.eye(64, dtype=bool)).astype(float)
    scale = 1 / np.sqrt(loops.sum(1))
    assert np.allclose(weights, scale[:, None] * loops * scale)
    wide = Matrix.from_csr(ctx, (np.arange(2), np.ones(1, "i8"), np.ones(1)), local_cols=2)
    for refuses in repartitioned, normalised:
        with pytest.raises(ValueError, match="needs as many"):
            refuses(wide)


def test_sum_over_ranks(ctx):
    a, b = torch.full((2, 3), 1.0 + ctx.rank), torch.arange(4.0)
    sum_over_ranks(ctx.comm, [a, b])
    assert torch.equal(a, torch.full((2, 3), sum(1.0 + r for r in range(ctx.size))))
    assert torch.equal(b, torch.arange(4.0) * ctx.size)

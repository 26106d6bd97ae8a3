# SPDX-License-Identifier: Apache-2.0
"""What one rank alone gets wrong is an exception on every rank: its own there, elsewhere one that
names it.  Nobody waits: a watchdog ends what does."""
import faulthandler
import sys
import types

import numpy as np
import pytest
import scipy.sparse
from conftest import WORLD

from spmm_dist import Attention, Context, Matrix, Plan, Sddmm, SpmmError
from spmm_dist.scipy import Operator, RowBlock, linear_operator, lobpcg
from spmm_dist.sparse_dataset import normalised, repartitioned

try:
    import torch

    from spmm_dist import torch as autograd
except ImportError:
    torch = None

pytestmark = pytest.mark.skipif(WORLD.size != 2, reason="takes two ranks, and time")
SIDE = 6
COLUMNS = SIDE * SIDE
EYE = scipy.sparse.identity(COLUMNS, format="csr")


@pytest.fixture(autouse=True)
def watchdog():
    faulthandler.dump_traceback_later(20, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def s(ctx):
    """What the calls take: w(wrong, right) is the wrong one on the rank that is wrong."""
    made = types.SimpleNamespace(ctx=ctx, A=Matrix.generate(ctx, f"stencil5:nx={SIDE},ny={SIDE}"))
    made.rows, made.entries = made.A.info.local_rows, made.A.info.local_nnz
    made.csr = made.A.csr()
    made.sparse = scipy.sparse.csr_matrix((made.csr[2], made.csr[1], made.csr[0]),
                                          (made.rows, COLUMNS))
    made.plan, made.moved = made.A.plan(4), made.A.plan(4, partition="block")
    made.linear = linear_operator(made.plan)
    made.scores = made.A.sddmm(4)
    made.heads = made.A.attention(2, 2, backward=True)
    made.B = np.random.default_rng(ctx.rank).random((made.rows, 4))
    made.out = made.heads.execute(made.B, made.B, made.B)
    made.X = RowBlock(made.B.copy(), WORLD)
    made.graph = torch and autograd.Graph(made.A, 4)
    made.T = torch and torch.from_numpy(made.B)
    made.ones = torch and torch.ones(made.entries, dtype=torch.float64)
    yield made
    made.plan.resync()


def blocks(s, w, **wrong):
    """Blocks of two rows by one column, of which this rank has one."""
    given = {"block_ptr": np.array([0, 1]), "col_idx": np.array([0]), "values": np.ones(2),
             "vector": 2, "n_rows": 2}
    return Matrix.from_blocks(s.ctx, **w({**given, **wrong}, given))


def failing(w):
    """Where the rank that is wrong is the one that has the matrix."""
    return WORLD.allreduce(w(WORLD.rank, 0))


def raises(block):
    raise KeyError("a preconditioner that fails")


def asks(T):
    return T.clone().requires_grad_()


CALLS = {
    "device": lambda s, w: Context(device=w("gpu", "cpu")),
    "device-none": lambda s, w: Context(device=w(None, "cpu")),
    "comm": lambda s, w: Context(comm=w(7, None), device="cpu"),
    "comm-text": lambda s, w: Context(comm=w("world", WORLD), device="cpu"),
    "cuda-device": lambda s, w: Context(device="cpu", cuda_device=w("x", None)),
    "log": lambda s, w: Context(device="cpu", log=w(5, None)),
    "timeout-text": lambda s, w: Context(device="cpu", timeout_s=w("x", 0.0)),
    "timeout-nan": lambda s, w: Context(device="cpu", timeout_s=w(float("nan"), 0.0)),
    "timeout": lambda s, w: Context(device="cpu", timeout_s=w(-1.0, 0.0)),
    "nccl-ctas": lambda s, w: Context(device="cpu", nccl_ctas=w(2**40, 0)),
    "check": lambda s, w: Context(device="cpu", check=w(False, True)),
    "context-keyword": lambda s, w: Context(**w({"devise": "cpu"}, {"device": "cpu"})),

    "rows-none": lambda s, w: Matrix.from_csr(s.ctx, w(None, s.csr)),
    "rows-coo": lambda s, w: Matrix.from_csr(s.ctx, w(s.sparse.tocoo(), s.sparse)),
    "rows-csc": lambda s, w: Matrix.from_csr(s.ctx, w(s.sparse.tocsc(), s.sparse)),
    "rows-dense": lambda s, w: Matrix.from_csr(s.ctx, w(s.sparse.toarray(), s.sparse)),
    "rows-two": lambda s, w: Matrix.from_csr(s.ctx, w(s.csr[:2], s.csr)),
    "rows-keyword": lambda s, w: Matrix.from_csr(s.ctx, s.csr, **w({"local_columns": 3}, {})),
    "rows-missing": lambda s, w: Matrix.from_csr(*w((s.ctx,), (s.ctx, s.csr))),
    "rows-context": lambda s, w: Matrix.from_csr(w(None, s.ctx), s.csr),
    "rows-columns": lambda s, w: Matrix.from_csr(s.ctx, scipy.sparse.csr_matrix(
        (s.csr[2], s.csr[1], s.csr[0]), (s.rows, w(COLUMNS + 1, COLUMNS)))),
    "indptr": lambda s, w: Matrix.from_csr(s.ctx, (w(None, s.csr[0]), *s.csr[1:])),
    "indptr-end": lambda s, w: Matrix.from_csr(s.ctx, (w(s.csr[0] + 1, s.csr[0]), *s.csr[1:])),
    "indices": lambda s, w: Matrix.from_csr(
        s.ctx, (s.csr[0], w(s.csr[1] + 10**6, s.csr[1]), s.csr[2])),
    "index-type": lambda s, w: Matrix.from_csr(
        s.ctx, (*w([x.astype("i4") for x in s.csr[:2]], s.csr[:2]), s.csr[2])),
    "data-type": lambda s, w: Matrix.from_csr(
        s.ctx, (*s.csr[:2], w(s.csr[2].astype("f4"), s.csr[2]))),
    "data-integers": lambda s, w: Matrix.from_csr(
        s.ctx, (*s.csr[:2], w(s.csr[2].astype("i8"), s.csr[2]))),
    "data-short": lambda s, w: Matrix.from_csr(s.ctx, (*s.csr[:2], w(s.csr[2][1:], s.csr[2]))),
    "local-cols-alone": lambda s, w: Matrix.from_csr(s.ctx, s.sparse, local_cols=w(s.rows, None)),
    "local-cols-left": lambda s, w: Matrix.from_csr(s.ctx, s.csr, local_cols=w(None, s.rows)),
    "local-cols-text": lambda s, w: Matrix.from_csr(s.ctx, s.csr, local_cols=w("x", s.rows)),
    "local-cols-part": lambda s, w: Matrix.from_csr(s.ctx, s.csr, local_cols=w(2.5, s.rows)),
    "local-cols-below": lambda s, w: Matrix.from_csr(s.ctx, s.csr, local_cols=w(-1, s.rows)),
    "local-cols-huge": lambda s, w: Matrix.from_csr(s.ctx, s.csr, local_cols=w(2**70, s.rows)),

    "scipy": lambda s, w: Matrix.from_scipy(s.ctx, w(None, EYE)),
    "scipy-dense": lambda s, w: Matrix.from_scipy(s.ctx, w(EYE.toarray(), EYE)),
    "scipy-type": lambda s, w: Matrix.from_scipy(s.ctx, w(EYE.astype("i8"), EYE)),
    "scipy-other": lambda s, w: Matrix.from_scipy(s.ctx, w(2 * EYE, EYE)),
    "scipy-shape": lambda s, w: Matrix.from_scipy(s.ctx, w(EYE[1:], EYE)),
    "scipy-root": lambda s, w: Matrix.from_scipy(s.ctx, EYE, root=w(None, 0)),
    "scipy-root-other": lambda s, w: Matrix.from_scipy(s.ctx, EYE, root=w(1, 0)),
    "scipy-root-text": lambda s, w: Matrix.from_scipy(s.ctx, EYE, root=w("x", 0)),
    "scipy-root-alone": lambda s, w: Matrix.from_scipy(s.ctx, w(None, EYE), root=failing(w)),
    "scipy-context": lambda s, w: Matrix.from_scipy(w(WORLD, s.ctx), EYE),

    "blocks-vector": lambda s, w: blocks(s, w, vector=3),
    "blocks-none": lambda s, w: blocks(s, w, vector=0),
    "blocks-text": lambda s, w: blocks(s, w, vector="x"),
    "blocks-rows": lambda s, w: blocks(s, w, n_rows=None),
    "blocks-columns": lambda s, w: blocks(s, w, col_idx=None),
    "blocks-values": lambda s, w: blocks(s, w, values=np.ones(3)),
    "blocks-pointer": lambda s, w: blocks(s, w, block_ptr=[0, 1]),
    "blocks-local-cols": lambda s, w: blocks(s, w, local_cols="x"),

    "path": lambda s, w: Matrix.read(s.ctx, w(None, "/no/such.mtx")),
    "path-type": lambda s, w: Matrix.read(s.ctx, "/no/such.mtx", w("int8", "float64")),
    "path-seed": lambda s, w: Matrix.read(s.ctx, "/no/such.mtx", seed=w("x", 0)),
    "spec": lambda s, w: Matrix.generate(s.ctx, w(5, "stencil5:nx=4,ny=4")),
    "spec-nul": lambda s, w: Matrix.generate(
        s.ctx, w("stencil5:nx=4,ny=4\0", "stencil5:nx=4,ny=4")),
    "spec-kind": lambda s, w: Matrix.generate(s.ctx, w("nix", "stencil5:nx=4,ny=4")),
    "spec-seed": lambda s, w: Matrix.generate(s.ctx, "stencil5:nx=4,ny=4", seed=w(-1, 0)),
    "spec-seed-huge": lambda s, w: Matrix.generate(s.ctx, "stencil5:nx=4,ny=4", seed=w(2**70, 0)),
    "write": lambda s, w: s.A.write(w(5, "/no/such.csr")),
    "write-format": lambda s, w: s.A.write("/no/such.csr", w(7, "csr")),
    "values": lambda s, w: s.A.update_values(w(None, s.csr[2])),
    "values-short": lambda s, w: s.A.update_values(w(s.csr[2][1:], s.csr[2])),
    "values-type": lambda s, w: s.A.update_values(w(s.csr[2].astype("f4"), s.csr[2])),
    "values-missing": lambda s, w: s.A.update_values(*w((), (s.csr[2],))),

    "n-text": lambda s, w: s.A.plan(w("4", 4)),
    "n-none": lambda s, w: s.A.plan(w(None, 4)),
    "n-zero": lambda s, w: s.A.plan(w(0, 4)),
    "n-part": lambda s, w: s.A.plan(w(2.5, 4)),
    "n-array": lambda s, w: s.A.plan(w(np.arange(3), 4)),
    "n-huge": lambda s, w: s.A.plan(w(2**70, 4)),
    "n-missing": lambda s, w: s.A.plan(*w((), (4,))),
    "op": lambda s, w: s.A.plan(4, op=w("q", "n")),
    "op-list": lambda s, w: s.A.plan(4, op=w(["n"], "n")),
    "layout": lambda s, w: s.A.plan(4, layout=w("C", "row")),
    "engine": lambda s, w: s.A.plan(4, engine=w(3, "auto")),
    "engine-name": lambda s, w: s.A.plan(4, engine=w("fastest", "auto")),
    "partition": lambda s, w: s.A.plan(4, partition=w(b"\0", "keep")),
    "halo-type": lambda s, w: s.A.plan(4, halo_type=w(object(), "auto")),
    "imbalance": lambda s, w: s.A.plan(4, imbalance=w("x", 0.0)),
    "tuning": lambda s, w: s.A.plan(4, tuning=w({"seed": -1}, {"seed": 0})),
    "tuning-type": lambda s, w: s.A.plan(4, tuning=w(7, "")),
    "profile": lambda s, w: s.A.plan(4, profile=w(np.ones(2), False)),
    "plan-keyword": lambda s, w: s.A.plan(4, **w({"executs": 5}, {})),
    "plan-matrix": lambda s, w: Plan(w(None, s.A), 4),
    "resync": lambda s, w: s.plan.resync(*w((1,), ())),
    "halo": lambda s, w: s.plan.halo(*w((1,), ())),
    "plot": lambda s, w: s.plan.plot(*w((1,), ())),
    "write-partition": lambda s, w: s.moved.write_partition(w(5, "/no/such")),

    "operand": lambda s, w: s.moved.scatter(w("X", "B"), s.B),
    "operand-other": lambda s, w: s.moved.scatter(w("C", "B"), s.B),
    "scatter": lambda s, w: s.moved.scatter("B", w(None, s.B)),
    "scatter-type": lambda s, w: s.moved.scatter("B", w(s.B.astype("f4"), s.B)),
    "gather": lambda s, w: s.moved.gather("C", s.moved.scatter("C", s.B), w([1.0], None)),
    "gather-stream": lambda s, w: s.moved.gather("C", s.moved.scatter("C", s.B), None,
                                                 w("x", None)),

    "product": lambda s, w: s.A @ w(None, s.B),
    "product-type": lambda s, w: s.A @ w(s.B.astype("f4"), s.B),
    "product-complex": lambda s, w: s.A @ w(s.B * 1j, s.B),
    "product-width": lambda s, w: s.A @ w(s.B[:, :2], s.B),
    "product-vector": lambda s, w: s.A @ w(s.B[:, 0], s.B),
    "product-short": lambda s, w: s.A @ w(s.B[1:], s.B),
    "product-op": lambda s, w: w(s.A.T, s.A) @ s.B,
    "product-once": lambda s, w: s.A.H @ w(s.B[:, :3], np.ones((s.rows, 7))),
    "plot-path": lambda s, w: s.plan.plot(w(5, "/no/such.svg")),
    "plot-paths": lambda s, w: s.plan.plot(w("/no/other.svg", "/no/such.svg")),

    "B-none": lambda s, w: s.plan @ w(None, s.B),
    "B-list": lambda s, w: s.plan @ w(s.B.tolist(), s.B),
    "B-type": lambda s, w: s.plan @ w(s.B.astype("f4"), s.B),
    "B-short": lambda s, w: s.plan @ w(s.B[1:], s.B),
    "B-wide": lambda s, w: s.plan @ w(np.repeat(s.B, 2, 1), s.B),
    "B-narrow": lambda s, w: s.plan @ w(s.B[:, :3].copy(), s.B),
    "B-columns": lambda s, w: s.plan @ w(np.asfortranarray(s.B), s.B),
    "B-missing": lambda s, w: s.plan.execute(*w((), (s.B,))),
    "C-list": lambda s, w: s.plan.execute(s.B, w([1.0], None)),
    "C-shape": lambda s, w: s.plan.execute(s.B, w(np.ones((2, 2)), None)),
    "C-overlaps": lambda s, w: s.plan.execute(s.B, w(s.B, np.ones_like(s.B))),
    "alpha": lambda s, w: s.plan.execute(s.B, alpha=w("x", 1.0)),
    "alpha-complex": lambda s, w: s.plan.execute(s.B, alpha=w(1j, 1.0)),
    "beta": lambda s, w: s.plan.execute(s.B, w(None, np.ones_like(s.B)), beta=1.0),
    "stream": lambda s, w: s.plan.execute(s.B, stream=w("x", None)),
    "stream-huge": lambda s, w: s.plan.execute(s.B, stream=w(2**80, None)),
    "execute-keyword": lambda s, w: s.plan.execute(s.B, **w({"gamma": 1.0}, {})),

    "k": lambda s, w: s.A.sddmm(w("x", 4)),
    "k-zero": lambda s, w: s.A.sddmm(w(0, 4)),
    "kernel": lambda s, w: s.A.sddmm(4, kernel=w(5, "auto")),
    "s-type": lambda s, w: s.A.sddmm(4, s_type=w("int8", "auto")),
    "mask": lambda s, w: Sddmm(w(s.B, s.A), 4),
    "X-none": lambda s, w: s.scores.execute(w(None, s.B), s.B),
    "Y-short": lambda s, w: s.scores.execute(s.B, w(s.B[1:], s.B)),
    "S-list": lambda s, w: s.scores.execute(s.B, s.B, w([1.0], None)),
    "sddmm-alpha": lambda s, w: s.scores.execute(s.B, s.B, alpha=w("x", 1.0)),

    "heads": lambda s, w: s.A.attention(w("x", 2), 2),
    "heads-k": lambda s, w: s.A.attention(2, w(None, 2)),
    "attention-kernel": lambda s, w: s.A.attention(2, 2, kernel=w("nix", "auto")),
    "attention-mask": lambda s, w: Attention(w(None, s.A), 2, 2),
    "Q-none": lambda s, w: s.heads.execute(w(None, s.B), s.B, s.B),
    "V-type": lambda s, w: s.heads.execute(s.B, s.B, w(s.B.astype("f4"), s.B)),
    "scale": lambda s, w: s.heads.execute(s.B, s.B, s.B, w("x", None)),
    "lse": lambda s, w: s.heads.gradients(s.B, s.B, s.B, s.out[0], w(s.B, s.out[1]), s.B),
    "dO": lambda s, w: s.heads.gradients(s.B, s.B, s.B, *s.out, w(None, s.B)),

    "lobpcg": lambda s, w: lobpcg(w(None, s.plan), s.B[:, :1]),
    "lobpcg-X": lambda s, w: lobpcg(s.plan, w(None, s.B[:, :1])),
    "lobpcg-X-short": lambda s, w: lobpcg(s.plan, w(s.B[1:, :1], s.B[:, :1])),
    "lobpcg-X-columns": lambda s, w: lobpcg(s.plan, s.B[:, :w(2, 1)]),
    "lobpcg-keyword": lambda s, w: lobpcg(s.plan, s.B[:, :1], **w({"iterations": 3}, {})),
    "lobpcg-maxiter": lambda s, w: lobpcg(s.plan, s.B[:, :1], maxiter=w("x", 3)),
    "lobpcg-B": lambda s, w: lobpcg(s.plan, s.B[:, :1], B=w(5, None)),
    "lobpcg-M": lambda s, w: lobpcg(s.plan, s.B[:, :1], M=w(raises, lambda X: X)),
    "lobpcg-M-shape": lambda s, w: lobpcg(s.plan, s.B[:, :1], M=w(lambda X: X[1:], lambda X: X)),
    "lobpcg-Y": lambda s, w: lobpcg(s.plan, s.B[:, :1], Y=w(s.B[1:, 1:2], s.B[:, 1:2])),
    "operator": lambda s, w: Operator(s.plan) @ w(s.B, s.X),
    "operator-complex": lambda s, w: Operator(s.plan) @ w(s.X * 1j, s.X),
    "operator-text": lambda s, w: Operator(s.plan) @ w("x", s.X),
    "linear-plan": lambda s, w: linear_operator(w(None, s.plan)),
    "linear-adjoint": lambda s, w: linear_operator(s.plan, w(5, None)),
    "linear-x": lambda s, w: s.linear @ w(None, np.ones(COLUMNS)),
    "linear-text": lambda s, w: s.linear.matmat(w("x", np.ones((COLUMNS, 1)))),
    "linear-letters": lambda s, w: s.linear @ w(np.full(COLUMNS, "x"), np.ones(COLUMNS)),
    "linear-shape": lambda s, w: s.linear.matvec(np.ones(w(3, COLUMNS))),
    "linear-adjoint-shape": lambda s, w: s.linear.rmatmat(np.ones((w(3, COLUMNS), 2))),
    "linear-adjoint-vector": lambda s, w: s.linear.rmatvec(np.ones(w(3, COLUMNS))),
    "linear-scalar": lambda s, w: s.linear @ w(5, np.ones(COLUMNS)),
    "linear-other": lambda s, w: s.linear @ (w(2, 1) * np.ones(COLUMNS)),
    "linear-wide": lambda s, w: s.linear @ np.ones((COLUMNS, w(5, 4))),
    "inner-columns": lambda s, w: s.X.T @ s.X[:, :w(3, 4)],
    "inner-array": lambda s, w: s.X.T @ w(s.B, s.X),
    "inner-first": lambda s, w: w(s.B.T, s.X.T) @ s.X,
    "inner-rows": lambda s, w: s.X.T @ w(s.X[1:], s.X),
    "inner-vectors": lambda s, w: s.X[:, 0] @ w(s.X[1:, 1], s.X[:, 1]),
    "inner-vector": lambda s, w: s.X[:, 0] @ w(s.B[:, 1], s.X[:, 1]),
    "sum-where": lambda s, w: s.X.sum(**w({"where": s.B > 0.5}, {"axis": 0})),
    "sum-dtype": lambda s, w: s.X.sum(axis=0, dtype=w("f4", "f8")),
    "sum-axis": lambda s, w: np.sum(s.X, w(5, 0)),
    "sum-text": lambda s, w: s.X.sum(axis=0, dtype=w("x", "f8")),
    "max": lambda s, w: (s.X.max if w(True, False) else s.X.min)(axis=0),

    "repartitioned": lambda s, w: repartitioned(w(None, s.A), "block"),
    "repartitioned-by": lambda s, w: repartitioned(s.A, w(5, "block")),
    "normalised": lambda s, w: normalised(w(s.csr, s.A)),
}
OF_TORCH = {
    "rows-torch-coo": lambda s, w: Matrix.from_csr(s.ctx, w(
        torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr())),
    "rows-torch-dense": lambda s, w: Matrix.from_csr(s.ctx, w(
        torch.eye(2), torch.eye(2).to_sparse_csr())),
    "graph-layout": lambda s, w: autograd.Graph(s.A, 4, **w({"layout": "col"}, {})),
    "graph-n": lambda s, w: autograd.Graph(s.A, w("x", 4)),
    "graph-matrix": lambda s, w: autograd.Graph(w(None, s.A), 4),
    "graph-values": lambda s, w: autograd.Graph(s.A, 4, values=w(False, True)),
    "graph-keyword": lambda s, w: autograd.Graph(s.A, 4, **w({"executs": 4}, {})),
    "spmm-graph": lambda s, w: autograd.spmm(w(s.A, s.graph), s.T),
    "spmm-none": lambda s, w: autograd.spmm(s.graph, w(None, s.T)),
    "spmm-array": lambda s, w: autograd.spmm(s.graph, w(s.B, s.T)),
    "spmm-type": lambda s, w: autograd.spmm(s.graph, w(s.T.float(), s.T)),
    "spmm-short": lambda s, w: autograd.spmm(s.graph, w(s.T[1:], s.T)),
    "spmm-missing": lambda s, w: autograd.spmm(*w((s.graph,), (s.graph, s.T))),
    "spmm-grad": lambda s, w: autograd.spmm(s.graph, w(asks(s.T), s.T)),
    "spmm-values": lambda s, w: autograd.spmm(s.graph, s.T, w(s.ones[1:], s.ones)),
    "spmm-values-type": lambda s, w: autograd.spmm(s.graph, s.T, w(5, s.ones)),
    "spmm-values-alone": lambda s, w: autograd.spmm(s.graph, s.T, w(None, s.ones)),
    "sddmm-type": lambda s, w: autograd.sddmm(s.graph, w(s.T.float(), s.T), s.T),
    "sddmm-short": lambda s, w: autograd.sddmm(s.graph, s.T, w(s.T[1:], s.T)),
    "attention-plan": lambda s, w: autograd.attention(w(s.plan, s.heads), s.T, s.T, s.T),
    "attention-type": lambda s, w: autograd.attention(s.heads, s.T, s.T, w(s.T.int(), s.T)),
    "attention-scale": lambda s, w: autograd.attention(s.heads, s.T, s.T, s.T, w("x", None)),
    "sums": lambda s, w: autograd.sum_over_ranks(WORLD, [w(s.T[:1], s.T[:2])]),
    "sums-comm": lambda s, w: autograd.sum_over_ranks(w(None, WORLD), [torch.ones(2)]),
    "sums-none": lambda s, w: autograd.sum_over_ranks(WORLD, w(None, [torch.ones(2)])),
    "sums-type": lambda s, w: autograd.sum_over_ranks(WORLD, [torch.ones(
        2, dtype=w(torch.float64, torch.float32))]),
}


@pytest.mark.parametrize("name", [*CALLS, *OF_TORCH])
def test_one_rank_is_wrong(s, name):
    if name in OF_TORCH and torch is None:
        pytest.skip("takes torch")
    call = CALLS[name] if name in CALLS else OF_TORCH[name]
    for rank in (0, WORLD.size - 1):
        with pytest.raises(Exception) as caught:
            call(s, lambda wrong, right: wrong if WORLD.rank == rank else right)
        if WORLD.rank != rank:
            assert isinstance(caught.value, (SpmmError, TypeError)), caught.value
            assert f"rank {rank}" in str(caught.value)
    for _ in range(2):  # all ranks go on, in step
        assert np.array_equal(s.plan @ s.B, s.plan @ s.B)

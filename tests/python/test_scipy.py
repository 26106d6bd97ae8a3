# SPDX-License-Identifier: Apache-2.0
"""Blocks whose inner products run over the ranks, and SciPy's LOBPCG on them."""
import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from conftest import BOUNDS, WORLD, dense, gathered

from spmm_dist import ArgumentError, Context, Matrix
from spmm_dist.scipy import Operator, RowBlock, linear_operator, lobpcg


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_row_block(dtype):
    """Whatever is defined equals what NumPy makes of all rows; ranks have the same bits."""
    rng = np.random.default_rng(WORLD.rank)
    rows = 0 if WORLD.rank == 1 else 5 + WORLD.rank
    x, y, small = dense(rng, (rows, 4), dtype), dense(rng, (rows, 3), dtype), np.arange(12.0)
    small = small.reshape(4, 3)
    X, Y = RowBlock(x, WORLD), RowBlock(y, WORLD)
    all_x, all_y = gathered(x), gathered(y)
    assert np.allclose(X.T @ Y, all_x.T @ all_y) and np.allclose(X.T.dot(Y), all_x.T @ all_y)
    assert np.allclose(np.dot(X.T.conj(), Y), all_x.conj().T @ all_y)
    assert np.allclose(X.sum(axis=0), all_x.sum(0)) and np.allclose(np.sum(X), all_x.sum())
    assert np.allclose(np.sum(X.conj() * X, 0), (abs(all_x)**2).sum(0))
    assert np.allclose(X[:, 0] @ X[:, 1], all_x[:, 0] @ all_x[:, 1])
    assert np.shape(X[:, 0] @ X[:, 1]) == np.shape(X.sum()) == np.shape(X.max()) == ()
    assert np.allclose(X.ravel() @ X.reshape(-1), (all_x * all_x).sum())
    assert np.array_equal(X.max(axis=0), all_x.max(0)) and np.min(X) == all_x.min()
    if dtype == "float64":
        whole_numbers = (X * 9).astype(int), (all_x * 9).astype(int)
        assert np.array_equal(whole_numbers[0].max(0), whole_numbers[1].max(0))
        assert whole_numbers[0].min() == whole_numbers[1].min() and not (X > 2).max()
    local = (2 * X + 1) / X.sum(axis=0) @ small
    assert isinstance(local, RowBlock)
    assert np.allclose(np.asarray(local), (2 * x + 1) / all_x.sum(0) @ small)
    sums = np.empty(rows, dtype)
    X.sum(axis=1, out=sums)
    assert np.allclose(sums, x.sum(1))
    assert np.allclose(np.asarray(X.sum(axis=1)), x.sum(1)) and X[:, [True, False, False,
                                                                      True]].shape == (rows, 2)
    if rows:
        assert type(X[1]) is np.ndarray and X[1].sum() == x[1].sum() and X[1, 2] == x[1, 2]
    if dtype == "float64":
        fraction, integer = np.modf(X)
        assert isinstance(fraction, RowBlock) and np.array_equal(np.asarray(integer), np.trunc(x))
    total = X.T @ Y
    assert all(other == total.tobytes() for other in WORLD.allgather(total.tobytes()))
    X -= X @ np.eye(4)
    assert not np.asarray(X).any()


def test_row_block_refuses():
    """What would pass this rank's rows off as the whole."""
    X, v = RowBlock(np.ones((4, 2)), WORLD), RowBlock(np.ones(2), WORLD)
    where, out = np.eye(4, 2) > 0, np.empty((2, 2))
    for name in ("mean", "var", "std", "argmax", "argmin", "argsort", "sort", "nonzero", "trace",
                 "diagonal"):
        with pytest.raises(TypeError, match=rf"{name}\(\) of a RowBlock"):
            getattr(X, name)()
    for call in (lambda: X.sum(where=where), lambda: np.sum(X, where=where),
                 lambda: X.sum(initial=1.0), lambda: np.max(X, initial=9.0),
                 lambda: np.dot(X.T, X, out), lambda: np.matmul(v, v, np.empty(())),
                 lambda: v + np.ones((2, 1)), lambda: X[None], lambda: X.reshape(2, 4),
                 lambda: X.transpose(0, 1), lambda: X.swapaxes(0, 1)):
        with pytest.raises(TypeError, match="RowBlock"):
            call()
    for call in (lambda: X @ X, lambda: np.ones((3, 4)) @ X, lambda: np.linalg.norm(X),
                 lambda: np.einsum("ij,ij->j", X, X), lambda: np.mean(X), lambda: X.prod(axis=0),
                 lambda: np.cumsum(X), lambda: X.T @ np.ones((4, 2)), lambda: np.linalg.qr(X),
                 lambda: np.add.accumulate(X)):
        with pytest.raises(TypeError, match="RowBlock|RowBlock's|NumPy"):
            call()


def shifted(ctx, dtype="float64"):
    """A Hermitian matrix: this rank's rows, and the whole."""
    n = 40 * ctx.size
    rng = np.random.default_rng(3)
    low = scipy.sparse.random(n, n, 0.02, random_state=rng, format="csr").astype(dtype)
    if dtype[0] == "c":
        low = low * (1 + 2j)
    whole = (low + low.conj().T + scipy.sparse.diags(np.arange(n) / 4)).tocsr()
    first = 40 * ctx.rank
    return whole[first:first + 40], whole


@pytest.mark.parametrize("dtype, largest", [("float64", False), ("complex128", True)])
def test_lobpcg(ctx, dtype, largest):
    rows, whole = shifted(ctx, dtype)
    with Matrix.from_csr(ctx, rows) as A:
        guess = dense(np.random.default_rng(1), (whole.shape[0], 5), dtype)
        first = A.info.first_row
        values, X = lobpcg(A.plan(5), guess[first:first + 40], largest=largest, tol=1e-8,
                           maxiter=300)
    exact = np.linalg.eigvalsh(whole.toarray())
    exact = exact[::-1] if largest else exact
    assert np.allclose(values[:4], exact[:4], atol=1e-9)
    vectors = gathered(X)
    assert np.allclose(whole @ vectors[:, :4], vectors[:, :4] * values[:4], atol=1e-5)
    assert np.allclose(vectors.conj().T @ vectors, np.eye(5), atol=1e-8)


def test_lobpcg_generalised(ctx):
    """With a second matrix, a preconditioner and constraints."""
    rows, whole = shifted(ctx)
    n, first = whole.shape[0], 40 * ctx.rank
    own = slice(first, first + 40)
    weight, diagonal = 1 + np.arange(n) / n, whole.diagonal() + 8
    A = Matrix.from_csr(ctx, rows)
    B = Matrix.from_csr(ctx, scipy.sparse.diags(weight).tocsr()[own])
    exact, vectors = scipy.linalg.eigh(whole.toarray(), np.diag(weight))
    guess = dense(np.random.default_rng(1), (n, 4), "float64")
    values, _ = lobpcg(A.plan(4), guess[own], B.plan(4), lambda X: X / diagonal[own, None],
                       vectors[own, :2], tol=1e-8, maxiter=300, largest=False)
    assert np.allclose(values[:3], exact[2:5], atol=1e-9)


def test_operator(ctx):
    rows, whole = shifted(ctx)
    A = Matrix.from_csr(ctx, rows)
    operator = Operator(A.plan(2), A.plan(2, op="h"))
    x = dense(np.random.default_rng(ctx.rank), (40, 2), "float64")
    first = A.info.first_row
    for call in (operator.matmat, operator.rmatmat, operator):
        assert np.allclose(np.asarray(call(RowBlock(x, WORLD))),
                           (whole @ gathered(x))[first:first + 40])
    with pytest.raises(ValueError, match="as adjoint"):
        Operator(A.plan(2)).rmatmat(RowBlock(x, WORLD))
    with pytest.raises(ArgumentError if ctx.rank == 0 and ctx.size > 1 else ValueError,
                       match="five times"):
        # One rank has too few: all say so.
        few = Matrix.from_csr(ctx, (np.zeros((4 if ctx.rank == ctx.size - 1 else 90) + 1, "i8"),
                                    np.empty(0, "i8"), np.empty(0)))
        lobpcg(few.plan(3), np.ones((few.info.local_rows, 3)))


SOLVERS = {
    "lobpcg-plan": lambda plan, X: scipy.sparse.linalg.lobpcg(plan, X, maxiter=2),
    "lobpcg-blocks": lambda plan, X: scipy.sparse.linalg.lobpcg(plan, RowBlock(X, WORLD),
                                                                maxiter=2),
    "lobpcg": lambda plan, X: scipy.sparse.linalg.lobpcg(Operator(plan), X, maxiter=2),
    "eigsh": lambda plan, X: scipy.sparse.linalg.eigsh(Operator(plan), 2),
    "cg": lambda plan, X: scipy.sparse.linalg.cg(Operator(plan), X[:, 0]),
    "aslinearoperator": lambda plan, X: scipy.sparse.linalg.aslinearoperator(Operator(plan)) @ X,
    "matmat": lambda plan, X: scipy.sparse.linalg.LinearOperator(
        (len(X), len(X)), plan.execute, matmat=plan.__matmul__, dtype=X.dtype) @ X,
    "matvec": lambda plan, X: scipy.sparse.linalg.LinearOperator(
        (len(X), len(X)), plan.execute, dtype=X.dtype) @ X[:, 0],
    "matrix": lambda plan, X: scipy.sparse.linalg.lobpcg(plan.matrix, X, maxiter=2),
    "transpose": lambda plan, X: scipy.sparse.linalg.lobpcg(plan.matrix.T, X, maxiter=2),
    "operator": lambda plan, X: Operator(plan) @ X,
    "operator-dot": lambda plan, X: Operator(plan).dot(X),
}


@pytest.mark.filterwarnings("ignore")  # of what two iterations do not reach
@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_of_one_rank(ctx, name):
    """On several ranks SciPy's own would find something else on each."""
    rows, whole = shifted(ctx)
    A = Matrix.from_csr(ctx, rows)
    plan = A.plan(2)
    X = dense(np.random.default_rng(ctx.rank), (40, 2), "float64")
    if ctx.size == 1:
        if name != "lobpcg-blocks":  # a plan makes arrays, which are not to be mixed with RowBlocks
            SOLVERS[name](plan, X)
    else:
        with pytest.raises(TypeError, match=r"spmm_dist\.scipy\.lobpcg"):
            SOLVERS[name](plan, X)
    expected = (whole @ gathered(X))[A.info.first_row:][:40]
    assert np.allclose(plan @ X, expected) and np.allclose(plan.execute(X), expected)


def alike(x):
    """Has every rank the same bits?"""
    return len(set(WORLD.allgather(np.ascontiguousarray(x).tobytes()))) == 1


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("partition", ["keep", "metis"])
@pytest.mark.parametrize("op", ["n", "t", "h"])
def test_linear_operator(ctx, dtype, partition, op):
    """Whole vectors on every rank, as SciPy's own operator of the whole matrix has them."""
    rng, square = np.random.default_rng(5), partition != "keep"  # partitions are of square ones
    rows, columns = (30, 30) if square else (30, 47)
    S = scipy.sparse.random(rows, columns, 0.2, "csr", dtype="float64", random_state=rng)
    S = (S * (1 - 2j) if dtype[0] == "c" else S).astype(dtype)
    with Matrix.from_scipy(ctx, S) as A:
        plan = A.plan(3, op=op, partition=partition)
        given = linear_operator(plan)
        wide = "complex128" if dtype[0] == "c" else "float64"
        full = S.toarray().astype(wide)
        full = {"n": full, "t": full.T, "h": full.conj().T}[op]
        assert given.shape == full.shape and given.dtype == np.dtype(dtype)
        assert "shape=" in repr(given) and "spmm_dist.Plan" in repr(given)
        for matrix, multiply in ((full, lambda x: given @ x),
                                 (full.conj().T, lambda x: given.H @ x)):
            if matrix is not full and op == "t" and dtype[0] == "c":
                with pytest.raises(ValueError, match="adjoint of a transpose"):
                    given.H
                continue
            for kind in (dtype, "complex128", "int64"):
                for shape in ((matrix.shape[1],), (matrix.shape[1], 1), (matrix.shape[1], 8)):
                    x = rng.integers(-9, 9, shape) if kind == "int64" else dense(rng, shape, kind)
                    y = multiply(x)
                    assert y.shape == (len(matrix), *shape[1:]) and alike(y)
                    assert np.all(abs(y - matrix @ x) <= BOUNDS[dtype] * 2 * (
                        abs(matrix) @ abs(x)) + 1e-300)
        if op == "n":
            x = dense(rng, rows, dtype)
            assert np.allclose(given.rmatvec(x), full.conj().T @ x, rtol=1e-5)
            assert np.allclose(given.rmatmat(x[:, None]), full.conj().T @ x[:, None], rtol=1e-5)
            assert np.allclose((2 * given + given) @ np.ones(columns), 3 * full.sum(1), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_solvers_on_linear_operator(ctx, dtype):
    """SciPy's, on every rank: what they find of the whole matrix, in the same bits."""
    _, whole = shifted(ctx, dtype)
    n, rng = whole.shape[0], np.random.default_rng(2)
    exact = np.linalg.eigvalsh(whole.toarray())
    with Matrix.from_scipy(ctx, whole) as A:
        found = linear_operator(A.plan(1))
        values = scipy.sparse.linalg.eigsh(found, 3, which="LA", v0=np.ones(n, dtype),
                                           return_eigenvectors=False)
        assert np.allclose(np.sort(values), exact[-3:], atol=1e-9) and alike(values)
        values, X = scipy.sparse.linalg.lobpcg(
            linear_operator(A.plan(4)), dense(rng, (n, 4), dtype), tol=1e-8, maxiter=300)
        assert np.allclose(np.sort(values)[1:], exact[-3:], atol=1e-8) and alike(X)
        b = dense(rng, n, "complex128")
        more = scipy.sparse.linalg.aslinearoperator(scipy.sparse.eye(n) * 12)
        x, failed = scipy.sparse.linalg.gmres(found + more, b, atol=1e-9, restart=n)
        assert not failed and np.allclose(whole @ x + 12 * x, b, atol=1e-3) and alike(x)
        values = scipy.sparse.linalg.svds(found, 2, v0=np.ones(n, dtype),
                                          return_singular_vectors=False)
        assert np.allclose(np.sort(values), np.sort(abs(exact))[-2:], atol=1e-8)
    rectangle = scipy.sparse.random(3 * n, n, 0.1, "csr", dtype="float64",
                                    random_state=np.random.default_rng(6)).astype(dtype)
    rectangle += scipy.sparse.eye(3 * n, n)
    b = dense(rng, 3 * n, dtype)
    with Matrix.from_scipy(ctx, rectangle) as A:
        x = scipy.sparse.linalg.lsqr(linear_operator(A.plan(1)), b, atol=1e-13, btol=1e-13)[0]
    assert np.allclose(x, np.linalg.lstsq(rectangle.toarray(), b, rcond=None)[0], atol=1e-7)


def test_linear_operator_refuses(ctx):
    A = Matrix.generate(ctx, "stencil5:nx=4,ny=4")
    plan = A.plan(2)
    found = linear_operator(plan)
    for wrong in ("x", None):
        with pytest.raises((TypeError, ValueError)):
            found @ wrong
    with pytest.raises(TypeError, match="plan is a Matrix"):
        linear_operator(A)
    if ctx.size > 1:
        with pytest.raises(ArgumentError, match="call different things.*start vectors too"):
            found @ np.full(16, ctx.rank)
    with Context(device="cpu", check=False) as loose:  # compares vectors all the same
        other = linear_operator(Matrix.generate(loose, "stencil5:nx=4,ny=4").plan(1))
        if ctx.size > 1:
            with pytest.raises(ArgumentError, match="checksum"):
                other @ np.full(16, ctx.rank)
        assert np.array_equal(other @ np.ones(16), found @ np.ones(16))
    other_transposed = found.rmatvec(np.ones(16))
    found = linear_operator(plan)
    plan.update_values(np.ones(A.info.local_nnz))
    with pytest.raises(ValueError, match="values of its own"):
        found.H
    assert np.array_equal(linear_operator(plan, A.plan(1, op="t")).rmatvec(np.ones(16)),
                          other_transposed)
    plan.close()
    with pytest.raises(ArgumentError, match="the plan is closed"):
        found @ np.ones(16)


def test_no_copies(ctx):
    operator = Operator(Matrix.generate(ctx, "stencil5:nx=4,ny=4").plan(1))
    for copied in (operator, RowBlock(np.ones(3), WORLD)):
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(copied)

# SPDX-License-Identifier: Apache-2.0
"""Random products with every option against NumPy in FP64."""
import numpy as np
import pytest
import scipy.sparse
from conftest import WORLD, assert_close, dense, gathered, mine, sparse_rows, whole
from mpi4py import MPI

from spmm_dist import ArgumentError, Matrix, UnsupportedError, components
from spmm_dist.scipy import Operator

CASES, TESTS = 300, 15
PARTITIONS = ["keep", "keep", "block", "auto"] + [
    c.name for c in components("partitioner") if c.built and c.name in ("metis", "ptscotch")]
COMPLEX = {"float64": "complex128", "float32": "complex64"}


def encode(tuning):
    """A dict as the text that C takes."""
    return ",".join(f"{k}={'yes' if v is True else 'no' if v is False else v}"
                    for k, v in tuning.items())


def options_of(rng, dtype):
    """Random options, the same on all ranks, and the types of B and C."""
    pick = rng.choice
    options = {
        "op": str(pick(["n", "t", "h"])), "layout": str(pick(["row", "col"])),
        "partition": str(pick(PARTITIONS)), "imbalance": float(pick([0.0, 1.1])),
        "transport": str(pick(["auto", "mpi-host"])), "engine": str(pick(["auto", "csr-cpu"])),
        "compute": str(pick(["auto", "64f" if dtype in ("float64", "complex128") else "32f"])),
        "executes": int(pick([0, 5])),
        "deterministic": bool(pick([0, 1])), "profile": bool(pick([0, 1])),
        "exact_nonfinite": bool(pick([0, 1])), "graph": False}
    schedules = ["auto", "overlap"]
    if options["op"] == "n" and options["layout"] == "row":
        schedules.append("merged")
    tuning = {"order": str(pick(["auto", "none", "affinity", "sorted"])),
              "schedule": str(pick(schedules)), "chunks": str(pick(["auto", 1, 2, 4])),
              "seed": int(rng.integers(100)), "measure": bool(pick([0, 1]))}
    if tuning["schedule"] == "merged":
        tuning["chunks"] = "auto"
    if options["partition"] == "metis":
        tuning["objective"] = str(pick(["vol", "cut"]))
    options["tuning"] = tuning if pick([0, 1]) else encode(tuning)
    of_b = of_c = dtype
    if dtype in COMPLEX and options["layout"] == "row" and pick([0, 0, 1]):
        of_b = of_c = options["b_type"] = COMPLEX[dtype]
    if dtype == "float16" and pick([0, 1]):
        of_c = options["c_type"] = "float32"
    return options, of_b, of_c


def rows_as(rng, kind, rows, columns):
    indptr, indices, data = rows
    if kind == "scipy":
        return scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, columns))
    if kind == "int32":
        return indptr.astype(np.int32), indices.astype(np.int32), data
    return rows


def block(rng, rows, columns, dtype, layout, gap):
    """A random block of which rows or columns are further apart than they are long."""
    if layout == "row":
        return dense(rng, (rows, columns + gap), dtype)[:, :columns]
    return dense(rng, (columns, rows + gap), dtype).T[:rows]


def check_case(ctx, seed):
    rng, own = np.random.default_rng(seed), np.random.default_rng([seed, WORLD.rank])
    dtype = str(rng.choice(["float64", "float32", "float16", "complex128", "complex64"]))
    options, of_b, of_c = options_of(rng, dtype)
    square = bool(rng.integers(2))
    rows = int(own.integers(0, 25))
    columns = rows if square else int(own.integers(0, 25))
    all_columns = WORLD.allreduce(columns)
    n, used = int(rng.integers(1, 12)), 0
    kind = str(rng.choice(["tuple", "int32"] + ["scipy"] * (dtype != "float16")))
    given = sparse_rows(own, rows, all_columns, dtype, float(rng.choice([0.0, 0.1, 0.5])))
    A = Matrix.from_csr(ctx, rows_as(rng, kind, given, all_columns), local_cols=columns)
    dense_A = whole(given, all_columns)
    assert A.shape == dense_A.shape and A.dtype == dtype
    plan = A.plan(n, **options)
    op = {"n": lambda x: x, "t": lambda x: x.T, "h": lambda x: x.conj().T}[options["op"]]
    # Option check compares leading dimensions over the ranks, and without rows there is none.
    fewest = WORLD.allreduce(min(x.original_rows for x in plan.layout), MPI.MIN)
    gap = int(rng.integers(0, 3)) if fewest or options["layout"] == "col" else 0
    for factors in ((1.0, 0.0), (-0.5, 2.0), (0.75 - 0.5j, 1j)):
        if dtype[0] != "c" and factors[1] == 1j:
            continue
        used = int(rng.integers(1, n + 1))
        B = block(own, plan.layout.B.original_rows, used, of_b, options["layout"], gap)
        C = block(own, plan.layout.C.original_rows, used, of_c, options["layout"], gap)
        whole_B, whole_C = gathered(B), gathered(C)
        alpha, beta = factors
        expected = alpha * (op(dense_A) @ whole_B) + beta * whole_C
        terms = abs(alpha) * (op(np.abs(dense_A)) @ np.abs(whole_B)) + abs(beta) * np.abs(whole_C)
        if beta == 0:
            C[...] = np.nan
        if options["partition"] == "keep":
            assert plan.execute(B, C, alpha, beta) is C
        else:
            out = plan.scatter("C", C)
            plan.execute(plan.scatter("B", B), out, alpha, beta)
            plan.gather("C", out, C)
        bound = "float16" if of_c == "float16" or dtype == "float16" else of_c
        assert_close(C, mine(expected, len(C)), mine(terms, len(C)), bound,
                     f"seed {seed}: {dtype} {options}")
    plan.close()
    A.close()


@pytest.mark.parametrize("first", range(TESTS))
def test_random(ctx, first):
    for seed in range(first, CASES, TESTS):
        check_case(ctx, seed)


def test_matmul(ctx):
    """`plan @ B` makes C, also of vectors."""
    A = Matrix.generate(ctx, "stencil5:nx=9,ny=8")
    full = whole(A.csr(), 72)
    plan, rng = A.plan(3), np.random.default_rng(ctx.rank)
    for shape in ((A.info.local_cols, 3), (A.info.local_cols,)):
        B = rng.random(shape)
        C = plan @ B
        assert C.shape == shape and C.dtype == np.float64
        assert_close(C, mine(full @ gathered(B), len(C)), mine(abs(full) @ gathered(B), len(C)),
                     "float64")


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_products_without_a_plan(ctx, dtype):
    """`A @ B`, `A.T @ B` and `A.H @ B`: a plan for each width, type and op, which serves again."""
    own = np.random.default_rng(ctx.rank)
    rows, columns = 7 + ctx.rank, 5 + ctx.rank
    every = WORLD.allreduce(columns)
    given = sparse_rows(own, rows, every, dtype, 0.4)
    A = Matrix.from_csr(ctx, given, local_cols=columns)
    full, made = whole(given, every), ctx._made
    for _ in range(2):
        for of_b in sorted({dtype, COMPLEX.get(dtype, dtype)}):
            for operand, op in ((A, full), (A.T, full.T), (A.H, full.conj().T)):
                many = columns if operand is A else rows
                for B in (dense(own, (many, 3), of_b), dense(own, (many,), of_b),
                          np.asfortranarray(dense(own, (many, 3), of_b)),
                          dense(own, (many, 6), of_b)[:, ::2], dense(own, (2 * many,), of_b)[::2]):
                    C = operand @ B
                    assert C.dtype == of_b and C.shape[1:] == B.shape[1:]
                    assert_close(C, mine(op @ gathered(B), len(C)),
                                 mine(abs(op) @ abs(gathered(B)), len(C)), of_b)
    assert ctx._made - made == len(A._plans) == 2 * (6 if dtype[0] == "c" else 4) // (
        2 if dtype[0] == "c" else 1)
    A.update_values(2 * given[2])
    B = dense(own, (columns, 3), dtype)
    assert_close(A @ B, mine(2 * full @ gathered(B), rows),
                 mine(2 * abs(full) @ abs(gathered(B)), rows), dtype)
    assert A.T.T is A and A.H.H is A
    if dtype[0] == "c":
        with pytest.raises(UnsupportedError, match="conjugate"):
            A.T.H
    else:
        assert A.H.T is A.T.H is A
    for wrong in (B.real.astype("i8"), B[:-1], [1.0], None):
        with pytest.raises((TypeError, ValueError)):
            A @ wrong
    for product in (lambda: np.ones((2, rows)) @ A, lambda: np.ones((2, columns)) @ A.T):
        with pytest.raises(TypeError):
            product()


def test_plans_of_a_dropped_matrix(ctx):
    """They go with it, though nobody else could close them."""
    A = Matrix.generate(ctx, "stencil5:nx=4,ny=4")
    A @ np.ones((A.info.local_cols, 2))
    cells = [A._cell, *(plan._cell for plan in A._plans.values())]
    assert all(cell[0] for cell in cells)
    del A
    Matrix.generate(ctx, "stencil5:nx=4,ny=4").close()
    assert not any(cell[0] for cell in cells)


SHAPES = {"square": (40, 40), "tall": (50, 13), "wide": (9, 31), "few rows": (2, 2), "none": (0, 5)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("root", [None, WORLD.size - 1])
def test_from_scipy(ctx, shape, root):
    """One matrix for all ranks is that matrix, however it is stored."""
    rows, columns = SHAPES[shape]
    rng = np.random.default_rng(4)
    full = dense(rng, (rows, columns), "float64") * (rng.random((rows, columns)) < 0.3)
    twice = scipy.sparse.coo_matrix(full)
    twice = scipy.sparse.coo_matrix((np.r_[twice.data, twice.data] / 2, (
        np.r_[twice.row, twice.row], np.r_[twice.col, twice.col])), full.shape)
    shuffled = scipy.sparse.csr_matrix((twice.data, (twice.row, twice.col)), full.shape)
    shuffled.indices, shuffled.data = shuffled.indices[::-1].copy(), shuffled.data[::-1].copy()
    reverse = shuffled.toarray()
    long = scipy.sparse.csr_matrix(full.astype("f4"))
    long.indptr, long.indices = long.indptr.astype("i8"), long.indices.astype("i8")
    for S, expected in ((twice, full), (scipy.sparse.csc_matrix(full), full), (shuffled, reverse),
                        (scipy.sparse.csr_array(full * 1j), full * 1j), (long, full.astype("f4"))):
        A = Matrix.from_scipy(ctx, S if root in (None, ctx.rank) else None, root=root)
        assert A.shape == S.shape and A.dtype == S.dtype.name
        assert np.array_equal(whole(A.csr(), columns), expected)
        if rows == columns:
            assert A.info.local_cols == A.info.local_rows
        work = WORLD.allgather(A.info.local_rows + A.info.local_nnz)
        assert max(work) - min(work) <= 2 * (columns + 1)
        B = dense(np.random.default_rng(ctx.rank), (A.info.local_cols, 2), A.dtype)
        if rows:
            C = A @ B
            assert_close(C, mine(expected @ gathered(B), len(C)),
                         mine(abs(expected) @ abs(gathered(B)), len(C)), A.dtype)
        A.close()


def test_from_scipy_refuses(ctx, monkeypatch):
    from spmm_dist import _matrix

    S = scipy.sparse.identity(6, format="csr")
    for wrong, error, sentence in ((S.toarray(), TypeError, "not a sparse matrix"),
                                   (S.astype(int), TypeError, "S.astype"),
                                   (None, TypeError, "NoneType")):
        with pytest.raises(error, match=sentence):
            Matrix.from_scipy(ctx, wrong)
    for root in (-1, ctx.size, "x"):
        with pytest.raises((ValueError, TypeError)):
            Matrix.from_scipy(ctx, S, root=root)
    monkeypatch.setattr(_matrix, "_PIECE", 16)  # many messages
    A = Matrix.from_scipy(ctx, S, root=0)
    assert np.array_equal(whole(A.csr(), 6), np.eye(6))
    if ctx.size > 1:
        with pytest.raises(ArgumentError, match="call different things.*checksums"):
            Matrix.from_scipy(ctx, S * (1 + ctx.rank))


def test_update_values(ctx):
    """Of the matrix, for all plans, and of one plan."""
    rng, rows = np.random.default_rng(ctx.rank), 7
    given = sparse_rows(rng, rows, rows * ctx.size, "float32")
    A = Matrix.from_csr(ctx, given)
    plans = [A.plan(2), A.plan(2, op="t")]
    B = dense(rng, (rows, 2), "float32")
    everywhere, alone = (dense(rng, len(given[2]), "float32") for _ in range(2))
    A.update_values(everywhere)
    for values, which in ((everywhere, plans), (alone, plans[:1])):
        if values is alone:
            plans[0].update_values(alone)
        full = whole((*given[:2], values), rows * ctx.size)
        for plan in which:
            of = full if plan is plans[0] else full.T
            assert_close(plan @ B, mine(of @ gathered(B), rows),
                         mine(abs(of) @ abs(gathered(B)), rows), "float32")
    A.drop_entries()
    assert_close(plans[0] @ B, mine(of @ gathered(B), rows),
                 mine(abs(of) @ abs(gathered(B)), rows), "float32")
    with pytest.raises(ArgumentError, match="have been dropped"):
        A.csr()
    if ctx.size > 1:  # most entries on one rank: a partition moves them
        rows = 9 if ctx.rank == 0 else 1
        uneven = Matrix.from_csr(ctx, sparse_rows(rng, rows, 8 + ctx.size, "float32", 0.9))
        moved = uneven.plan(2, partition="block")
        with pytest.raises(UnsupportedError, match="moved the rows of A to other ranks"):
            moved.update_values(uneven.csr()[2])


def test_blocks(ctx):
    """Vectors of rows, column after column."""
    vector, width, n_rows = 2, 2, 4
    rng = np.random.default_rng(ctx.rank)
    columns = n_rows * ctx.size
    block_ptr, col_idx = np.array([0, 1, 2]), np.array([columns - 2, 0])
    values = dense(rng, 2 * vector * width, "float64")
    A = Matrix.from_blocks(ctx, block_ptr, col_idx, values, vector=vector, width=width,
                           n_rows=n_rows)
    part = np.zeros((n_rows, columns))
    for b, (column, piece) in enumerate(zip(col_idx, values.reshape(2, width, vector))):
        part[b * vector:(b + 1) * vector, column:column + width] = piece.T
    B = dense(rng, (n_rows, 3), "float64")
    C = A.plan(3) @ B
    assert_close(C, part @ gathered(B), abs(part) @ abs(gathered(B)), "float64")
    with pytest.raises(ValueError, match="3"):
        Matrix.from_blocks(ctx, block_ptr, col_idx, np.ones(6), vector=3, n_rows=n_rows)
    with pytest.raises(ValueError, match="values has"):
        Matrix.from_blocks(ctx, block_ptr, col_idx, values[1:], vector=2, width=2, n_rows=n_rows)
    with pytest.raises(ValueError, match="block_ptr ends with 9, but there are 2 blocks"):
        Matrix.from_blocks(ctx, np.array([0, 1, 9]), col_idx, values, vector=2, width=2,
                           n_rows=n_rows)


def test_write(ctx, tmp_path_factory):
    folder = WORLD.bcast(str(tmp_path_factory.mktemp("write")) if WORLD.rank == 0 else None)
    A = Matrix.generate(ctx, "stencil5:nx=9,ny=7")
    for name, format in (("a.csr", None), ("a.petsc", None), ("b", "petsc")):
        A.write(f"{folder}/{name}", format)
        B = Matrix.read(ctx, f"{folder}/{name}")
        assert np.array_equal(whole(B.csr(), 63), whole(A.csr(), 63))
        B.close()
    with pytest.raises(ArgumentError, match="format"):
        A.write(f"{folder}/a.txt")
    A.close()


def test_read_and_partition_file(ctx, tmp_path_factory):
    folder = WORLD.bcast(str(tmp_path_factory.mktemp("m")) if WORLD.rank == 0 else None)
    path, part = f"{folder}/a.mtx", f"{folder}/a.part"
    if WORLD.rank == 0:
        with open(path, "w", encoding="ascii") as out:
            out.write("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n"
                      "1 1 2\n2 1 -1\n3 3 4\n")
    WORLD.barrier()
    A = Matrix.read(ctx, path, "float32")
    assert A.dtype == "float32" and A.nnz == 4 and A.info.digest != 0
    full = whole(A.csr(), 3)
    assert np.array_equal(full, [[2, -1, 0], [-1, 0, 0], [0, 0, 4]])
    with A.plan(1, partition="block") as plan:
        plan.write_partition(part)
    with A.plan(1, partition="file:" + part) as plan:
        assert plan.stats.partition.startswith("file")
        assert sum(WORLD.allgather(len(plan.layout.B.global_row))) == 3
    with pytest.raises(OSError, match="nowhere"):
        Matrix.read(ctx, f"{folder}/nowhere.mtx")


@pytest.mark.skipif(WORLD.size > 1, reason="is for one rank")
def test_scale(ctx):
    A = Matrix.generate(ctx, "stencil5:nx=16,ny=16")
    found = A.scale(8, 4, ranks_per_node=2, partition="block")
    assert found.nodes == 2 and found.partition == "block"
    assert found.flat_between.bytes == found.flat_between.rows * 8 * 8 > 0
    assert found.node_between.rows <= found.flat_between.rows
    with pytest.raises(ValueError, match="ranks"):
        A.scale(8, 0)
    with pytest.raises(ValueError, match="there is objective seed"):
        A.scale(8, 4, tuning={"chunks": 2})


def test_report(ctx, tmp_path_factory):
    """stats, timeline, traffic, explain and plot belong together."""
    A = Matrix.generate(ctx, "stencil9:nx=12,ny=12")
    plan = A.plan(4, profile=True, engine="csr-cpu", tuning="schedule=overlap")
    assert plan.timeline() == []
    plan.execute(np.ones((A.info.local_cols, 4)))
    stats = plan.stats
    assert stats.engine == "csr-cpu" and stats.total_s > 0 and stats.partition == "keep"
    assert stats.nnz_local + stats.nnz_halo == A.info.local_nnz
    assert plan.traffic().sum() == stats.halo_rows
    indices = np.unique(A.csr()[1])
    own = (indices >= A.info.first_col) & (indices < A.info.first_col + A.info.local_cols)
    assert np.array_equal(np.sort(plan.halo()), indices[~own])
    assert np.array_equal(np.sort(A.plan(4, op="t").halo()), indices[~own])
    transposed = Matrix.generate(ctx, "uniform:rows=30,cols=50,degree=4").plan(
        4, op="t", reproducible=True)
    assert len(transposed.halo()) == transposed.stats.halo_rows == transposed.traffic().sum()
    assert stats.within.rows == stats.halo_rows_total
    phases = {span.phase for span in plan.timeline()}
    assert "local" in phases and phases <= {"pack", "exchange", "local", "halo"}
    assert "csr-cpu" in plan.explain() and "plan of rank" in plan.explain()
    picture = plan.plot()
    assert picture._repr_svg_().startswith("<svg") and f"rank {ctx.size - 1}" in str(picture)
    path = WORLD.bcast(str(tmp_path_factory.mktemp("plot") / "plan.svg"))
    assert str(plan.plot(path)) == str(picture)
    with open(path, encoding="utf-8") as file:
        assert file.read() == str(picture)
    with pytest.raises((OSError, ArgumentError), match="nowhere"):
        plan.plot("/nowhere/plan.svg")


def test_shown(ctx):
    """Everything in a line, with what a program can ask for, and as a table in notebooks."""
    A = Matrix.generate(ctx, "stencil9:nx=12,ny=12")
    plan, scores, heads = A.plan(4), A.sddmm(4), A.attention(2, 2)
    assert plan.dtype == A.T.dtype == "float64" and A.T.shape == A.shape and A.H.nnz == A.nnz
    for one, facts in ((A, "shape=(144, 144), nnz=1156, dtype='float64'"),
                       (plan, "op='n', n=4, dtype='float64', engine='csr-cpu'"),
                       (A.T, "op='t', shape=(144, 144)"), (scores, "k=4, dtype='float64'"),
                       (heads, "heads=2, k=2"), (ctx, f"size={ctx.size}"),
                       (Operator(plan), "plan=<spmm_dist.Plan"), (ctx.info, "rank=")):
        assert facts in repr(one) and type(one).__name__ in repr(one)
    for one in (A, plan, A.T, scores, heads, ctx, plan.stats, A.info, *components("engine")[:1]):
        table = one._repr_html_()
        assert table.startswith("<table><caption>") and "</td></tr></table>" in table
    assert "<td>&#x27;" not in A._repr_html_() and "<th>nnz</th><td>1156</td>" in A._repr_html_()
    A.close()
    for one in (A, plan, scores, heads):
        assert "closed=True" in repr(one)

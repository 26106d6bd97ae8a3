# SPDX-License-Identifier: Apache-2.0
"""Random products with every option against NumPy in FP64."""
import numpy as np
import pytest
import scipy.sparse
from conftest import WORLD, assert_close, dense, gathered, mine, sparse_rows, whole
from mpi4py import MPI

from spmm_dist import ArgumentError, Matrix, UnsupportedError, components

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


def test_report(ctx):
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
    assert "PlanStats" in repr(stats) and "op N" in repr(plan) and "144 x 144" in repr(A)

# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share.  They run on 1 to 4 ranks, all of which run the same
tests in the same order: where one fails on a rank, the job ends, since the others may wait."""
import sys

import numpy as np
import pytest
from mpi4py import MPI

import spmm_dist

WORLD = MPI.COMM_WORLD
# |C - ref| <= bound (|alpha| |A||B| + |beta| |C0|), docs/reference/library.md
BOUNDS = {"float64": 1e-12, "complex128": 1e-12, "float32": 5e-6, "complex64": 5e-6,
          "float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if WORLD.rank > 0:  # one rank reports, and whichever fails
        config.pluginmanager.unregister(name="terminalreporter")


def pytest_runtest_logreport(report):
    if report.failed and WORLD.size > 1:
        print(f"rank {WORLD.rank}: {report.nodeid}\n{report.longrepr}", file=sys.stderr, flush=True)
        WORLD.Abort(1)


@pytest.fixture(scope="session")
def ctx():
    with spmm_dist.Context(device="cpu") as made:
        yield made


def dense(rng, shape, dtype):
    """Random, never zero, of a type of NumPy."""
    x = rng.uniform(0.1, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.uniform(0.1, 1.0, shape)
    made = np.empty(shape, dtype)  # whose strides are as usual also without rows
    made[...] = x
    return made


def sparse_rows(rng, rows, columns, dtype, density=0.2):
    """(indptr, indices, data) of random rows, columns in any order."""
    lists = [rng.permutation(columns)[:rng.binomial(columns, density)] for _ in range(rows)]
    indptr = np.cumsum([0] + [len(row) for row in lists]).astype(np.int64)
    indices = np.concatenate([np.empty(0, np.int64)] + lists).astype(np.int64)
    return indptr, indices, dense(rng, len(indices), dtype)


def whole(rows, columns):
    """The rows of all ranks as one dense array of the widest type.  Collective."""
    indptr, indices, data = (np.asarray(x) for x in rows)
    part = np.zeros((len(indptr) - 1, columns), wide(data.dtype))
    for i in range(len(part)):
        part[i, indices[indptr[i]:indptr[i + 1]]] = data[indptr[i]:indptr[i + 1]]
    return gathered(part)


def wide(dtype):
    return np.complex128 if np.dtype(dtype).kind == "c" else np.float64


def gathered(part):
    """The rows of all ranks.  Collective."""
    return np.concatenate(WORLD.allgather(np.asarray(part).astype(wide(part.dtype))))


def mine(x, rows):
    """This rank's rows of an array that all ranks have.  Collective."""
    first = WORLD.exscan(rows) or 0
    return x[first:first + rows]


def assert_close(found, expected, terms, dtype, what=""):
    """Each part of a number keeps its bound."""
    found = np.asarray(found).astype(wide(np.asarray(found).dtype))
    assert found.shape == expected.shape
    # A result is rounded to its own type, too.
    allowed = BOUNDS[dtype] * terms + (6e-8 if dtype in ("float16", "bfloat16") else 1e-300)
    for part in (np.real, np.imag):
        error = np.abs(part(found) - part(expected))
        assert np.all(error <= allowed), f"{what}: {np.max(error - allowed)} beyond the bound"

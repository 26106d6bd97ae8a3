# SPDX-License-Identifier: Apache-2.0
"""The ten smallest eigenpairs of a grid's Laplacian by SciPy's LOBPCG, distributed over the ranks,
and compared with their formula.

    mpirun -n 4 python lobpcg.py [NX NY]

Products run on GPUs where each rank has one, and SciPy's own work on the host.
"""
import sys
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from spmm_dist import Context, Matrix
from spmm_dist.scipy import Operator, RowBlock, lobpcg

WANTED, COLUMNS = 10, 14  # more than wanted: the last ones converge late


def formula(nx: int, ny: int) -> NDArray[np.float64]:
    """Eigenvalues of the five-point stencil with Dirichlet boundaries, ascending."""
    def line(n: int) -> Any:
        return 4 * np.sin(np.pi * np.arange(1, n + 1) / (2 * (n + 1)))**2

    return np.sort(np.add.outer(line(nx), line(ny)).ravel())


def laplacian(nx: int, ny: int, first: int, last: int) -> Any:
    """Rows first to last of the five-point stencil."""
    def line(n: int) -> Any:
        return scipy.sparse.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])

    return scipy.sparse.kronsum(line(nx), line(ny), "csr")[first:last]


def main() -> None:
    nx, ny = (int(x) for x in sys.argv[1:3]) if len(sys.argv) > 2 else (61, 40)
    with Context() as ctx:
        first, last = (nx * ny * rank // ctx.size for rank in (ctx.rank, ctx.rank + 1))
        A = Matrix.from_csr(ctx, laplacian(nx, ny, first, last))
        plan = A.plan(COLUMNS)
        guess = np.random.default_rng(1).standard_normal((A.shape[0], COLUMNS))
        values, X = lobpcg(plan, guess[first:last], largest=False, tol=1e-6, maxiter=500)
        values, X = values[:WANTED], RowBlock(X[:, :WANTED].copy(), ctx.comm)
        # The residuals once more, by the plan itself.
        R = Operator(plan) @ X - X * values
        residual = np.sqrt(np.sum(R**2, 0).max())
        error = np.abs(values - formula(nx, ny)[:WANTED]).max()
        if ctx.rank == 0:
            print(f"{ctx.size} ranks on {ctx.info.device_name}, {A.shape[0]} grid points: "
                  f"engine {plan.stats.engine}, eigenvalues "
                  f"{np.array2string(values, precision=6)}")
            print(f"largest residual {residual:.1e}, largest error {error:.1e}")
        if not (error < 1e-9 and residual < 1e-5):
            sys.exit("the eigenvalues differ from their formula")


if __name__ == "__main__":
    main()

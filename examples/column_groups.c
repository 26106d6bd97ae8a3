/* SPDX-License-Identifier: Apache-2.0 */
/** @file column_groups.c
 *  Two groups of ranks have a copy of A each and multiply half of the columns: every group has a
 *  communicator, and so a context, of its own.  Where a group is a node, products send nothing over
 *  the network; the price is memory for the copies.  Groups that share a node name their GPUs by
 *  option cuda_device: a context counts its own ranks alone.  Column j of B is an eigenvector of A.
 *
 *      mpirun -n 4 column_groups
 */
#include "laplacian.h"

enum { COLUMNS = 24 };

int main(int argc, char **argv)
{
    const grid_t       grid = {.points = 5, .n = {40, 33, 1}};
    const double       pi   = acos(-1.0);
    spmm_matrix_t     *A;
    spmm_matrix_info_t my    = {.struct_size = sizeof my};
    spmm_plan_t       *plan  = NULL;
    double             error = 0.0;
    void              *B = NULL, *C = NULL;
    MPI_Comm           group_comm;
    int                rank = 0, size = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int groups = size > 1 ? 2 : 1, group = rank * groups / size; /* successive ranks */
    const int first = COLUMNS * group / groups, n = COLUMNS * (group + 1) / groups - first;
    MPI_Comm_split(MPI_COMM_WORLD, group, rank, &group_comm);

    check(spmm_context_create(group_comm, NULL, &ctx));
    A = make_laplacian(&grid, 0.0); /* distributed over the ranks of the group */
    check(spmm_plan_create(A, n, NULL, &plan));
    check(spmm_matrix_get_info(A, &my));
    const int64_t count = my.local_rows * n;
    double *const host  = allocate(2 * count, sizeof *host);
    for (int64_t i = 0; i < count; i++) {
        const int64_t point = my.first_row + i / n, x = point % grid.n[0], y = point / grid.n[0];
        const double  j = (double)(first + i % n + 1);

        host[i] = sin(j * pi * (double)(x + 1) / (grid.n[0] + 1)) *
                  sin(pi * (double)(y + 1) / (grid.n[1] + 1));
    }
    check(spmm_buffer_alloc(ctx, sizeof *host * (size_t)count, &B));
    check(spmm_buffer_alloc(ctx, sizeof *host * (size_t)count, &C));
    check(spmm_buffer_copy(ctx, B, host, sizeof *host * (size_t)count));
    check(spmm_execute(plan, n, 1.0, B, n, 0.0, C, n, NULL));
    check(spmm_stream_synchronize(ctx, NULL));
    check(spmm_buffer_copy(ctx, host + count, C, sizeof *host * (size_t)count));
    for (int64_t i = 0; i < count; i++) {
        const double value = laplacian_eigenvalue(&grid, first + (int)(i % n) + 1, 1, 1);

        error = larger(error, fabs(host[count + i] - value * host[i]));
    }
    reduce_all(&error, 1, MPI_MAX);
    if (rank == 0) {
        printf("%d columns by %d groups of ranks: |A B - l B| = %.1e\n", COLUMNS, groups, error);
    }

    free(host);
    check(spmm_buffer_free(ctx, &B));
    check(spmm_buffer_free(ctx, &C));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    MPI_Comm_free(&group_comm);
    MPI_Finalize();
    return error < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}

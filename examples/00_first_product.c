/* SPDX-License-Identifier: Apache-2.0 */
/* The first program: a matrix from a file, B all ones, the sum of the first column of C. */
#include <spmm_dist/spmm_dist.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != SPMM_OK) {                                                                   \
            fprintf(stderr, "%s\n", spmm_last_error(ctx));                                         \
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);                                               \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv)
{
    const int64_t      n   = 64; /* columns of B and C */
    spmm_context_t    *ctx = NULL;
    spmm_matrix_t     *A;
    spmm_plan_t       *plan;
    spmm_matrix_info_t my = {.struct_size = sizeof my};
    void              *B, *C;
    int                rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    TRY(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx)); /* one GPU per rank, or CPUs */
    TRY(spmm_matrix_read(ctx, argv[1], SPMM_R_64F, 0, &A));
    TRY(spmm_plan_create(A, n, NULL, &plan)); /* halo exchange, formats, autotuning: once */
    TRY(spmm_matrix_get_info(A, &my)); /* B: my.local_cols rows on this rank, C: my.local_rows */
    size_t  bytes_B = sizeof(double) * (size_t)(my.local_cols * n);
    size_t  bytes_C = sizeof(double) * (size_t)(my.local_rows * n);
    double *host    = malloc(bytes_B + bytes_C + 1);
    TRY(host == NULL ? SPMM_ERR_MEMORY : SPMM_OK);
    for (int64_t i = 0; i < my.local_cols * n; i++) {
        host[i] = 1.0;
    }
    TRY(spmm_buffer_alloc(ctx, bytes_B, &B)); /* GPU memory where the context has GPUs */
    TRY(spmm_buffer_alloc(ctx, bytes_C, &C));
    TRY(spmm_buffer_copy(ctx, B, host, bytes_B));
    for (int step = 0; step < 10; step++) {
        TRY(spmm_execute(plan, n, 1.0, B, n, 0.0, C, n, NULL)); /* C = 1 A B + 0 C */
    }
    TRY(spmm_stream_synchronize(ctx, NULL));
    TRY(spmm_buffer_copy(ctx, host, C, bytes_C));

    double sum = 0.0;
    for (int64_t i = 0; i < my.local_rows; i++) {
        sum += host[i * n];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("sum of A * ones: %g\n", sum);
    }

    free(host);
    spmm_buffer_free(ctx, &B);
    spmm_buffer_free(ctx, &C);
    spmm_plan_destroy(&plan);
    spmm_matrix_destroy(&A);
    spmm_context_destroy(&ctx);
    return MPI_Finalize();
}

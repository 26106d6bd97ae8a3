/* SPDX-License-Identifier: Apache-2.0 */
/** @file 02_matrix_market.c
 *  A from a Matrix Market file (plain or gzipped), its rows given to the ranks by the partitioner
 *  that promises least communication.  The plan then has its own distribution of B and C: blocks
 *  are made in the order of the file, scattered to the plan's, multiplied there as often as one
 *  likes, and gathered again.  Every row of C is compared with a plain loop over A.
 *
 *      mpirun -n 4 02_matrix_market web.mtx.gz
 */
#include "example.h"

enum { COLUMNS = 8 };

/* B by formula: any rank knows all of it. */
static double element_of_B(int64_t row, int64_t column)
{
    return (double)((row * 31 + column * 17) % 64) / 64.0;
}

/* The largest |C - A * B|, relative to |A| * |B|, over the caller's rows of all ranks. */
static double compare(const spmm_matrix_t *A, const spmm_matrix_info_t *my, const double *C)
{
    const int64_t *row_ptr = NULL, *col_idx = NULL;
    const void    *stored = NULL;
    double         worst  = 0.0;

    check(spmm_matrix_get_csr(A, &row_ptr, &col_idx, &stored));
    const double *values = stored; /* of the type that A was read in */
    for (int64_t i = 0; i < my->local_rows; i++) {
        for (int64_t j = 0; j < COLUMNS; j++) {
            double sum = 0.0, size = 1e-300;

            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
                const double product = values[k] * element_of_B(col_idx[k], j);

                sum += product;
                size += fabs(product);
            }
            worst = larger(worst, fabs(C[i * COLUMNS + j] - sum) / size);
        }
    }
    reduce_all(&worst, 1, MPI_MAX);
    return worst;
}

int main(int argc, char **argv)
{
    spmm_matrix_t      *A          = NULL;
    spmm_plan_t        *plan       = NULL;
    spmm_plan_options_t options    = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t  my         = {.struct_size = sizeof my};
    spmm_layout_info_t  rows_of_B  = {.struct_size = sizeof rows_of_B};
    spmm_layout_info_t  rows_of_C  = {.struct_size = sizeof rows_of_C};
    spmm_plan_stats_t   stats      = {.struct_size = sizeof stats};
    void               *original_B = NULL, *original_C = NULL; /* in the order of the file */
    void               *B = NULL, *C = NULL;                   /* in that of the plan */
    const size_t        row_bytes = sizeof(double) * COLUMNS;
    int                 rank      = 0;
    double              error;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2) {
        if (rank == 0) {
            (void)fprintf(stderr, "usage: 02_matrix_market FILE\n");
        }
        MPI_Finalize();
        return 2;
    }
    check(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    check(spmm_matrix_read(ctx, argv[1], SPMM_R_64F, 0, &A));
    check(spmm_matrix_get_info(A, &my));
    options.partition = "auto";
    check(spmm_plan_create(A, COLUMNS, &options, &plan));
    check(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &rows_of_B));
    check(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &rows_of_C));

    double *host_B = allocate(my.local_cols * COLUMNS, sizeof *host_B);
    double *host_C = allocate(my.local_rows * COLUMNS, sizeof *host_C);
    for (int64_t i = 0; i < my.local_cols; i++) {
        for (int64_t j = 0; j < COLUMNS; j++) {
            host_B[i * COLUMNS + j] = element_of_B(my.first_col + i, j);
        }
    }
    check(spmm_buffer_alloc(ctx, row_bytes * (size_t)my.local_cols, &original_B));
    check(spmm_buffer_alloc(ctx, row_bytes * (size_t)my.local_rows, &original_C));
    check(spmm_buffer_alloc(ctx, row_bytes * (size_t)rows_of_B.local_rows, &B));
    check(spmm_buffer_alloc(ctx, row_bytes * (size_t)rows_of_C.local_rows, &C));

    check(spmm_buffer_copy(ctx, original_B, host_B, row_bytes * (size_t)my.local_cols));
    check(spmm_plan_scatter(plan, SPMM_OPERAND_B, COLUMNS, original_B, COLUMNS, B, COLUMNS, NULL));
    check(spmm_execute(plan, COLUMNS, 1.0, B, COLUMNS, 0.0, C, COLUMNS, NULL));
    check(spmm_plan_gather(plan, SPMM_OPERAND_C, COLUMNS, C, COLUMNS, original_C, COLUMNS, NULL));
    check(spmm_buffer_copy(ctx, host_C, original_C, row_bytes * (size_t)my.local_rows));

    error = compare(A, &my, host_C);
    check(spmm_plan_get_stats(plan, &stats));
    if (rank == 0) {
        printf(
            "%lld x %lld, %lld entries; partition %s: %lld rows of B travel (%lld by block, %lld "
            "by allgather); error %.1e\n",
            (long long)my.rows, (long long)my.cols, (long long)my.nnz, stats.partition,
            (long long)stats.halo_rows_total, (long long)stats.block_halo_rows_total,
            (long long)stats.allgather_rows_total, error);
    }

    check(spmm_buffer_free(ctx, &original_B));
    check(spmm_buffer_free(ctx, &original_C));
    check(spmm_buffer_free(ctx, &B));
    check(spmm_buffer_free(ctx, &C));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    free(host_B);
    free(host_C);
    MPI_Finalize();
    return error < 1e-13 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file read_entries.c  read_entries FILE...: what the library reads.  Rank r writes its part of
 *  each FILE to FILE.r: the shape, then row, column (from 0) and value of each entry; or the
 *  sentence of a refusal. */
#include <inttypes.h>
#include <stdio.h>

#include "spmm_dist/spmm_dist.h"

static void write_rows(FILE *out, const spmm_matrix_t *A)
{
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    const int64_t     *row_ptr, *col;
    const void        *values;

    if (spmm_matrix_get_info(A, &info) != SPMM_OK ||
        spmm_matrix_get_csr(A, &row_ptr, &col, &values) != SPMM_OK) {
        return;
    }
    (void)fprintf(out, "%" PRId64 " %" PRId64 " %" PRId64 "\n", info.rows, info.cols, info.nnz);
    for (int64_t i = 0; i < info.local_rows; i++) {
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            (void)fprintf(out, "%" PRId64 " %" PRId64 " %a\n", info.first_row + i, col[k],
                          ((const double *)values)[k]);
        }
    }
}

int main(int argc, char **argv)
{
    spmm_context_t *ctx;
    int             rank, bad;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bad = spmm_context_create(MPI_COMM_WORLD, NULL, &ctx) != SPMM_OK;
    for (int f = 1; f < argc && !bad; f++) {
        spmm_matrix_t *A = NULL;
        char           path[4096];
        FILE          *out;

        (void)snprintf(path, sizeof path, "%s.%d", argv[f], rank);
        out = fopen(path, "w");
        if (out == NULL) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (spmm_matrix_read(ctx, argv[f], SPMM_R_64F, 0, &A) == SPMM_OK) {
            write_rows(out, A);
        } else {
            (void)fprintf(out, "%s\n", spmm_last_error(ctx));
        }
        (void)fclose(out);
        (void)spmm_matrix_destroy(&A);
    }
    (void)spmm_context_destroy(&ctx);
    MPI_Finalize();
    return bad;
}

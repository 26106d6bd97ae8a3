/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_matrix.h"

#include "test_main.h"

int64_t pair_other(int64_t row, int64_t rows)
{
    const int64_t all = rows * spmm_test_env.size;

    return (row + 1 + (row * 7919) % (all - 1)) % all;
}

spmm_matrix_t *pair_matrix(spmm_context_t *ctx, int64_t rows)
{
    int64_t       *row_ptr = calloc((size_t)rows + 1, sizeof *row_ptr);
    int64_t       *col     = malloc(2 * (size_t)rows * sizeof *col);
    float         *value   = malloc(2 * (size_t)rows * sizeof *value);
    spmm_matrix_t *A;

    assert_true(row_ptr != NULL && col != NULL && value != NULL);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t row = rows * (int64_t)spmm_test_env.rank + i;

        col[2 * i]       = row;
        col[2 * i + 1]   = pair_other(row, rows);
        value[2 * i]     = 1.0f;
        value[2 * i + 1] = PAIR_ROW_SUM - 1.0f;
        row_ptr[i + 1]   = 2 * i + 2;
    }
    spmm_assert_ok(spmm_matrix_create_csr(ctx, rows, rows, row_ptr, col, value, SPMM_R_32F, &A));
    spmm_test_free(row_ptr, col, value);
    return A;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_matrix.h"

#include "test_main.h"

int64_t pair_other(int64_t row, int64_t rows)
{
    const int64_t all = rows * spmm_test_env.size;

    return (row + 1 + (row * 7919) % (all - 1)) % all;
}

/* Row @p i of this rank, which begins at @p at.  @return where it ends */
static int64_t put_row(int64_t rows, int64_t i, bool full, int64_t at, int64_t *col, float *value)
{
    const int64_t first = rows * (int64_t)spmm_test_env.rank, row = first + i;
    const int64_t other = pair_other(row, rows);

    for (int64_t c = first; full && c < first + rows; c++) {
        if (c != row && c != other) {
            col[at]     = c;
            value[at++] = 0.0f;
        }
    }
    col[at]     = row;
    value[at++] = 1.0f;
    col[at]     = other;
    value[at++] = PAIR_ROW_SUM - 1.0f;
    return at;
}

spmm_matrix_t *pair_matrix_full(spmm_context_t *ctx, int64_t rows, int64_t full)
{
    const int64_t  room    = 2 * rows + full * rows;
    int64_t       *row_ptr = spmm_test_calloc((size_t)rows + 1, sizeof *row_ptr);
    int64_t       *col     = spmm_test_malloc((size_t)room * sizeof *col);
    float         *value   = spmm_test_malloc((size_t)room * sizeof *value);
    spmm_matrix_t *A;

    for (int64_t i = 0; i < rows; i++) {
        row_ptr[i + 1] = put_row(rows, i, i < full, row_ptr[i], col, value);
    }
    spmm_assert_ok(spmm_matrix_create_csr(ctx, rows, rows, row_ptr, col, value, SPMM_R_32F, &A));
    spmm_test_free(row_ptr, col, value);
    return A;
}

spmm_matrix_t *pair_matrix(spmm_context_t *ctx, int64_t rows)
{
    return pair_matrix_full(ctx, rows, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* Column-vector-sparse and block-sparse input: the entries it stands for, new values, and what is
 * refused.  Products of such entries are those of test_plan.c and test_sddmm.c. */
#include "test_context.h"

enum { MOST_BLOCKS = 64, MOST_VALUES = 4096, COLS = 40 /* of each rank */ };

/* Blocks of V x W: rank p owns p + 2 rows of blocks, rank 0 none where there are more ranks; block
 * k of row i of blocks at column W (3 k + i) or, scattered, from right to left. */
typedef struct {
    int64_t  vector, width, n_rows;
    int64_t  block_ptr[8], col_idx[MOST_BLOCKS];
    uint16_t values[MOST_VALUES];
} blocks_t;

static spmm_context_t *ctx;

static blocks_t make_blocks(int64_t vector, int64_t width, bool scattered)
{
    const int rank = spmm_test_env.rank, size = spmm_test_env.size;
    const int n = rank == 0 && size > 1 ? 0 : rank + 2;
    blocks_t  b = {.vector = vector, .width = width, .n_rows = n * vector};

    for (int i = 0; i < n; i++) {
        const int64_t count = (i + rank) % 4;

        b.block_ptr[i + 1] = b.block_ptr[i] + count;
        for (int64_t k = 0; k < count; k++) {
            const int64_t col = width * (3 * (scattered ? count - 1 - k : k) + i);

            assert_true(col + width <= COLS * size);
            b.col_idx[b.block_ptr[i] + k] = col;
        }
    }
    assert_true(b.block_ptr[n] * vector * width <= MOST_VALUES);
    for (int64_t k = 0; k < b.block_ptr[n] * vector * width; k++) {
        spmmi_value_set(SPMM_R_16F, b.values, k, k % 5 == 0 ? 0.0 : spmmi_random_value(3, rank, k));
    }
    return b;
}

/* Value of (row, col), local row; -1: no block has it. */
static int64_t find(const blocks_t *b, int64_t row, int64_t col)
{
    const int64_t i = row / b->vector, r = row % b->vector;

    for (int64_t k = b->block_ptr[i]; k < b->block_ptr[i + 1]; k++) {
        const int64_t c = col - b->col_idx[k];

        if (c >= 0 && c < b->width) {
            return (k * b->width + c) * b->vector + r;
        }
    }
    return -1;
}

static void check_entries(const blocks_t *b, const spmm_matrix_t *A)
{
    const int64_t *row_ptr, *col_idx;
    const void    *values;
    int64_t        found = 0;

    spmm_assert_ok(spmm_matrix_get_csr(A, &row_ptr, &col_idx, &values));
    for (int64_t i = 0; i < b->n_rows; i++) {
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            const int64_t at = find(b, i, col_idx[k]);

            assert_true(at >= 0 && (k == row_ptr[i] || col_idx[k - 1] < col_idx[k]));
            assert_int_equal(((const uint16_t *)values)[k], b->values[at]);
            found++;
        }
    }
    assert_int_equal(found, b->block_ptr[b->n_rows / b->vector] * b->vector * b->width);
}

static spmm_matrix_t *create(const blocks_t *b)
{
    spmm_matrix_t *A = NULL;

    spmm_assert_ok(spmm_matrix_create_cvse(ctx, b->n_rows, COLS, b->vector, b->width, b->block_ptr,
                                           b->col_idx, b->values, SPMM_R_16F, &A));
    return A;
}

static void test_entries(void **state)
{
    for (int64_t vector = 2; vector <= 16; vector *= 2) {
        for (int64_t width = 1; width <= 3; width++) {
            for (int scattered = 0; scattered < 2; scattered++) {
                blocks_t       b = make_blocks(vector, width, scattered != 0);
                spmm_matrix_t *A;

                ctx = test_context_on(spmm_test_env.comm, 0);
                A   = create(&b);
                check_entries(&b, A);
                for (int64_t k = 0; k < MOST_VALUES; k++) {
                    spmmi_value_set(SPMM_R_16F, b.values, k, spmmi_random_value(4, k, vector));
                }
                spmm_assert_ok(spmm_matrix_update_values(A, b.values));
                check_entries(&b, A);
                test_context_destroy(NULL, &A, &ctx);
            }
        }
    }
}

static void test_refused(void **state)
{
    static const int64_t zeros[4] = {0}, falls[3] = {0, 2, 1}, twice[2] = {0, 2}, same[2] = {3, 4};
    const int64_t        outside[2] = {0, 40 * spmm_test_env.size - 1}, far[2] = {0, INT64_MAX};
    const struct {
        int64_t        n_rows, n_cols, vector, width;
        const int64_t *block_ptr, *col;
        const char    *sentence;
    } bad[] = {
        {6, 9, 3, 1, zeros, NULL, "3 x 1"},
        {4, 9, 2, 0, zeros, NULL, "2 x 0"},
        {12, 9, 8, 1, zeros, NULL, "a multiple of the 8 rows"},
        {4, 9, 2, 1, falls, same, "block_ptr[1] = 2 is above block_ptr[2] = 1"},
        {2, 40, 2, 2, twice, same, "column 4 stands in this row already"},
        {2, 40, 2, 2, twice, outside, "is outside a matrix of"},
        {2, 40, 2, 2, twice, far, "col_idx[1] = 9223372036854775807 is outside any matrix"},
        {2, 40, 2, 2, NULL, outside, "row_ptr NULL"},
    };
    uint16_t       values[64] = {0};
    spmm_matrix_t *A          = NULL;

    ctx = test_context_on(spmm_test_env.comm, 0);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        test_context_refused(ctx,
                             spmm_matrix_create_cvse(ctx, bad[k].n_rows, bad[k].n_cols,
                                                     bad[k].vector, bad[k].width, bad[k].block_ptr,
                                                     bad[k].col, values, SPMM_R_16F, &A),
                             SPMM_ERR_ARGUMENT, bad[k].sentence);
        assert_null(A);
    }
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

SPMM_TESTS(test_entries, test_refused);

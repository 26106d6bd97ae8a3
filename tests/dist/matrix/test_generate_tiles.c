/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_generate_tiles.c  Generators of whole vectors and tiles: pruned and xdys. */
#include "test_main.h"
#include "test_matrix.h"

#include "matrix/matrix.h"

/* Whole vectors, about as many as asked for; the last row of vectors is cut. */
static void test_pruned_vectors(void **state)
{
    spmm_env_t     alone = spmm_test_alone();
    spmm_matrix_t *A =
        spmm_test_generate(&alone, "pruned:rows=403,cols=200,sparsity=0.9,vector=4", 42);

    assert_int_equal(A->rows, 403);
    assert_int_equal(A->cols, 200);
    for (int32_t r = 1; r < A->n_rows; r++) {
        if (r % 4 != 0) {
            assert_int_equal(A->row_ptr[r + 1] - A->row_ptr[r], A->row_ptr[r] - A->row_ptr[r - 1]);
            for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
                assert_true(spmm_test_has(A, r - 1, A->col_idx[k]));
            }
        }
    }
    assert_true(fabs((double)A->nnz / (403 * 200) - 0.1) < 0.01);
    spmmi_matrix_free(A);
    A = spmm_test_generate(&alone, "pruned:rows=7,cols=9,sparsity=0,vector=2", 42);
    assert_int_equal(A->nnz, 63);
    spmmi_matrix_free(A);
}

/* Of a tile of 16 x 32: its entries, and whether no group of four columns of a row has more than
 * two. */
static int64_t tile_entries(const spmm_matrix_t *A, int64_t row, int64_t col, bool *is_sp24)
{
    int64_t entries = 0;

    *is_sp24 = true;
    for (int64_t r = row; r < row + 16 && r < A->rows; r++) {
        for (int64_t first = col; first < col + 32; first += 4) {
            int64_t group = 0;

            for (int64_t c = first; c < first + 4 && c < A->cols; c++) {
                group += spmm_test_has(A, (int32_t)r, c);
            }
            entries += group;
            *is_sp24 = *is_sp24 && group <= 2;
        }
    }
    return entries;
}

/* Tiles are empty, 2:4 with all they may have, or full; as many of each as asked for. */
static void test_xdys_tiles(void **state)
{
    enum { SIZE = 1024, TILES = (SIZE / 16) * (SIZE / 32) };
    spmm_env_t     alone = spmm_test_alone();
    spmm_matrix_t *A     = spmm_test_generate(&alone, "xdys:size=1024,dense=0.2,sp24=0.3", 42);
    int64_t        dense = 0, sp24 = 0, pair[16] = {0};

    for (int64_t row = 0; row < SIZE; row += 16) {
        for (int64_t col = 0; col < SIZE; col += 32) {
            bool          is_sp24;
            const int64_t entries = tile_entries(A, row, col, &is_sp24);

            assert_true(entries == 0 || entries == (is_sp24 ? 256 : 512));
            dense += !is_sp24;
            sp24 += is_sp24 && entries > 0;
            for (int64_t c = is_sp24 ? col : col + 32; c < col + 32; c += 4) {
                pair[spmm_test_has(A, (int32_t)row, c) |
                     spmm_test_has(A, (int32_t)row, c + 1) << 1 |
                     spmm_test_has(A, (int32_t)row, c + 2) << 2 |
                     spmm_test_has(A, (int32_t)row, c + 3) << 3]++;
            }
        }
    }
    assert_true(fabs((double)dense / TILES - 0.2) < 0.05); /* 6 sigma */
    assert_true(fabs((double)sp24 / TILES - 0.3) < 0.05);
    for (int k = 0; k < 16; k++) { /* each of the six pairs about equally often; 10 sigma */
        const bool is_pair = k == 3 || k == 5 || k == 6 || k == 9 || k == 10 || k == 12;

        assert_true(k == 0 || is_pair == (pair[k] > 0));
        assert_true(!is_pair || fabs((double)pair[k] / (8.0 * (double)sp24) - 1.0 / 6.0) < 0.06);
    }
    spmmi_matrix_free(A);

    A = spmm_test_generate(&alone, "xdys:size=67,dense=1,sp24=0", 42);
    assert_int_equal(A->nnz, 67 * 67);
    spmmi_matrix_free(A);
    A = spmm_test_generate(&alone, "xdys:size=96,dense=0,sp24=1.0", 42);
    assert_int_equal(A->nnz, 96 * 96 / 2);
    spmmi_matrix_free(A);
    A = spmm_test_generate(&alone, "xdys:size=256,dense=0.5,sp24=0.5,fill=0.5", 42);
    assert_true(fabs((double)A->nnz / (256 * 256) - 0.375) < 0.08);
    spmmi_matrix_free(A);
    A = spmm_test_generate(&alone, "xdys:size=64,dense=0,sp24=0", 42);
    assert_int_equal(A->nnz, 0);
    spmmi_matrix_free(A);
}

SPMM_TESTS(test_pruned_vectors, test_xdys_tiles);

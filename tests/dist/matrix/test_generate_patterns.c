/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_generate_patterns.c  Matrices in another order, and generators of whole vectors and
 *  tiles: pruned and xdys. */
#include "test_main.h"
#include "test_matrix.h"

#include "matrix/generate/generate.h"
#include "matrix/matrix.h"

enum { SEED = 42 };

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Sorted lengths of rows (or of columns) of a matrix on one rank. */
static int64_t *degrees(const spmm_matrix_t *A, bool columns)
{
    const int64_t n     = columns ? A->cols : A->rows;
    int64_t      *count = spmm_test_calloc((size_t)n, sizeof *count);

    for (int32_t r = 0; r < A->n_rows; r++) {
        for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
            count[columns ? A->col_idx[k] : r]++;
        }
    }
    qsort(count, (size_t)n, sizeof *count, compare);
    return count;
}

static void check_shuffle(const char *plain_spec, const char *shuffled_spec, bool square)
{
    spmm_env_t     alone = spmm_test_alone();
    spmm_matrix_t *A     = spmm_test_generate(&alone, plain_spec, SEED),
                  *B     = spmm_test_generate(&alone, shuffled_spec, SEED);
    int64_t same = 0, loops_A = 0, loops_B = 0;

    assert_int_equal(A->nnz, B->nnz);
    for (int columns = 0; columns < 2; columns++) {
        int64_t *a = degrees(A, columns), *b = degrees(B, columns);

        assert_memory_equal(a, b, (size_t)(columns ? A->cols : A->rows) * sizeof *a);
        spmm_test_free(a, b);
    }
    for (int32_t r = 0; r < A->n_rows; r++) {
        loops_A += spmm_test_has(A, r, r);
        loops_B += spmm_test_has(B, r, r);
        for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
            same += spmm_test_has(B, r, A->col_idx[k]) && A->col_idx[k] != r;
        }
    }
    assert_true(same < A->nnz / 4);
    assert_true(!square || loops_A == loops_B);
    spmmi_matrix_free(A);
    spmmi_matrix_free(B);
}

static void test_shuffled_matrices(void **state)
{
    check_shuffle("stencil9:nx=20,ny=30", "stencil9:nx=20,ny=30,shuffle=1", true);
    check_shuffle("rmat:scale=10,degree=4", "rmat:shuffle=1,scale=10,degree=4", true);
    check_shuffle("uniform:rows=300,cols=700,degree=5,shuffle=0",
                  "uniform:rows=300,cols=700,degree=5,shuffle=1", false);
    check_shuffle("banded:rows=400,lower=2,upper=0", "banded:rows=400,lower=2,upper=0,shuffle=1",
                  true);
}

static void test_shuffle_is_a_bijection(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 1000, 1024, 1025, 70000};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t n     = sizes[s];
        bool         *hit   = spmm_test_calloc((size_t)n, sizeof *hit);
        int64_t       fixed = 0;

        for (uint64_t seed = 0; seed < 3; seed++) {
            spmm_shuffle_t shuffle;

            memset(hit, 0, (size_t)n * sizeof *hit);
            spmmi_shuffle_init(&shuffle, n, seed, 1);
            for (int64_t i = 0; i < n; i++) {
                const int64_t image = spmmi_shuffle(&shuffle, i);

                assert_in_range(image, 0, n - 1);
                assert_false(hit[image]);
                hit[image] = true;
                fixed += image == i;
            }
        }
        assert_true(n < 100 || fixed < 30); /* three times 1 are expected */
        free(hit);
    }
}

/* Whole vectors, about as many as asked for; the last row of vectors is cut. */
static void test_pruned_vectors(void **state)
{
    spmm_env_t     alone = spmm_test_alone();
    spmm_matrix_t *A =
        spmm_test_generate(&alone, "pruned:rows=403,cols=200,sparsity=0.9,vector=4", SEED);

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
    A = spmm_test_generate(&alone, "pruned:rows=7,cols=9,sparsity=0,vector=2", SEED);
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
    spmm_matrix_t *A     = spmm_test_generate(&alone, "xdys:size=1024,dense=0.2,sp24=0.3", SEED);
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

    A = spmm_test_generate(&alone, "xdys:size=67,dense=1,sp24=0", SEED);
    assert_int_equal(A->nnz, 67 * 67);
    spmmi_matrix_free(A);
    A = spmm_test_generate(&alone, "xdys:size=96,dense=0,sp24=1.0", SEED);
    assert_int_equal(A->nnz, 96 * 96 / 2);
    spmmi_matrix_free(A);
    A = spmm_test_generate(&alone, "xdys:size=256,dense=0.5,sp24=0.5,fill=0.5", SEED);
    assert_true(fabs((double)A->nnz / (256 * 256) - 0.375) < 0.08);
    spmmi_matrix_free(A);
    A = spmm_test_generate(&alone, "xdys:size=64,dense=0,sp24=0", SEED);
    assert_int_equal(A->nnz, 0);
    spmmi_matrix_free(A);
}

SPMM_TESTS(test_shuffled_matrices, test_shuffle_is_a_bijection, test_pruned_vectors,
           test_xdys_tiles);

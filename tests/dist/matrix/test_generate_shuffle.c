/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
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

SPMM_TESTS(test_shuffled_matrices, test_shuffle_is_a_bijection);

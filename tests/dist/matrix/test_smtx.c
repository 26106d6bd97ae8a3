/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 NEEDS ZLIB_FOUND */
/* Text files of the Deep Learning Matrix Collection. */
#include "temp_file.h"
#include "test_main.h"
#include "test_matrix.h"

static spmm_status_t read_text(const char *text, spmm_type_t type, spmm_matrix_t **A)
{
    return spmmi_matrix_from_file(&spmm_test_env, spmm_temp_write(text, strlen(text)), type, 0, A);
}

/* 4 x 6: rows {1, 4}, {}, {0, 2, 5}, {3}. */
static void check_small(const spmm_matrix_t *A)
{
    static const int64_t row_ptr[] = {0, 2, 2, 5, 6}, col[] = {1, 4, 0, 2, 5, 3};
    double               ones[6];

    for (int k = 0; k < 6; k++) {
        spmmi_value_set(A->type, ones, k, 1.0);
    }
    spmm_test_assert_rows(A, &(spmm_test_csr_t){4, 6, row_ptr, col, ones});
}

static void test_small(void **state)
{
    static const char *const texts[] = {
        "4, 6, 6\n0 2 2 5 6\n1 4 0 2 5 3\n",
        "4,6,6\n0 2 2 5 6 \n1 4 0 2 5 3",
        "4 , 6 , 6\r\n0 2 2 5 6\r\n1 4 0 2 5 3\r\n\r\n",
        "4, 6, 6\n0 2 2 5 6\n4 1 5 2 0 3\n",
    };

    for (int k = 0; k < 4; k++) {
        spmm_matrix_t *A = NULL;

        spmm_assert_ok(read_text(texts[k], k % 2 == 0 ? SPMM_R_16F : SPMM_R_64F, &A));
        check_small(A);
        spmmi_matrix_free(A);
    }
}

static void test_no_entries(void **state)
{
    spmm_matrix_t *A = NULL;

    spmm_assert_ok(read_text("3, 5, 0\n0 0 0 0\n\n", SPMM_R_32F, &A));
    assert_int_equal(A->rows, 3);
    assert_int_equal(A->cols, 5);
    assert_int_equal(A->nnz, 0);
    spmmi_matrix_free(A);
}

/* More text than is read at a time: a full matrix of 100 x 300. */
static void test_long_lines(void **state)
{
    enum { ROWS = 100, COLS = 300 };
    char          *text = spmm_test_malloc(ROWS * COLS * 4 + ROWS * 8 + 64);
    char          *at   = text;
    spmm_matrix_t *A    = NULL;

    at += sprintf(at, "%d, %d, %d\n", ROWS, COLS, ROWS * COLS);
    for (int i = 0; i <= ROWS; i++) {
        at += sprintf(at, "%d ", i * COLS);
    }
    for (int k = 0; k < ROWS * COLS; k++) {
        at += sprintf(at, "%s%d", k == 0 ? "\n" : " ", k % COLS);
    }
    spmm_assert_ok(read_text(text, SPMM_R_16BF, &A));
    assert_int_equal(A->nnz, ROWS * COLS);
    for (int64_t k = 0; k < spmmi_matrix_local_nnz(A); k++) {
        assert_int_equal(A->col_idx[k], k % COLS);
    }
    spmmi_matrix_free(A);
    free(text);
}

static void test_malformed(void **state)
{
    static const char *const bad[][2] = {
        {"4, 6, 6\n0 2 2 5 6\n1 4 0 2 5", "column index 5 (from 0) is missing"},
        {"4, 6, 6\n0 2 2", "row offset 3 (from 0) is missing"},
        {"4, 6", "the number of entries, number 2 (from 0) is missing"},
        {"4, 6, 6\n0 2 1 5 6\n1 4 0 2 5 3\n", "row offset 2 (from 0) is wrong"},
        {"4, 6, 6\n1 2 2 5 6\n1 4 0 2 5 3\n", "row offset 0 (from 0) is wrong"},
        {"4, 6, 6\n0 2 2 5 5\n1 4 0 2 5 3\n", "row offset 4 (from 0) is wrong"},
        {"4, 6, 6\n0 2 2 5 7\n1 4 0 2 5 3\n", "row offset 4 (from 0) is above"},
        {"4, 6, 6\n0 2 2 5 6\n1 6 0 2 5 3\n", "column index 1 (from 0) is above"},
        {"4, 6, 6\n0 2 2 5 6\n1 -4 0 2 5 3\n", "column index 1 (from 0) is not a number"},
        {"4, 6, 6\n0 2 2 5 6\n1 4.0 0 2 5 3\n", "column index 1 (from 0) is not a number"},
        {"4, 6, 6\n0 2 2 5 6\n1 4 0 2 5 3 7\n", "text follows after the last column index"},
        {"4, 6, 99999999999999999999\n", "has too many digits"},
        {"4000000, 6, 6\n", "is above what the sizes"},
    };

    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        spmm_matrix_t *A = NULL;

        spmm_assert_refused(read_text(bad[k][0], SPMM_R_64F, &A), A, SPMM_ERR_IO, bad[k][1]);
    }
}

SPMM_TESTS(test_small, test_no_entries, test_long_lines, test_malformed);

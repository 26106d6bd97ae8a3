/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
#include "test_main.h"

#include "matrix/matrix.h"

/* Rank p owns 3 + p rows and 10 columns, rank 0 no rows when there are more ranks; row i has
 * columns (7 k + i) mod 10 * size, k = 0 .. i % 6, in ascending or in this scattered order. */
enum { MAX_ROWS = 8, MAX_ENTRIES = MAX_ROWS * 6, COLS_PER_RANK = 10 };

typedef struct {
    int64_t n_rows, row_ptr[MAX_ROWS + 1], col_idx[MAX_ENTRIES];
    double  values[MAX_ENTRIES];
} arrays_t;

static int64_t rank_rows(int p)
{
    return p == 0 && spmm_test_env.size > 1 ? 0 : 3 + p;
}

static int64_t first_row(void)
{
    int64_t first = 0;

    for (int p = 0; p < spmm_test_env.rank; p++) {
        first += rank_rows(p);
    }
    return first;
}

static arrays_t make_arrays(bool scattered)
{
    const int64_t cols = (int64_t)COLS_PER_RANK * spmm_test_env.size;
    arrays_t      a    = {.n_rows = rank_rows(spmm_test_env.rank)};

    for (int64_t r = 0; r < a.n_rows; r++) {
        const int64_t i = first_row() + r;

        a.row_ptr[r + 1] = a.row_ptr[r] + (scattered ? i % 6 : i % 3);
        for (int64_t k = a.row_ptr[r]; k < a.row_ptr[r + 1]; k++) {
            a.col_idx[k] = scattered ? (7 * (k - a.row_ptr[r]) + i) % cols : k - a.row_ptr[r];
            a.values[k]  = spmmi_random_value(5, i, a.col_idx[k]);
        }
    }
    return a;
}

static spmm_status_t make(const arrays_t *a, spmm_matrix_t **A)
{
    spmmi_error_clear(&spmm_test_env.err);
    return spmmi_matrix_from_csr(&spmm_test_env, a->n_rows, COLS_PER_RANK, a->row_ptr, a->col_idx,
                                 a->values, SPMM_R_64F, A);
}

static void check_matrix(const arrays_t *a, const spmm_matrix_t *A)
{
    int64_t nnz = a->row_ptr[a->n_rows];

    MPI_Allreduce(MPI_IN_PLACE, &nnz, 1, MPI_INT64_T, MPI_SUM, spmm_test_env.comm);
    assert_int_equal(A->nnz, nnz);
    assert_int_equal(A->n_rows, a->n_rows);
    assert_int_equal(A->n_cols, COLS_PER_RANK);
    assert_int_equal(A->cols, COLS_PER_RANK * spmm_test_env.size);
    assert_int_equal(A->row_offset[spmm_test_env.rank], first_row());
    assert_int_equal(A->rows, A->row_offset[spmm_test_env.size]);
    for (int p = 0; p <= spmm_test_env.size; p++) {
        assert_int_equal(A->col_offset[p], COLS_PER_RANK * p);
    }
    for (int64_t r = 0; r < a->n_rows; r++) {
        assert_int_equal(A->row_ptr[r], a->row_ptr[r]);
        assert_int_equal(A->row_ptr[r + 1], a->row_ptr[r + 1]);
        for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
            const int64_t from = A->value_order != NULL ? A->value_order[k] : k;

            assert_true(k == A->row_ptr[r] || A->col_idx[k - 1] < A->col_idx[k]);
            assert_true(from >= a->row_ptr[r] && from < a->row_ptr[r + 1]);
            assert_int_equal(A->col_idx[k], a->col_idx[from]);
            assert_true(((const double *)A->values)[k] == a->values[from]);
        }
    }
}

static void test_sorted_rows(void **state)
{
    const arrays_t a = make_arrays(false);
    spmm_matrix_t *A = NULL;

    spmm_assert_ok(make(&a, &A));
    assert_null(A->value_order);
    check_matrix(&a, A);
    spmmi_matrix_free(A);
}

static void test_scattered_rows(void **state)
{
    const arrays_t a      = make_arrays(true);
    spmm_matrix_t *A      = NULL;
    bool           sorted = true;

    for (int64_t r = 0; r < a.n_rows; r++) {
        for (int64_t k = a.row_ptr[r] + 1; k < a.row_ptr[r + 1]; k++) {
            sorted = sorted && a.col_idx[k - 1] < a.col_idx[k];
        }
    }
    spmm_assert_ok(make(&a, &A));
    assert_int_equal(A->value_order == NULL, sorted);
    check_matrix(&a, A);
    spmmi_matrix_free(A);
}

/* A long row in reverse in each type: every value follows its column. */
static void test_long_row_of_each_type(void **state)
{
    enum { N = 5000 };
    static int64_t col_idx[N];
    static double  values[N];
    const int64_t  row_ptr[] = {0, N};

    for (int type = SPMM_R_64F; type <= SPMM_R_16BF; type++) {
        spmm_matrix_t *A = NULL;

        for (int64_t k = 0; k < N; k++) {
            col_idx[k] = N - 1 - k;
            spmmi_value_set((spmm_type_t)type, values, k, (double)(k % 250));
        }
        spmmi_error_clear(&spmm_test_env.err);
        spmm_assert_ok(spmmi_matrix_from_csr(&spmm_test_env, 1, N, row_ptr, col_idx, values,
                                             (spmm_type_t)type, &A));
        for (int64_t k = 0; k < N; k++) {
            assert_int_equal(A->col_idx[k], k);
            assert_int_equal(A->value_order[k], N - 1 - k);
            assert_true(spmmi_value_get((spmm_type_t)type, A->values, k) ==
                        (double)((N - 1 - k) % 250));
        }
        spmmi_matrix_free(A);
    }
}

static void test_empty(void **state)
{
    static const int64_t zeros[4];
    spmm_matrix_t       *A = NULL;

    spmm_assert_ok(spmmi_matrix_from_csr(&spmm_test_env, 0, 0, NULL, NULL, NULL, SPMM_R_32F, &A));
    assert_int_equal(A->rows + A->cols + A->nnz + A->row_ptr[0], 0);
    spmmi_matrix_free(A);
    spmm_assert_ok(spmmi_matrix_from_csr(&spmm_test_env, 3, 0, zeros, NULL, NULL, SPMM_R_32F, &A));
    assert_int_equal(A->rows, 3 * spmm_test_env.size);
    assert_int_equal(spmmi_matrix_local_nnz(A), 0);
    spmmi_matrix_free(A);
}

/* The last rank gives @p a, the others good arrays: all must fail, with these words. */
static void check_fails(const arrays_t *a, const char *words)
{
    const arrays_t good = make_arrays(true);
    spmm_matrix_t *A    = NULL;

    spmm_assert_refused(make(spmm_test_env.rank == spmm_test_env.size - 1 ? a : &good, &A), A,
                        SPMM_ERR_ARGUMENT, words);
}

/* Every broken rule names the global row and the entry.  The last rank's first rows are given
 * 2, 3 and 0 entries. */
static void test_broken_rules(void **state)
{
    arrays_t      bad  = {.n_rows  = rank_rows(spmm_test_env.rank),
                          .row_ptr = {0, 2, 5, 5, 5, 5, 5, 5, 5},
                          .col_idx = {4, 2, 3, 1, 2}};
    const int64_t last = spmm_test_env.size - 1;
    int64_t       row  = 0;
    char          words[128];

    for (int p = 0; p < last; p++) {
        row += rank_rows(p);
    }
    bad.row_ptr[0] = 1;
    check_fails(&bad, "row_ptr[0] is 1; it must be 0");
    bad.row_ptr[0] = 0;

    bad.row_ptr[2] = 1;
    (void)snprintf(words, sizeof words, "row %d (from 0): row_ptr[1] = 2 is above row_ptr[2] = 1",
                   (int)row + 1);
    check_fails(&bad, words);
    bad.row_ptr[2] = 5;

    bad.col_idx[3] = COLS_PER_RANK * spmm_test_env.size;
    (void)snprintf(words, sizeof words, "row %d, entry 1 (from 0; col_idx[3]): column %d is",
                   (int)row + 1, (int)bad.col_idx[3]);
    check_fails(&bad, words);
    bad.col_idx[3] = -1;
    check_fails(&bad, "column -1 is outside");

    bad.col_idx[3] = 2;
    (void)snprintf(words, sizeof words, "row %d, entry 2 (from 0; col_idx[4]): column 2 stands",
                   (int)row + 1);
    check_fails(&bad, words);

    bad.n_rows = -1;
    check_fails(&bad, "not -1 rows");
    bad.n_rows = (int64_t)1 << 31;
    check_fails(&bad, "not 2147483648 rows");
}

static void check_null(const int64_t *row_ptr, const int64_t *col_idx, const void *values,
                       spmm_type_t type, const char *words)
{
    spmm_matrix_t *A = NULL;

    spmm_assert_refused(
        spmmi_matrix_from_csr(&spmm_test_env, 1, 1, row_ptr, col_idx, values, type, &A), A,
        SPMM_ERR_ARGUMENT, words);
}

static void test_null_arrays_and_types(void **state)
{
    static const int64_t row_ptr[] = {0, 1}, col_idx[] = {0};
    static const double  values[] = {1.0};

    check_null(NULL, col_idx, values, SPMM_R_64F, "row_ptr is NULL");
    check_null(row_ptr, NULL, values, SPMM_R_64F, "col_idx is NULL");
    check_null(row_ptr, col_idx, NULL, SPMM_R_64F, "values is NULL");
    check_null(row_ptr, col_idx, values, SPMM_TYPE_AUTO, "type 0");
    check_null(row_ptr, col_idx, values, (spmm_type_t)9, "type 9");
}

SPMM_TESTS(test_sorted_rows, test_scattered_rows, test_long_row_of_each_type, test_empty,
           test_broken_rules, test_null_arrays_and_types);

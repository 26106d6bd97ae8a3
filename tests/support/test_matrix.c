/* SPDX-License-Identifier: Apache-2.0 */
#include "test_matrix.h"

#include "test_main.h"

enum { MOST_LOG = 16384 };

static bool none(int64_t i, int64_t j)
{
    return false;
}

static bool diagonal(int64_t i, int64_t j)
{
    return i == j;
}

static bool tridiagonal(int64_t i, int64_t j)
{
    return i - j <= 1 && j - i <= 1;
}

static bool scattered(int64_t i, int64_t j)
{
    return spmmi_hash2(7, i, j) % 12 == 0;
}

static bool dense_row(int64_t i, int64_t j)
{
    return i == 5 || i == j || spmmi_hash2(3, i, j) % 40 == 0;
}

static bool arrow(int64_t i, int64_t j)
{
    return i == j || i == 0 || j == 0;
}

static bool few_rows(int64_t i, int64_t j)
{
    return i % 9 == 4 && (i + j) % 3 == 0;
}

static bool full(int64_t i, int64_t j)
{
    return true;
}

static bool hidden_blocks(int64_t i, int64_t j)
{
    return i % 4 == (j * 7 + 3) % 4;
}

const spmm_test_rule_t spmm_test_hidden = {"hidden blocks", 160, 240, hidden_blocks};

const spmm_test_rule_t spmm_test_rules[] = {
    {"no rows", 0, 0, none},
    {"no entries", 30, 30, none},
    {"one entry", 1, 1, full},
    {"fewer rows than ranks", 3, 3, tridiagonal},
    {"small", 10, 10, scattered},
    {"diagonal", 100, 100, diagonal},
    {"tridiagonal", 150, 150, tridiagonal},
    {"scattered", 120, 120, scattered},
    {"dense row", 130, 130, dense_row},
    {"arrow", 140, 140, arrow},
    {"empty rows", 90, 90, few_rows},
    {"full", 80, 80, full},
    {"wide", 60, 200, scattered},
    {"wide dense row", 60, 100, dense_row},
    {"tall", 200, 40, scattered},
    {"one column", 90, 1, full},
    {"one row", 1, 90, full},
    {"no columns", 20, 0, none},
    {"no rows but columns", 0, 20, none},
    {NULL, 0, 0, NULL},
};

static void split(int64_t n, spmm_test_split_t how, int64_t *first, int64_t *last)
{
    const spmm_env_t *env = &spmm_test_env;

    if (how == SPMM_TEST_EVEN || env->size == 1) {
        *first = n * env->rank / env->size;
        *last  = n * (env->rank + 1) / env->size;
    } else if (how == SPMM_TEST_FIRST_EMPTY) {
        *first = env->rank == 0 ? 0 : n * (env->rank - 1) / (env->size - 1);
        *last  = n * env->rank / (env->size - 1);
    } else {
        *first = 0;
        *last  = env->rank == env->size - 1 ? n : 0;
    }
}

spmm_matrix_t *spmm_test_matrix(const spmm_test_rule_t *rule, spmm_test_split_t row_split,
                                spmm_test_split_t col_split)
{
    int64_t        first, last, first_col, last_col, nnz = 0;
    int64_t       *row_ptr, *col_idx;
    double        *values;
    spmm_matrix_t *A = NULL;

    split(rule->rows, row_split, &first, &last);
    split(rule->cols, col_split, &first_col, &last_col);
    assert_non_null(SPMM_NEW_ZERO(row_ptr, last - first + 1));
    assert_non_null(SPMM_NEW(col_idx, (last - first) * rule->cols));
    assert_non_null(SPMM_NEW(values, (last - first) * rule->cols));
    for (int64_t i = first; i < last; i++) {
        for (int64_t j = 0; j < rule->cols; j++) {
            if (rule->has(i, j)) {
                col_idx[nnz]  = j;
                values[nnz++] = 1.0;
            }
        }
        row_ptr[i - first + 1] = nnz;
    }
    spmm_assert_ok(spmmi_matrix_from_csr(&spmm_test_env, last - first, last_col - first_col,
                                         row_ptr, col_idx, values, SPMM_R_64F, &A));
    spmmi_free_all(row_ptr, col_idx, values);
    return A;
}

spmm_env_t spmm_test_alone(void)
{
    return (spmm_env_t){.comm = MPI_COMM_SELF, .rank = 0, .size = 1};
}

spmm_matrix_t *spmm_test_generate(spmm_env_t *env, const char *spec, uint64_t seed)
{
    spmm_matrix_t *A = NULL;

    spmmi_error_clear(&env->err);
    spmm_assert_ok(spmmi_matrix_from_spec(env, spec, SPMM_R_32F, seed, &A));
    return A;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

bool spmm_test_has(const spmm_matrix_t *A, int32_t r, int64_t col)
{
    return bsearch(&col, A->col_idx + A->row_ptr[r], (size_t)(A->row_ptr[r + 1] - A->row_ptr[r]),
                   sizeof col, compare) != NULL;
}

void spmm_test_assert_rows(const spmm_matrix_t *A, const spmm_test_csr_t *want)
{
    const int     rank = spmm_test_env.rank, size = spmm_test_env.size;
    const int64_t first = A->row_offset[rank];
    const size_t  value = spmm_type_size(A->type);

    assert_true(A->rows == want->rows && A->cols == want->cols);
    assert_int_equal(A->nnz, want->row_ptr[want->rows]);
    assert_int_equal(A->row_offset[0] + A->col_offset[0], 0);
    assert_true(A->row_offset[size] == want->rows && A->col_offset[size] == want->cols);
    assert_int_equal(A->row_offset[rank + 1] - first, A->n_rows);
    assert_int_equal(A->col_offset[rank + 1] - A->col_offset[rank], A->n_cols);
    for (int64_t i = 0; i < A->n_rows; i++) {
        const int64_t at = want->row_ptr[first + i], n = want->row_ptr[first + i + 1] - at;

        assert_int_equal(A->row_ptr[i + 1] - A->row_ptr[i], n);
        assert_memory_equal(A->col_idx + A->row_ptr[i], want->col_idx + at,
                            (size_t)n * sizeof *A->col_idx);
        assert_memory_equal((const char *)A->values + (size_t)A->row_ptr[i] * value,
                            (const char *)want->values + (size_t)at * value, (size_t)n * value);
    }
}

static void keep_line(void *user, const char *line)
{
    char        *lines = user;
    const size_t used  = strlen(lines);

    assert_true(used + strlen(line) + 2 < MOST_LOG);
    (void)snprintf(lines + used, MOST_LOG - used, "%s\n", line);
}

const char *spmm_test_keep_log(bool keep)
{
    static char lines[MOST_LOG];

    if (keep) {
        lines[0] = '\0';
    }
    spmm_test_env.log      = keep ? keep_line : NULL;
    spmm_test_env.log_user = lines;
    return lines;
}

void spmm_test_all_matrices(void (*check)(const spmm_test_rule_t *rule, const spmm_matrix_t *A))
{
    const spmm_test_split_t splits[][2] = {{SPMM_TEST_EVEN, SPMM_TEST_EVEN},
                                           {SPMM_TEST_FIRST_EMPTY, SPMM_TEST_FIRST_EMPTY},
                                           {SPMM_TEST_ALL_ON_LAST, SPMM_TEST_ALL_ON_LAST},
                                           {SPMM_TEST_EVEN, SPMM_TEST_ALL_ON_LAST}};

    for (const spmm_test_rule_t *rule = spmm_test_rules; rule->name != NULL; rule++) {
        for (size_t s = 0; s < sizeof splits / sizeof splits[0]; s++) {
            spmm_matrix_t *A = spmm_test_matrix(rule, splits[s][0], splits[s][1]);

            check(rule, A);
            spmmi_matrix_free(A);
        }
    }
}

int32_t *spmm_test_gather(const int64_t *offset, const int32_t *part)
{
    const spmm_env_t *env = &spmm_test_env;
    int32_t          *all;
    int              *count, *start;

    assert_non_null(SPMM_NEW(all, offset[env->size]));
    assert_non_null(SPMM_NEW(count, env->size));
    assert_non_null(SPMM_NEW(start, env->size));
    for (int p = 0; p < env->size; p++) {
        start[p] = (int)offset[p];
        count[p] = (int)(offset[p + 1] - offset[p]);
    }
    MPI_Allgatherv(part, count[env->rank], MPI_INT32_T, all, count, start, MPI_INT32_T, env->comm);
    spmmi_free_all(count, start);
    return all;
}

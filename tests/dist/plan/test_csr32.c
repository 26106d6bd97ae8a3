/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 */
/* test: RANKS 1 2 DEVICE cuda */
/* A from 32-bit indices, in memory of the device: the same rows as from 64-bit indices, more
 * columns than 32 bits can name, and refusals.  Products are those of test_plan.c. */
#include "plan_case.h"

/* What a plan is made of, to the bit. */
static void test_same_rows(void **state)
{
    const shape_t      shape = {61, 47, 5, 17};
    spmm_matrix_info_t info  = {.struct_size = sizeof info};
    const int64_t     *row_ptr[2], *col[2];
    const void        *values[2];
    spmm_matrix_t     *A[2];

    for (int narrow = 0; narrow < 2; narrow++) {
        A[narrow] =
            plan_case_matrix(&shape, &(product_t){.type = SPMM_R_64F, .narrow = narrow == 1});
        spmm_assert_ok(
            spmm_matrix_get_csr(A[narrow], &row_ptr[narrow], &col[narrow], &values[narrow]));
    }
    spmm_assert_ok(spmm_matrix_get_info(A[0], &info));
    assert_memory_equal(row_ptr[0], row_ptr[1], ((size_t)info.local_rows + 1) * sizeof **row_ptr);
    assert_memory_equal(col[0], col[1], (size_t)info.local_nnz * sizeof **col);
    assert_memory_equal(values[0], values[1], (size_t)info.local_nnz * sizeof(double));
    test_context_destroy(NULL, &A[0], NULL);
    test_context_destroy(NULL, &A[1], NULL);
}

/* The last column that 32 bits can name lies on the second rank, where there is one. */
static void test_many_columns(void **state)
{
    const int32_t      row_ptr[] = {0, 2}, col[] = {INT32_MAX - (spmm_test_env.size == 1), 0};
    const double       values[] = {1.0, 2.0};
    const int64_t     *ptr, *columns;
    const void        *stored;
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    spmm_matrix_t     *A    = NULL;

    spmm_assert_ok(
        spmm_matrix_create_csr32(ctx, 1, INT32_MAX, row_ptr, col, values, SPMM_R_64F, &A));
    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    assert_true(info.cols == (int64_t)INT32_MAX * spmm_test_env.size);
    spmm_assert_ok(spmm_matrix_get_csr(A, &ptr, &columns, &stored));
    assert_true(columns[0] == 0 && columns[1] == col[0]);
    assert_true(((const double *)stored)[0] == 2.0 && ((const double *)stored)[1] == 1.0);
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

/* Arguments of one rank; those of the others are good. */
typedef struct {
    int64_t        n_rows, n_cols;
    const int32_t *row_ptr, *col_idx;
    const double  *values;
    spmm_type_t    type;
    const char    *sentence; /* part of what all ranks hear */
} call_t;

static const int32_t ptr[] = {0, 1, 2}, falls[] = {0, 2, 1}, late[] = {1, 1, 2},
                     wraps[] = {0, 2, -2};
static const int32_t full[] = {0, 2, 2}, col[] = {0, 1}, same[] = {1, 1}, low[] = {0, INT32_MIN},
                     high[]   = {0, INT32_MAX};
static const double entries[] = {1.0, 2.0};

static spmm_status_t call(const call_t *c, spmm_matrix_t **A)
{
    return spmm_matrix_create_csr32(ctx, c->n_rows, c->n_cols, c->row_ptr, c->col_idx, c->values,
                                    c->type, A);
}

static void test_refused(void **state)
{
    const int64_t most  = INT32_MAX;
    const call_t  good  = {2, 2, ptr, col, entries, SPMM_R_64F, ""};
    const call_t  none  = {0, 0, NULL, NULL, NULL, SPMM_R_64F, ""};
    const call_t  bad[] = {
         {-1, 2, ptr, col, entries, SPMM_R_64F, "n_rows is -1"},
         {most + 1, 2, ptr, col, entries, SPMM_R_64F, "n_rows is 2147483648"},
         {2, -1, ptr, col, entries, SPMM_R_64F, "and -1 columns"},
         {2, most + 1, ptr, col, entries, SPMM_R_64F, "and 2147483648 columns"},
         {2, 2, NULL, col, entries, SPMM_R_64F, "row_ptr NULL"},
         {2, 2, ptr, NULL, entries, SPMM_R_64F, "col_idx is NULL but row_ptr announces 2"},
         {2, 2, ptr, col, NULL, SPMM_R_64F, "values is NULL but row_ptr announces 2"},
         {2, 2, ptr, col, entries, (spmm_type_t)99, "99"},
         {2, 2, falls, col, entries, SPMM_R_64F, "row_ptr[1] = 2 is above row_ptr[2] = 1"},
         {2, 2, late, col, entries, SPMM_R_64F, "row_ptr starts with 1"},
         {2, 2, wraps, col, entries, SPMM_R_64F, "ends with -2"},
         {2, 2, ptr, low, entries, SPMM_R_64F, "column -2147483648 is outside"},
         {2, 2, ptr, high, entries, SPMM_R_64F, "column 2147483647 is outside"},
         {2, 2, full, same, entries, SPMM_R_64F, "column 1 stands in this row already"},
    };
    const bool     last = spmm_test_is_last();
    const int64_t  live = spmmi_alloc_get_stats().live;
    spmm_matrix_t *A    = NULL;

    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        test_context_refused(ctx, call(last ? &bad[k] : &good, &A), SPMM_ERR_ARGUMENT,
                             bad[k].sentence);
        assert_null(A);
        assert_int_equal(spmmi_alloc_get_stats().live, live);
    }
    test_context_refused(ctx, call(&good, last ? NULL : &A), SPMM_ERR_ARGUMENT,
                         "spmm_matrix_create_csr32: A is NULL");
    test_context_refused(NULL,
                         spmm_matrix_create_csr32(NULL, 0, 0, NULL, NULL, NULL, SPMM_R_64F, &A),
                         SPMM_ERR_ARGUMENT, "spmm_matrix_create_csr32: ctx is NULL");
    spmm_assert_ok(call(last ? &none : &good, &A)); /* in the same context */
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

PLAN_TESTS(test_same_rows, test_many_columns, test_refused);

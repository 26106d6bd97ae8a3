/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 */
/* test: RANKS 1 2 DEVICE cuda */
/* A from 32-bit indices, in memory of the device: right products, the same bits as from 64-bit
 * indices, more columns than 32 bits can name, and what is refused. */
#include "plan_case.h"

enum { MOST_ROWS = 32, MOST_ENTRIES = MOST_ROWS * 9, COLS = 31 /* of each rank */, N = 5 };

/* In FP64, as the engines' tests; with new values in the caller's order. */
static void test_products(void **state)
{
    const shape_t     shapes[] = {{61, 47, 5, 17}, {23, 70, 4, 5}, {2, 3, 1, -1},
                                  {12, 0, 0, -1},  {0, 12, 0, -1}, {30, 30, 0, -1}};
    const spmm_type_t types[]  = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF};

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (int t = 0; t < 4; t++) {
            check_plan(&shapes[s], &(product_t){.type      = types[t],
                                                .op        = t % 2 == 0 ? SPMM_OP_N : SPMM_OP_T,
                                                .layout    = SPMM_LAYOUT_ROW,
                                                .partition = t < 2 ? "block" : NULL,
                                                .n         = N,
                                                .alpha     = 1.5,
                                                .beta      = -0.5,
                                                .narrow    = true});
        }
    }
}

/* Row i has i % 9 entries in columns 13 k + 7 i, of all ranks and in no order. */
typedef struct {
    int64_t n_rows, row_ptr[MOST_ROWS + 1], col_idx[MOST_ENTRIES];
    double  values[MOST_ENTRIES];
} rows_t;

static rows_t make_rows(void)
{
    const int rank = spmm_test_env.rank, size = spmm_test_env.size;
    rows_t    r = {.n_rows = size > 2 && rank == 1 ? 0 : 11 + 5 * rank};

    assert_true(r.n_rows <= MOST_ROWS);
    for (int64_t i = 0; i < r.n_rows; i++) {
        r.row_ptr[i + 1] = r.row_ptr[i] + (i + rank) % 9;
        for (int64_t k = r.row_ptr[i]; k < r.row_ptr[i + 1]; k++) {
            r.col_idx[k] = (13 * (k - r.row_ptr[i]) + 7 * i) % (COLS * size);
            r.values[k]  = spmmi_random_value(3, i + 100 * rank, k);
        }
    }
    return r;
}

static spmm_matrix_t *create(const rows_t *r, bool narrow)
{
    const int64_t  nnz     = r->row_ptr[r->n_rows];
    const size_t   offsets = (size_t)r->n_rows + 1;
    void          *values  = to_device(r->values, (size_t)nnz * sizeof *r->values);
    spmm_matrix_t *A       = NULL;
    void          *row_ptr, *col;

    if (narrow) {
        row_ptr = to_device_narrow(r->row_ptr, r->n_rows + 1);
        col     = to_device_narrow(r->col_idx, nnz);
        spmm_assert_ok(
            spmm_matrix_create_csr32(ctx, r->n_rows, COLS, row_ptr, col, values, SPMM_R_64F, &A));
    } else {
        row_ptr = to_device(r->row_ptr, offsets * sizeof *r->row_ptr);
        col     = to_device(r->col_idx, (size_t)nnz * sizeof *r->col_idx);
        spmm_assert_ok(
            spmm_matrix_create_csr(ctx, r->n_rows, COLS, row_ptr, col, values, SPMM_R_64F, &A));
    }
    test_context_free(ctx, &row_ptr, &col, &values);
    return A;
}

/* The product of A and a random block, freed with free(). */
static double *multiply(spmm_matrix_t *A, int64_t n_rows)
{
    const size_t        bytes = (size_t)n_rows * N * sizeof(double);
    spmm_plan_options_t o     = SPMM_PLAN_OPTIONS_INIT;
    double             *host  = calloc((size_t)n_rows * N + 1, sizeof *host), block[COLS * N];
    spmm_plan_t        *plan  = NULL;
    void               *B, *C;

    assert_non_null(host);
    for (int k = 0; k < COLS * N; k++) {
        block[k] = spmmi_random_value(4, spmm_test_env.rank, k);
    }
    B               = to_device(block, sizeof block);
    C               = to_device(host, bytes);
    o.deterministic = 1;
    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, host, C, bytes));
    spmm_assert_ok(spmm_plan_destroy(&plan));
    test_context_free(ctx, &B, &C);
    return host;
}

static void test_same_bits(void **state)
{
    const rows_t   r = make_rows();
    const int64_t  n = r.n_rows, nnz = r.row_ptr[n];
    const int64_t *row_ptr[2], *col[2];
    const void    *values[2];
    double        *C[2];
    spmm_matrix_t *A[2];

    for (int narrow = 0; narrow < 2; narrow++) {
        A[narrow] = create(&r, narrow == 1);
        C[narrow] = multiply(A[narrow], n);
        spmm_assert_ok(
            spmm_matrix_get_csr(A[narrow], &row_ptr[narrow], &col[narrow], &values[narrow]));
    }
    assert_memory_equal(row_ptr[0], row_ptr[1], ((size_t)n + 1) * sizeof **row_ptr);
    assert_memory_equal(col[0], col[1], (size_t)nnz * sizeof **col);
    assert_memory_equal(values[0], values[1], (size_t)nnz * sizeof(double));
    assert_memory_equal(C[0], C[1], (size_t)n * N * sizeof(double));
    for (int narrow = 0; narrow < 2; narrow++) {
        spmm_assert_ok(spmm_matrix_destroy(&A[narrow]));
        free(C[narrow]);
    }
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
         {2, 2, ptr, col, entries, (spmm_type_t)99, "type 99"},
         {2, 2, falls, col, entries, SPMM_R_64F, "row_ptr[1] = 2 is above row_ptr[2] = 1"},
         {2, 2, late, col, entries, SPMM_R_64F, "row_ptr starts with 1"},
         {2, 2, wraps, col, entries, SPMM_R_64F, "ends with -2"},
         {2, 2, ptr, low, entries, SPMM_R_64F, "column -2147483648 is outside"},
         {2, 2, ptr, high, entries, SPMM_R_64F, "column 2147483647 is outside"},
         {2, 2, full, same, entries, SPMM_R_64F, "column 1 stands in this row already"},
    };
    const bool         last = spmm_test_env.rank == spmm_test_env.size - 1;
    spmm_matrix_t     *A    = NULL;
    spmm_alloc_stats_t before;

    before = spmmi_alloc_get_stats();
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(call(last ? &bad[k] : &good, &A), SPMM_ERR_ARGUMENT);
        assert_null(A);
        if (strstr(spmm_last_error(ctx), bad[k].sentence) == NULL) {
            fail_msg("\"%s\" is not in: %s", bad[k].sentence, spmm_last_error(ctx));
        }
        assert_true(spmmi_alloc_get_stats().live == before.live);
    }
    assert_int_equal(call(&good, last ? NULL : &A), SPMM_ERR_ARGUMENT);
    assert_non_null(strstr(spmm_last_error(ctx), "spmm_matrix_create_csr32: A is NULL"));
    assert_int_equal(spmm_matrix_create_csr32(NULL, 0, 0, NULL, NULL, NULL, SPMM_R_64F, &A),
                     SPMM_ERR_ARGUMENT);
    assert_non_null(strstr(spmm_last_error(NULL), "spmm_matrix_create_csr32: ctx is NULL"));
    spmm_assert_ok(call(last ? &none : &good, &A)); /* in the same context */
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

PLAN_TESTS(test_products, test_same_bits, test_many_columns, test_refused);

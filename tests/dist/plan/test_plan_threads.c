/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 */
/** @file test_plan_threads.c  Plans made by 1, 2, 3 and 8 threads: the same product to the last
 *  bit, and twice it with values twice as large, for rows that stay and rows that move, op N and T.
 *  Sums run over the entries of a row in the order of the block, so that a block in another order
 *  would show.  An engine that needs ascending columns must come to the same product. */
#include "test_context.h"

#include <omp.h>

enum { N = 3, N_COUNTS = 4 };

static void double_values(spmm_matrix_t *A)
{
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    const int64_t     *row_ptr, *col;
    const double      *old;
    double            *values;

    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    spmm_assert_ok(spmm_matrix_get_csr(A, &row_ptr, &col, (const void **)&old));
    assert_non_null(SPMM_NEW(values, info.local_nnz));
    for (int64_t k = 0; k < info.local_nnz; k++) {
        values[k] = 2.0 * old[k];
    }
    spmm_assert_ok(spmm_matrix_update_values(A, values));
    spmmi_free(values);
}

/* The entries of C, to be freed, for a plan by @p threads. */
static double *multiply(int threads, const char *engine, const char *partition, spmm_op_t op,
                        int64_t *count)
{
    const spmm_context_options_t device = {.struct_size = sizeof device, .device = SPMM_DEVICE_CPU};
    spmm_plan_options_t          o      = SPMM_PLAN_OPTIONS_INIT;
    spmm_layout_info_t           b = {.struct_size = sizeof b}, c = {.struct_size = sizeof c};
    spmm_context_t              *ctx;
    spmm_matrix_t               *A;
    spmm_plan_t                 *plan;
    double                      *B, *C, *twice;

    o.op        = op;
    o.partition = partition;
    o.engine    = engine;
    omp_set_num_threads(threads);
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &device, &ctx));
    spmm_assert_ok(
        spmm_matrix_generate(ctx, "rmat:scale=11,degree=9,shuffle=1", SPMM_R_64F, 5, &A));
    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &b));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &c));
    *count = c.local_rows * N;
    assert_non_null(SPMM_NEW(B, b.local_rows * N));
    assert_non_null(SPMM_NEW(C, *count));
    assert_non_null(SPMM_NEW(twice, *count));
    for (int64_t k = 0; k < b.local_rows * N; k++) {
        B[k] = 1.0 / (double)(1 + b.global_row[k / N] + k % N);
    }
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, NULL));
    double_values(A);
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, twice, N, NULL));
    for (int64_t k = 0; k < *count; k++) {
        assert_true(twice[k] == 2.0 * C[k]);
    }
    spmmi_free_all(B, twice);
    test_context_destroy(&plan, &A, &ctx);
    return C;
}

static void check(const char *partition, spmm_op_t op)
{
    const int counts[N_COUNTS] = {1, 2, 3, 8};
    int64_t   n, n_first;
    double   *other;
    double   *first = multiply(counts[0], "csr-cpu", partition, op, &n_first);

    for (int t = 1; t < N_COUNTS; t++) {
        double *C = multiply(counts[t], "csr-cpu", partition, op, &n);

        assert_int_equal(n, n_first);
        assert_memory_equal(C, first, (size_t)n * sizeof *C);
        spmmi_free(C);
    }
    other = multiply(2, "dmma", partition, op, &n);
    for (int64_t k = 0; k < n_first; k++) {
        assert_true(fabs(other[k] - first[k]) <= 1e-12 * fabs(first[k]));
    }
    spmmi_free_all(other, first);
}

static void test_thread_counts(void **state)
{
    /* Set: the library takes the number from OpenMP even where there are fewer cores. */
    assert_non_null(getenv("OMP_NUM_THREADS"));
    check("keep", SPMM_OP_N);
    check("keep", SPMM_OP_T);
    check("block", SPMM_OP_N);
#ifdef SPMM_HAVE_METIS
    check("metis", SPMM_OP_N);
    check("metis", SPMM_OP_T);
#endif
#ifdef SPMM_HAVE_PTSCOTCH
    check("ptscotch", SPMM_OP_N);
#endif
}

SPMM_TESTS(test_thread_counts);

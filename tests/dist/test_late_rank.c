/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_late_rank.c
 *  A rank is late for an exchange, and the others destroy their plans meanwhile: messages that MPI
 *  cannot take back any more find their memory.
 */
#define _DEFAULT_SOURCE /* usleep() */
#include "test_main.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"
#include "spmm_dist/spmm_dist.h"

enum { ROWS = 4, COLUMNS = 32768, BLOCKS = 4 }; /* messages of 1 MiB, which travel in pieces */

static spmm_context_t *ctx;

/* Every rank needs all rows of all others. */
static spmm_matrix_t *create_full(void)
{
    const int      cols    = ROWS * spmm_test_env.size;
    int64_t       *row_ptr = malloc((ROWS + 1) * sizeof *row_ptr);
    int64_t       *col     = malloc((size_t)(ROWS * cols) * sizeof *col);
    double        *values  = malloc((size_t)(ROWS * cols) * sizeof *values);
    spmm_matrix_t *A       = NULL;

    assert_true(row_ptr != NULL && col != NULL && values != NULL);
    row_ptr[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        row_ptr[i + 1] = row_ptr[i] + cols;
        for (int j = 0; j < cols; j++) {
            col[i * cols + j]    = j;
            values[i * cols + j] = 1.0;
        }
    }
    spmm_assert_ok(spmm_matrix_create_csr(ctx, ROWS, ROWS, row_ptr, col, values, SPMM_R_64F, &A));
    free(row_ptr);
    free(col);
    free(values);
    return A;
}

/* Starts the exchange in time and makes no call of MPI for longer than the timeout. */
static void run_late(spmm_plan_t *plan, double *B, double *C)
{
    const spmm_operands_t x = {
        .n = COLUMNS, .alpha = 1.0, .B = B, .C = C, .ldb = COLUMNS, .ldc = COLUMNS};
    const spmm_slice_t all = {.n = COLUMNS, .halo = plan->halo_rows};

    spmm_assert_ok(spmm_plan_begin_rows(plan, &x, &all, NULL));
    (void)usleep(1500000);
    (void)spmm_plan_end_rows(plan, &x, &all, NULL); /* others may have come to it or not */
}

static void late_rank(spmm_op_t op)
{
    const spmm_context_options_t options = {
        .struct_size = sizeof options, .device = SPMM_DEVICE_CPU, .timeout_s = 0.4};
    spmm_plan_options_t o     = SPMM_PLAN_OPTIONS_INIT;
    const size_t        bytes = (size_t)ROWS * COLUMNS * sizeof(double);
    const bool          late  = spmm_test_env.rank == spmm_test_env.size - 1;
    const size_t        halo  = bytes * (size_t)(spmm_test_env.size - 1);
    double             *B = calloc(1, bytes), *C = calloc(1, bytes);
    unsigned char      *block[BLOCKS];
    spmm_matrix_t      *A;
    spmm_plan_t        *plan;

    assert_true(B != NULL && C != NULL);
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &options, &ctx));
    A    = create_full();
    o.op = op;
    spmm_assert_ok(spmm_plan_create(A, COLUMNS, &o, &plan));
    MPI_Barrier(spmm_test_env.comm);
    if (late) {
        run_late(plan, B, C);
    } else {
        assert_int_equal(spmm_execute(plan, COLUMNS, 1.0, B, COLUMNS, 0.0, C, COLUMNS, NULL),
                         SPMM_ERR_COMM);
    }
    spmm_assert_ok(spmm_plan_destroy(&plan));
    for (int k = 0; k < BLOCKS; k++) { /* where the rows of the plan may have been */
        block[k] = malloc(halo);
        assert_non_null(block[k]);
        memset(block[k], 0x5a, halo);
    }
    MPI_Barrier(spmm_test_env.comm); /* the late rank's messages go on */
    for (int k = 0; k < BLOCKS; k++) {
        for (size_t i = 0; i < halo; i++) {
            assert_int_equal(block[k][i], 0x5a);
        }
        free(block[k]);
    }
    MPI_Barrier(spmm_test_env.comm);
    spmm_assert_ok(spmm_matrix_destroy(&A));
    spmm_assert_ok(spmm_context_destroy(&ctx));
    free(B);
    free(C);
}

static void test_op_n(void **state)
{
    (void)state;
    late_rank(SPMM_OP_N);
}

static void test_op_t(void **state)
{
    (void)state;
    late_rank(SPMM_OP_T);
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_op_n), cmocka_unit_test(test_op_t), {0}};

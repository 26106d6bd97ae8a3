/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 */
/** @file test_split.c
 *  A square matrix whose rows and columns are split differently: all rows on rank 0, all rows of B
 *  on the last rank; columns not in order, and several plans of it at once.
 */
#include "test_main.h"

#include "spmm_dist/spmm_dist.h"

enum { ROWS = 40, N_PLANS = 6 };

/* Row i: i + 1 on the diagonal, then 1 left of it; all times @p scale.  Returns the entries. */
static int64_t fill(double scale, int64_t *row_ptr, int64_t *col, double *values)
{
    const int64_t rows = spmm_test_env.rank == 0 ? ROWS : 0;
    int64_t       nnz  = 0;

    row_ptr[0] = 0;
    for (int i = 0; i < rows; i++) {
        col[nnz]      = i;
        values[nnz++] = scale * (i + 1.0);
        if (i > 0) {
            col[nnz]      = i - 1;
            values[nnz++] = scale;
        }
        row_ptr[i + 1] = nnz;
    }
    return rows;
}

static void create(spmm_context_t *ctx, spmm_matrix_t **A)
{
    const int64_t cols = spmm_test_env.rank == spmm_test_env.size - 1 ? ROWS : 0;
    int64_t       row_ptr[ROWS + 1], col[2 * ROWS];
    double        values[2 * ROWS];
    const int64_t rows = fill(1.0, row_ptr, col, values);

    spmm_assert_ok(spmm_matrix_create_csr(ctx, rows, cols, row_ptr, col, values, SPMM_R_64F, A));
}

static void update(spmm_matrix_t *A, double scale)
{
    int64_t row_ptr[ROWS + 1], col[2 * ROWS];
    double  values[2 * ROWS];

    (void)fill(scale, row_ptr, col, values);
    spmm_assert_ok(spmm_matrix_update_values(A, values));
}

static double b_at(int64_t row)
{
    return row < 0 || row >= ROWS ? 0.0 : (double)(row * row % 11) + 0.5;
}

static double c_at(spmm_op_t op, int64_t row)
{
    return ((double)row + 1.0) * b_at(row) + b_at(op == SPMM_OP_N ? row - 1 : row + 1);
}

static spmm_plan_t *make_plan(spmm_matrix_t *A, spmm_op_t op, const char *partition)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan;

    o.op        = op;
    o.partition = partition;
    spmm_assert_ok(spmm_plan_create(A, 1, &o, &plan));
    return plan;
}

/* C must be @p scale times that of the matrix as created. */
static void check(spmm_plan_t *plan, spmm_op_t op, double scale)
{
    spmm_layout_info_t b = {.struct_size = sizeof b}, c = {.struct_size = sizeof c};
    int64_t            total;
    double            *B, *C;

    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &b));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &c));
    total = c.local_rows;
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, spmm_test_env.comm);
    assert_int_equal(total, ROWS);
    assert_non_null(SPMM_NEW(B, b.local_rows));
    assert_non_null(SPMM_NEW(C, c.local_rows));
    for (int64_t i = 0; i < b.local_rows; i++) {
        B[i] = b_at(b.global_row[i]);
    }
    spmm_assert_ok(spmm_execute(plan, 1, 1.0, B, 1, 0.0, C, 1, NULL));
    for (int64_t i = 0; i < c.local_rows; i++) {
        /* small integers and halves: exact */
        assert_true(C[i] == scale * c_at(op, c.global_row[i]));
    }
    spmmi_free_all(B, C);
}

static spmm_op_t op_of(int p)
{
    return p % 2 == 0 ? SPMM_OP_N : SPMM_OP_T;
}

static void test_several_plans(void **state)
{
    const spmm_context_options_t options      = {.struct_size = sizeof options,
                                                 .device      = SPMM_DEVICE_CPU};
    const char *const            partitions[] = {NULL, "block", "auto"};
    spmm_context_t              *ctx;
    spmm_plan_t                 *plan[N_PLANS];
    spmm_matrix_t               *A;

    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &options, &ctx));
    create(ctx, &A);
    for (int p = 0; p < N_PLANS; p++) {
        plan[p] = make_plan(A, op_of(p), partitions[p / 2]);
        check(plan[p], op_of(p), 1.0);
    }
    for (int round = 2; round < 4; round++) {
        update(A, round);
        for (int p = 0; p < N_PLANS; p++) {
            check(plan[p], op_of(p), round);
        }
        spmm_assert_ok(spmm_plan_destroy(&plan[round])); /* the others live on */
        plan[round] = make_plan(A, op_of(round), "block");
    }
    for (int p = 0; p < N_PLANS; p++) {
        spmm_assert_ok(spmm_plan_destroy(&plan[p]));
    }
    spmm_assert_ok(spmm_matrix_destroy(&A));
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

SPMM_TESTS(test_several_plans);

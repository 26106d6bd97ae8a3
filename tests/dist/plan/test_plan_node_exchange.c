/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 4 */
/** @file test_plan_node_exchange.c  Key exchange of option tuning: what is taken and reported.
 *  Refusals are those of test_refusals.c; test_plan.c and test_sddmm.c, run as nodes, have the
 *  products. */
#include "test_context.h"

#include <stdlib.h>

static spmm_context_t *ctx;
static spmm_matrix_t  *A;

static void open_nodes(int ranks_per_node)
{
    ctx = test_context_on(spmm_test_env.comm, ranks_per_node);
    spmm_assert_ok(spmm_matrix_generate(ctx, "rmat:scale=9,degree=8", SPMM_R_64F, 1, &A));
}

static void close_nodes(void)
{
    test_context_destroy(NULL, &A, &ctx);
}

/* Rows needed of other ranks are named alike, whatever way they take. */
static void check_named(const spmm_plan_t *flat, const spmm_plan_t *node, int64_t count)
{
    int64_t *const want = spmm_test_calloc((size_t)count, sizeof *want);
    int64_t *const rows = spmm_test_calloc((size_t)count, sizeof *rows);

    spmm_assert_ok(spmm_plan_get_halo(flat, want));
    spmm_assert_ok(spmm_plan_get_halo(node, rows));
    assert_memory_equal(rows, want, (size_t)count * sizeof *rows);
    spmm_test_free(want, rows);
}

/* Of 4 ranks on 2 nodes each row crosses once, where flat exchanges send some twice; all that comes
 * is traced. */
static void check_counts(spmm_op_t op)
{
    spmm_plan_t      *flat = test_context_plan(A, 3, .op = op, .tuning = "exchange=flat");
    spmm_plan_t      *node = test_context_plan(A, 3, .op = op, .tuning = "exchange=node");
    spmm_plan_stats_t f = test_context_stats(flat), n = test_context_stats(node);
    int64_t           rows[4], sum                    = 0;

    assert_string_equal(f.exchange, "flat");
    assert_string_equal(n.exchange, "node");
    assert_true(n.between.rows < f.between.rows);
    assert_true(n.between.rows >= (f.between.rows + 1) / 2);
    assert_true(n.between.rows_max <= (n.between.rows + 1) / 2 + 1);
    assert_true(n.between.messages == 4 && n.between.messages_max == 1);
    assert_true(f.between.messages == 8);
    assert_true(n.send_rows < f.send_rows || op == SPMM_OP_T);
    assert_true(op == SPMM_OP_T || n.halo_rows == f.halo_rows);
    check_named(flat, node, op == SPMM_OP_T ? f.send_rows : f.halo_rows);
    spmm_assert_ok(spmm_plan_get_traffic(node, rows));
    for (int p = 0; p < 4; p++) {
        sum += rows[p];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, spmm_test_env.comm);
    assert_int_equal(sum, n.between.rows + n.within.rows);
    test_context_explains(node, "exchange node: one is predicted to take ");
    test_context_explains(flat, "exchange flat: node is not asked for");
    test_context_destroy(&flat, NULL, NULL);
    test_context_destroy(&node, NULL, NULL);
}

static void test_counts(void **state)
{
    if (spmm_test_env.size == 4) {
        open_nodes(2);
        check_counts(SPMM_OP_N);
        check_counts(SPMM_OP_T);
        close_nodes();
    }
}

/* Auto takes either, and says what it went by. */
static void test_auto(void **state)
{
    spmm_plan_t *plan;

    open_nodes(2);
    plan = test_context_plan_of(A, 3, NULL);
    if (spmm_test_env.size == 1) {
        assert_string_equal(test_context_stats(plan).exchange, "flat");
    } else {
        test_context_explains(plan, ": one is predicted to take ");
    }
    test_context_destroy(&plan, NULL, NULL);
    close_nodes();
}

SPMM_TESTS(test_counts, test_auto);

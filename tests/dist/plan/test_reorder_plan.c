/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 DEVICE cuda */
/** @file test_reorder_plan.c  Plans whose blocks are multiplied in another order of rows: what
 *  they say, and when it pays.  Products are those of test_plan.c. */
#include <math.h>

#include "device_test.h"
#include "plan/blocks/order.h"
#include "plan/plan.h"
#include "plan_case.h"

/* What stats and the explanation say of it. */
static void test_report(void **state)
{
    spmm_plan_t   *plan;
    spmm_matrix_t *A;

    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil9:nx=60,ny=50,shuffle=1", SPMM_R_32F, 1, &A));
    plan = test_context_plan(A, 16, .tuning = "order=affinity");
    assert_true(plan->blocks.diagonal.reordering.after.pairs[0] ==
                plan->blocks.diagonal.pattern.tc.pairs[0]);
    assert_true((double)plan->blocks.diagonal.reordering.after.pairs[0] <
                0.8 * (double)plan->blocks.diagonal.reordering.before.pairs[0]);
    assert_string_equal(test_context_stats(plan).reordering, "affinity");
    assert_true(test_context_stats(plan).reorder_s > 0.0);
    test_context_explains(plan, "reordering affinity: MeanNNZTC");
    spmm_assert_ok(spmm_plan_destroy(&plan));
    plan = test_context_plan_of(A, 16, NULL); /* CPUs do not gain */
    assert_string_equal(test_context_stats(plan).reordering, "none");
    assert_null(plan->blocks.diagonal.reordering.method);
    test_context_destroy(&plan, &A, NULL);
}

/* On GPUs times decide between the orders, where auto is given products enough to pay in. */
static void test_measured(void **state)
{
    const spmm_reordering_t *r;
    spmm_plan_t             *plan;
    spmm_matrix_t           *A;

    if (!spmm_test_on_gpu()) {
        return;
    }
    spmm_assert_ok(
        spmm_matrix_generate(ctx, "stencil9:nx=400,ny=400,shuffle=1", SPMM_R_32F, 1, &A));
    plan = test_context_plan(A, 128, .executes = INT64_MAX / 2);
    r    = &plan->blocks.diagonal.reordering;
    assert_non_null(r->method);
    assert_true(r->own_s > 0.0 && r->other_s > 0.0);
    assert_int_equal(r->applied, r->other_s < r->own_s);
    assert_true(r->applied); /* windows of shuffled rows share no columns */
    assert_true(plan->blocks.diagonal.pattern.tc.pairs[0] == r->after.pairs[0]);
    assert_null(plan->blocks.diagonal.other_order.csr.row_ptr);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    plan = test_context_plan(A, 128, .executes = INT64_MAX / 2, .tuning = "measure=no");
    assert_true(plan->blocks.diagonal.reordering.other_s == 0.0);
    test_context_destroy(&plan, &A, NULL);
}

/* The decision of "auto", on a model of a GPU. */
static void test_gains(void **state)
{
    spmm_device_t        gpu     = device_test_gpu();
    const spmm_problem_t problem = {.ab_type = SPMM_R_32F,
                                    .c_type  = SPMM_R_32F,
                                    .compute = SPMM_COMPUTE_32F_FAST_TF32,
                                    .layout  = SPMM_LAYOUT_ROW,
                                    .n       = 128};
    spmm_pattern_t       before  = {.n_rows    = 1000000,
                                    .n_cols    = 1000000,
                                    .c_rows    = 1000000,
                                    .nnz       = 60000000,
                                    .max_row   = 70,
                                    .used_cols = 1000000};
    spmm_pattern_t       after;

    gpu.fp32_peak = 6e13;
    before.tc     = (spmm_tc_facts_t){
            .pairs = {40000000, 30000000, 20000000}, .tc_blocks = 5100000, .bricks = 7600000};
    after = spmmi_reordering_bound(&before);
    assert_int_equal(after.tc.pairs[0], 7500000);
    assert_int_equal(after.tc.pairs[1], 3750000);
    assert_int_equal(after.tc.pairs[2], 1875000);
    assert_true(spmmi_reordering_gains(NULL, &before, &after, &problem, &gpu));
    assert_true(spmmi_reordering_gains("hrpb", &before, &after, &problem, &gpu));
    /* What is at stake grows with the products to come, 1000 where nobody says. */
    assert_true(spmmi_reordering_worth(NULL, &before, &problem, &gpu, 0) > 0.0);
    assert_true(fabs(spmmi_reordering_worth(NULL, &before, &problem, &gpu, 3000) /
                         spmmi_reordering_worth(NULL, &before, &problem, &gpu, 0) -
                     3.0) < 1e-9);
    assert_false(spmmi_reordering_gains("cusparse", &before, &after, &problem, &gpu));
    after             = before; /* too little */
    after.tc.pairs[0] = 38000000;
    after.tc.pairs[1] = 28000000;
    assert_false(spmmi_reordering_gains(NULL, &before, &after, &problem, &gpu));
    after             = spmmi_reordering_bound(&before); /* pairs at the price of locality */
    before.near_cols  = 10000.0;
    after.near_cols   = 1e6;
    after.tc.pairs[0] = 34000000;
    after.tc.pairs[1] = 26000000;
    assert_false(spmmi_reordering_gains(NULL, &before, &after, &problem, &gpu));
    before.near_cols = after.near_cols = 0.0;
    after         = before; /* few entries, many rows of C: device memory is the limit */
    before.n_rows = before.c_rows = 20000000;
    before.nnz                    = 2000000;
    before.tc.tc_blocks           = 250000;
    before.tc.bricks              = 500000;
    before.tc.pairs[0] = before.tc.pairs[1] = 2000000;
    after                                   = spmmi_reordering_bound(&before);
    assert_int_equal(after.tc.pairs[1], 1000000);
    assert_false(spmmi_reordering_gains(NULL, &before, &after, &problem, &gpu));
}

PLAN_TESTS(test_report, test_measured, test_gains);

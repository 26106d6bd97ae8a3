/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 DEVICE cuda */
/** @file test_balance.c  Plans that balance time, and plans that leave ranks without rows. */
#include "plan_case.h"

#include "plan/choose/fewer.h"
#include "plan/choose/taken.h"
#include "plan/plan.h"

static const char *const methods[] = {"block", "auto",
#ifdef SPMM_HAVE_METIS
                                      "metis",
#endif
#ifdef SPMM_HAVE_PTSCOTCH
                                      "ptscotch"
#endif
};

enum { METHODS = sizeof methods / sizeof methods[0] };

static product_t product_of(const char *partition)
{
    return (product_t){.type      = SPMM_R_64F,
                       .op        = SPMM_OP_N,
                       .layout    = SPMM_LAYOUT_ROW,
                       .partition = partition,
                       .n         = 6,
                       .alpha     = 1.5,
                       .beta      = -0.5};
}

static double row_s; /* seconds of a row */

/* A row of the upper half takes three times as long as one below. */
static spmm_status_t by_half(spmm_plan_t *plan, double *seconds)
{
    *seconds = 0.0;
    for (int32_t i = 0; i < plan->rows.n_local; i++) {
        *seconds += spmmi_layout_original(&plan->rows, i) < plan->A->rows / 2 ? 3.0 * row_s : row_s;
    }
    return SPMM_OK;
}

static void test_products(void **state)
{
    const shape_t shapes[] = {{97, 97, 5, 17}, {60, 90, 4, -1}, {90, 60, 4, 3}, {40, 40, 0, -1}};
    spmm_status_t (*real)(spmm_plan_t *, double *) = spmmi_own_seconds;

    spmmi_own_seconds = by_half;
    row_s             = 1e-3; /* so that another partition pays */
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int m = 0; m < METHODS; m++) {
            product_t p = product_of(methods[m]);

            p.balance = "time";
            check_plan(&shapes[s], &p);
            p.balance = "measured";
            check_plan(&shapes[s], &p);
            p.use_fewer_ranks = 1;
            check_plan(&shapes[s], &p);
            p.op      = SPMM_OP_T;
            p.balance = NULL;
            check_plan(&shapes[s], &p);
        }
    }
    spmmi_own_seconds = real;
}

/* A plan of n columns; the caller destroys it. */
static spmm_plan_t *plan_of(spmm_matrix_t *A, int64_t n, const char *balance, int fewer)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan;

    o.partition       = "block";
    o.balance         = balance;
    o.use_fewer_ranks = fewer;
    spmm_assert_ok(spmm_plan_create(A, n, &o, &plan));
    return plan;
}

/* Explanations say what rows weigh, on all ranks alike. */
static void test_explained(void **state)
{
    spmm_matrix_t *A;
    const char    *asked[] = {"time", "entries"};
    const char    *says[]  = {"rows weigh what they cost by the model of engine ",
                              "rows weigh as much as they have entries: time "};

    /* Large enough that rows, and not the launch of a kernel, are what a GPU spends its time on. */
    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil9:nx=400,ny=400", SPMM_R_64F, 1, &A));
    for (int k = 0; k < 2; k++) {
        spmm_plan_t *plan = plan_of(A, 8, asked[k], 0);
        char        *text = test_context_explain(plan);

        if (spmm_test_env.size > 1) {
            assert_non_null(strstr(text, says[k]));
            assert_null(strstr(text, says[1 - k]));
        }
        spmm_test_free(text);
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

static spmm_status_t no_room(spmm_plan_t *plan, double *seconds)
{
    (void)seconds;
    return plan->env->rank == 0 ? spmmi_fail_memory(&plan->env->err, 1, 1, "a trial") : SPMM_OK;
}

/* A plan of blocks of rows, which @p seconds times; the caller destroys it. */
static spmm_plan_t *plan_timed_by(spmm_matrix_t *A, int64_t executes,
                                  spmm_status_t (*seconds)(spmm_plan_t *, double *))
{
    spmm_status_t (*real)(spmm_plan_t *, double *) = spmmi_own_seconds;
    spmm_plan_options_t o                          = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan;

    o.partition       = "block";
    o.balance         = "measured";
    o.executes        = executes;
    spmmi_own_seconds = seconds != NULL ? seconds : real;
    spmm_assert_ok(spmm_plan_create(A, 8, &o, &plan));
    spmmi_own_seconds = real;
    return plan;
}

/* Does the explanation of a plan say so?  One rank has nothing to even out. */
static void check_said(spmm_plan_t *plan, const char *sentence)
{
    char *text = test_context_explain(plan);

    assert_int_equal(strstr(text, sentence) != NULL, spmm_test_env.size > 1);
    spmm_test_free(text);
}

static void test_measured(void **state)
{
    const int64_t              many = 1000000000000;
    const spmm_plan_balance_t *b;
    spmm_matrix_t             *A;
    spmm_plan_t               *plan, *few;

    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil9:nx=60,ny=60", SPMM_R_64F, 1, &A));
    row_s = 1e-9;
    few   = plan_timed_by(A, 1, by_half);
    plan  = plan_timed_by(A, many, by_half);
    b     = &plan->choice.balance;
    check_said(few, "of the mean time, and the products to come do not pay for another partition");
    check_said(plan, "before its rows were weighed by that");
    if (spmm_test_env.size > 1) {
        assert_true(b->before > 1.2 && b->before == few->choice.balance.uneven);
        assert_true(b->uneven < (spmm_test_env.size == 2 ? 1.02 : 0.9 * b->before));
        assert_true(plan->rows.offset[1] < few->rows.offset[1]);
    }
    spmm_assert_ok(spmm_plan_destroy(&plan));
    plan = plan_timed_by(A, many, no_room);
    assert_true(plan->choice.balance.uneven == 0.0);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    plan = plan_timed_by(A, many, NULL); /* real times, whatever they are */
    assert_true(spmm_test_env.size == 1 || plan->choice.balance.uneven >= 1.0);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    spmm_assert_ok(spmm_plan_destroy(&few));
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

/* 25 rows are done before their first row has travelled; the rows of a large matrix are not. */
static void test_fewer(void **state)
{
    const char *const specs[] = {"stencil9:nx=5,ny=5", "stencil27:nx=40,ny=40,nz=40"};

    for (int k = 0; k < 2; k++) {
        spmm_matrix_t    *A;
        spmm_plan_t      *plan, *fewer;
        spmm_plan_stats_t s = {.struct_size = sizeof s}, t = s;
        char             *text;

        spmm_assert_ok(spmm_matrix_generate(ctx, specs[k], SPMM_R_64F, 1, &A));
        plan  = plan_of(A, 64, NULL, 0);
        fewer = plan_of(A, 64, NULL, 1);
        spmm_assert_ok(spmm_plan_get_stats(plan, &s));
        spmm_assert_ok(spmm_plan_get_stats(fewer, &t));
        assert_string_equal(s.partition, "block");
        text = test_context_explain(plan);
        assert_int_equal(strstr(text, "fewer ranks: one alone is predicted") != NULL,
                         spmm_test_env.size > 1 && s.one_rank_predicted_s < s.schedule_predicted_s);
        spmm_test_free(text);
        if (spmm_test_env.size == 1) {
            assert_true(isnan(s.one_rank_predicted_s));
            assert_string_equal(t.partition, "block");
        } else if (k == 0) {
            assert_true(s.one_rank_predicted_s < 0.9 * s.schedule_predicted_s);
            assert_string_equal(t.partition, "one");
            assert_int_equal(fewer->rows.n_local, spmm_test_env.rank == 0 ? 25 : 0);
            assert_int_equal(t.halo_rows_total, 0);
        } else if (plan->device->kind == SPMM_DEVICE_CPU) {
            assert_true(s.one_rank_predicted_s > s.schedule_predicted_s);
            assert_string_equal(t.partition, "block");
        }
        spmm_assert_ok(spmm_plan_destroy(&fewer));
        spmm_assert_ok(spmm_plan_destroy(&plan));
        spmm_assert_ok(spmm_matrix_destroy(&A));
    }
}

static void refuse(spmm_matrix_t *A, const spmm_plan_options_t *o, spmm_status_t status,
                   const char *sentence)
{
    spmm_plan_t *plan = NULL;

    assert_int_equal(spmm_plan_create(A, 4, o, &plan), status);
    assert_non_null(strstr(spmm_last_error(ctx), sentence));
    assert_null(plan);
}

static void test_refused(void **state)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_t      *A;

    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil9:nx=9,ny=9", SPMM_R_64F, 1, &A));
    o.balance = "rows";
    refuse(A, &o, SPMM_ERR_ARGUMENT, "there is no balance \"rows\"; there are time, entries");
    o.balance = "time";
    refuse(A, &o, SPMM_ERR_UNSUPPORTED, "balance time is for partitions that the plan makes");
    o.balance = "measured";
    refuse(A, &o, SPMM_ERR_UNSUPPORTED, "balance measured is for partitions that the plan makes");
    o.partition     = "block";
    o.deterministic = 1;
    refuse(A, &o, SPMM_ERR_UNSUPPORTED, "balance measured is not for deterministic plans");
    o.deterministic = 0;
    o.balance       = "time";
    o.partition     = "block";
    o.op            = SPMM_OP_T;
    refuse(A, &o, SPMM_ERR_UNSUPPORTED, "balance time is for op N");
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

PLAN_TESTS(test_products, test_explained, test_measured, test_fewer, test_refused);

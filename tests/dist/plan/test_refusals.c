/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 DEVICE cuda */
/** @file test_refusals.c  Options and calls of plans that are refused, on all ranks alike, and what
 *  the sentence says. */
#include "plan_case.h"

static const char *const matrix = "rmat:scale=8,degree=9";

/** Of a matrix of that type, where 0 stands for FP64. */
typedef struct {
    spmm_type_t         type;
    spmm_plan_options_t o;
    const char         *sentence;
} refusal_t;

static const refusal_t wrong[] = {
    {0, {.engine = "no-such-engine"}, "no-such-engine"},
    {0, {.b_type = SPMM_C_32F}, "64c where A is 64f"},
    {SPMM_C_64F, {.b_type = SPMM_R_64F}, "must have the type of A"},
    {0, {.b_type = SPMM_C_64F, .c_type = SPMM_R_64F}, "C must have the type of B"},
    {SPMM_C_32F, {.compute = SPMM_COMPUTE_64F}, "matrix of type 32c"},
    {0, {.halo_type = SPMM_R_16F}, "halo_type must be 16f or 16bf where A is in"},
};

static const refusal_t unsupported[] = {
    {0,
     {.tuning = "exchange=node"},
     "exchange node needs several nodes, one at least of several ranks"},
    {0, {.b_type = SPMM_C_64F, .layout = SPMM_LAYOUT_COL}, "use layout row"},
    {SPMM_C_64F, {.engine = "hrpb"}, "needs A, B and C of type 32f"},
    {SPMM_C_32F, {.engine = "dmma"}, "needs A, B and C of type 64c"},
    {SPMM_C_64F, {.engine = "bittcf"}, "needs A, B and C of type 32c"},
    {SPMM_C_32F, {.engine = "cvse"}, "of type 16f or 16bf"},
    {SPMM_R_32F,
     {.halo_type = SPMM_R_16F, .op = SPMM_OP_T},
     "halo_type rounds rows of B, and op T"},
    {SPMM_R_32F,
     {.halo_type = SPMM_R_16F, .reproducible = 1},
     "halo_type is not for reproducible plans"},
    {0, {.reproducible = 1, .tuning = "schedule=overlap"}, "does not sum a row of C at once"},
    {0, {.reproducible = 1, .engine = "dmma"}, "sums no row for itself"},
    {0, {.reproducible = 1, .tuning = "chunks=4"}, "schedule merged does not cut"},
    {0, {.tuning = "schedule=merged", .op = SPMM_OP_T}, "schedule merged is for op N"},
    {0,
     {.tuning = "schedule=merged", .layout = SPMM_LAYOUT_COL},
     "schedule merged is for row-major"},
    {0, {.tuning = "schedule=merged,chunks=2"}, "schedule merged does not cut"},
};

static void check_refused(const refusal_t *r, spmm_status_t want)
{
    spmm_plan_options_t o       = r->o;
    spmm_sddmm_plan_t  *sampled = NULL;
    spmm_plan_t        *plan    = NULL;
    spmm_matrix_t      *A;

    o.struct_size = sizeof o;
    spmm_assert_ok(spmm_matrix_generate(ctx, matrix, r->type == 0 ? SPMM_R_64F : r->type, 1, &A));
    test_context_refused(ctx, spmm_plan_create(A, 4, &o, &plan), want, r->sentence);
    assert_null(plan);
    if (spmmi_is_complex(r->type)) {
        test_context_refused(ctx, spmm_sddmm_plan_create(A, 4, NULL, &sampled),
                             SPMM_ERR_UNSUPPORTED, "SDDMM is of real matrices");
    }
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

static void test_refused(void **state)
{
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        check_refused(&wrong[k], SPMM_ERR_ARGUMENT);
    }
    for (size_t k = 0; k < sizeof unsupported / sizeof unsupported[0]; k++) {
        check_refused(&unsupported[k], SPMM_ERR_UNSUPPORTED);
    }
}

/* Options that the last rank has and the others do not: all hear of it. */
static void test_unlike(void **state)
{
    static const struct {
        spmm_plan_options_t o;
        const char         *sentence;
    } unlike[]          = {{{.op = SPMM_OP_T}, "op"},
                           {{.tuning = "exchange=flat"}, "exchange"},
                           {{.halo_type = SPMM_R_16F}, "halo_type"},
                           {{.reproducible = 1}, "reproducible"},
                           {{.tuning = "order=sorted"}, "order"},
                           {{.imbalance = 1.05}, "imbalance = 1.05"}};
    spmm_plan_t   *plan = NULL;
    spmm_matrix_t *A;

    spmm_assert_ok(spmm_matrix_generate(ctx, matrix, SPMM_R_32F, 1, &A));
    for (size_t k = 0; k < sizeof unlike / sizeof unlike[0] && spmm_test_env.size > 1; k++) {
        spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;

        if (unlike[k].o.imbalance != 0.0) { /* which differs a little */
            o.imbalance = nextafter(unlike[k].o.imbalance, 2.0);
        }
        if (spmm_test_is_last()) {
            o = unlike[k].o;
        }
        o.struct_size = sizeof o;
        test_context_refused(ctx, spmm_plan_create(A, 4, &o, &plan), SPMM_ERR_ARGUMENT,
                             unlike[k].sentence);
    }
    if (spmm_test_env.size > 1) {
        test_context_refused(ctx, spmm_plan_create(A, spmm_test_is_last() ? 4 : 5, NULL, &plan),
                             SPMM_ERR_ARGUMENT, "n = ");
    }
    test_context_refused(ctx, spmm_plan_create(A, spmm_test_is_last() ? 0 : 4, NULL, &plan),
                         SPMM_ERR_ARGUMENT, " 0");
    assert_null(plan);
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

/* Every rank hears of one rank's mistake, with the same status. */
static void test_agreement(void **state)
{
    spmm_plan_options_t o    = {.struct_size = 1000};
    spmm_matrix_t      *A    = NULL;
    spmm_plan_t        *plan = NULL;

    test_context_refused(ctx, test_context_matrix(ctx, 1, spmm_test_is_last() ? 99 : 0, &A),
                         SPMM_ERR_ARGUMENT, "99");
    assert_null(A);
    spmm_assert_ok(test_context_matrix(ctx, 1, 0, &A));
    assert_int_equal(spmm_plan_create(A, 4, &o, &plan), SPMM_ERR_ARGUMENT);
    o           = (spmm_plan_options_t)SPMM_PLAN_OPTIONS_INIT;
    o.imbalance = 1e300;
    spmm_assert_ok(spmm_plan_create(A, 1, &o, &plan));
    spmm_assert_ok(spmm_plan_destroy(&plan));
    assert_int_equal(spmm_context_destroy(&ctx), SPMM_ERR_ARGUMENT); /* a matrix is alive */
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

/* New values of a reproducible plan of op T, which says what it is. */
static void test_reproducible(void **state)
{
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    const int64_t     *row_ptr, *col;
    const void        *entries;
    void              *values;
    spmm_matrix_t     *A;
    spmm_plan_t       *plan;

    spmm_assert_ok(spmm_matrix_generate(ctx, matrix, SPMM_R_64F, 5, &A));
    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    spmm_assert_ok(spmm_matrix_get_csr(A, &row_ptr, &col, &entries));
    plan   = test_context_plan(A, 4, .op = SPMM_OP_T, .layout = SPMM_LAYOUT_COL, .reproducible = 1);
    values = to_device(entries, (size_t)info.local_nnz * sizeof(double));
    test_context_explains(plan, ": op T, column-major, ");
    test_context_explains(plan, "C from it: reproducible\n");
    test_context_refused(ctx, spmm_plan_update_values(plan, values, NULL), SPMM_ERR_UNSUPPORTED,
                         "keeps entries where their columns are");
    spmm_assert_ok(spmm_buffer_free(ctx, &values));
    test_context_destroy(&plan, &A, NULL);
}

static void test_execute_arguments(void **state)
{
    const double   host[4] = {1, 2, 3, 4};
    void          *B, *C;
    spmm_matrix_t *A;
    spmm_plan_t   *plan;

    spmm_assert_ok(test_context_matrix(ctx, 1, 0, &A));
    spmm_assert_ok(spmm_plan_create(A, 4, NULL, &plan));
    B = to_device(host, sizeof host);
    C = to_device(host, sizeof host);
    /* Refused before anything is sent: all ranks make the same mistake here. */
    assert_int_equal(spmm_execute(plan, 5, 1, B, 5, 0, C, 5, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_execute(plan, 0, 1, B, 4, 0, C, 4, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_execute(plan, 4, 1, B, 3, 0, C, 4, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_execute(plan, 4, 1, NULL, 4, 0, C, 4, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_execute(plan, 4, 1, B, 4, 0, B, 4, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_execute(NULL, 4, 1, B, 4, 0, C, 4, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_execute_scaled(NULL, 4, host, B, 4, host, C, 4, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_execute_scaled(plan, 4, NULL, B, 4, host, C, 4, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_execute_scaled(plan, 4, host, B, 4, NULL, C, 4, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_plan_resync(NULL), SPMM_ERR_ARGUMENT);
    spmm_assert_ok(spmm_plan_resync(plan)); /* transport nccl asks for it */
    spmm_assert_ok(spmm_execute(plan, 4, 1, B, 4, 0, C, 4, NULL));
    test_context_free(ctx, &B, &C);
    test_context_destroy(&plan, &A, NULL);
}

PLAN_TESTS(test_refused, test_unlike, test_agreement, test_reproducible, test_execute_arguments);

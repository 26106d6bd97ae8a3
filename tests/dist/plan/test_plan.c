/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_plan.c  Plans: every op, layout, type and partition, odd shapes, and mistakes. */
#include "plan_case.h"

static const char *const partitions[] = {NULL, "block", "auto"};

static void test_types_ops_layouts(void **state)
{
    const shape_t     shape   = {61, 61, 5, 17};
    const spmm_type_t types[] = {SPMM_C_64F, SPMM_C_32F, SPMM_R_64F,
                                 SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF};

    for (int t = 0; t < 6; t++) {
        for (int k = 0; k < 6; k++) {
            for (int q = 0; q < 3; q++) {
                check_plan(&shape, &(product_t){.type   = types[t],
                                                .op     = (spmm_op_t)(k % 3),
                                                .layout = k < 3 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL,
                                                .partition = partitions[q],
                                                .n         = 6,
                                                .planned_n = 9,
                                                .alpha     = t < 2 ? 1.5 - 0.25 * I : 1.5,
                                                .beta      = q == 0            ? 0.0
                                                             : q == 1 && t < 2 ? 0.5 * I
                                                                               : -0.5});
            }
        }
    }
}

static void test_mixed_c(void **state)
{
    const shape_t shape = {40, 40, 4, -1};

    for (int k = 0; k < 4; k++) {
        check_plan(&shape, &(product_t){.type      = k % 2 == 0 ? SPMM_R_16F : SPMM_R_16BF,
                                        .c_type    = SPMM_R_32F,
                                        .op        = k < 2 ? SPMM_OP_N : SPMM_OP_T,
                                        .layout    = SPMM_LAYOUT_ROW,
                                        .partition = "block",
                                        .n         = 7,
                                        .alpha     = 1.0,
                                        .beta      = 2.0});
    }
}

/* A real matrix times complex blocks. */
static void test_complex_b(void **state)
{
    const shape_t shape = {40, 40, 4, 3};

    for (int k = 0; k < 12; k++) {
        check_plan(&shape, &(product_t){.type      = k % 2 == 0 ? SPMM_R_64F : SPMM_R_32F,
                                        .b_type    = k % 2 == 0 ? SPMM_C_64F : SPMM_C_32F,
                                        .op        = k < 6 ? SPMM_OP_N : SPMM_OP_H,
                                        .partition = partitions[k / 2 % 3],
                                        .layout    = SPMM_LAYOUT_ROW,
                                        .n         = 7,
                                        .planned_n = 9,
                                        .pad       = k % 3,
                                        .alpha     = -1.5,
                                        .beta      = k % 3});
    }
}

static void test_shapes(void **state)
{
    const shape_t shapes[] = {{50, 23, 4, -1}, {23, 70, 4, 5},  {2, 2, 1, -1},  {1, 90, 2, -1},
                              {90, 1, 2, -1},  {30, 30, 0, -1}, {0, 0, 0, -1},  {0, 12, 0, -1},
                              {12, 0, 0, -1},  {64, 64, 40, 0}, {33, 33, 1, -1}};

    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int k = 0; k < 6; k++) {
            check_plan(&shapes[s], &(product_t){.type   = SPMM_R_64F,
                                                .op     = k % 2 == 0 ? SPMM_OP_N : SPMM_OP_T,
                                                .layout = k < 3 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW,
                                                .partition = partitions[k / 2],
                                                .n         = 70,
                                                .pad       = 2,
                                                .alpha     = -1.0,
                                                .beta      = k % 3 == 0 ? 1.0 : 0.0});
        }
    }
}

/* Every rank must hear of one rank's mistake, with the same status. */
static void test_agreement(void **state)
{
    const bool          last = spmm_test_env.rank == spmm_test_env.size - 1;
    spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_t      *A    = NULL;
    spmm_plan_t        *plan = NULL;

    assert_int_equal(test_context_matrix(ctx, 1, last ? 99 : 0, &A), SPMM_ERR_ARGUMENT);
    assert_null(A);
    assert_non_null(strstr(spmm_last_error(ctx), "99"));
    spmm_assert_ok(test_context_matrix(ctx, 1, 0, &A));
    o.engine = "no-such-engine";
    assert_int_equal(spmm_plan_create(A, 4, &o, &plan), SPMM_ERR_ARGUMENT);
    assert_non_null(strstr(spmm_last_error(ctx), "no-such-engine"));
    o.engine = NULL;
    if (spmm_test_env.size > 1) {
        assert_int_equal(spmm_plan_create(A, last ? 4 : 5, &o, &plan), SPMM_ERR_ARGUMENT);
        o.op = last ? SPMM_OP_T : SPMM_OP_N;
        assert_int_equal(spmm_plan_create(A, 4, &o, &plan), SPMM_ERR_ARGUMENT);
        o.op = SPMM_OP_N;
    }
    assert_int_equal(spmm_plan_create(A, last ? 0 : 4, &o, &plan), SPMM_ERR_ARGUMENT);
    o.struct_size = 1000;
    assert_int_equal(spmm_plan_create(A, 4, &o, &plan), SPMM_ERR_ARGUMENT);
    assert_null(plan);
    assert_int_equal(spmm_context_destroy(&ctx), SPMM_ERR_ARGUMENT); /* a matrix is alive */
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

/* What complex numbers do not go with; the sentences say what does. */
static void test_complex_refusals(void **state)
{
    static const struct {
        spmm_type_t         type;
        spmm_plan_options_t o;
        spmm_status_t       status;
        const char         *sentence;
    } cases[] = {
        {SPMM_R_64F, {.b_type = SPMM_C_32F}, SPMM_ERR_ARGUMENT, "64c where A is 64f"},
        {SPMM_C_64F, {.b_type = SPMM_R_64F}, SPMM_ERR_ARGUMENT, "must have the type of A"},
        {SPMM_R_64F,
         {.b_type = SPMM_C_64F, .c_type = SPMM_R_64F},
         SPMM_ERR_ARGUMENT,
         "C must have the type of B"},
        {SPMM_R_64F,
         {.b_type = SPMM_C_64F, .layout = SPMM_LAYOUT_COL},
         SPMM_ERR_UNSUPPORTED,
         "use layout row"},
        {SPMM_C_64F, {.engine = "hrpb"}, SPMM_ERR_UNSUPPORTED, "needs A, B and C of type 32f"},
        {SPMM_C_32F, {.engine = "dmma"}, SPMM_ERR_UNSUPPORTED, "needs A, B and C of type 64c"},
        {SPMM_C_64F, {.engine = "bittcf"}, SPMM_ERR_UNSUPPORTED, "needs A, B and C of type 32c"},
        {SPMM_C_32F, {.engine = "cvse"}, SPMM_ERR_UNSUPPORTED, "of type 16f or 16bf"},
        {SPMM_C_32F, {.compute = SPMM_COMPUTE_64F}, SPMM_ERR_ARGUMENT, "matrix of type 32c"},
    };
    spmm_sddmm_plan_t *sampled = NULL;
    spmm_matrix_t     *A;
    spmm_plan_t       *plan = NULL;

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        spmm_plan_options_t o = cases[k].o;

        o.struct_size = sizeof o;
        spmm_assert_ok(spmm_matrix_generate(ctx, "banded:rows=8,band=1", cases[k].type, 1, &A));
        assert_int_equal(spmm_plan_create(A, 4, &o, &plan), cases[k].status);
        assert_non_null(strstr(spmm_last_error(ctx), cases[k].sentence));
        if (cases[k].type != SPMM_R_64F) {
            assert_int_equal(spmm_sddmm_plan_create(A, 4, NULL, &sampled), SPMM_ERR_UNSUPPORTED);
            assert_non_null(strstr(spmm_last_error(ctx), "SDDMM is of real matrices"));
        }
        spmm_assert_ok(spmm_matrix_destroy(&A));
    }
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
    spmm_assert_ok(spmm_plan_destroy(&plan));
    test_context_destroy(&plan, &A, NULL);
}

/* A beta that is 0 in the compute type is 0 for every engine: C is not read. */
static void test_tiny_beta(void **state)
{
    static const char *const engines[] = {NULL, "bittcf", "hrpb"};
    const int64_t            row_ptr[] = {0, 1}, col = spmm_test_env.rank;
    const float              one     = 1.0f;
    const float              host[4] = {1, 2, 3, 4};

    for (int e = 0; e < 3; e++) {
        float               got[4]  = {NAN, NAN, NAN, NAN};
        spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
        spmm_matrix_t      *A;
        spmm_plan_t        *plan;
        void               *B, *C;

        options.engine = engines[e];
        spmm_assert_ok(spmm_matrix_create_csr(ctx, 1, 1, row_ptr, &col, &one, SPMM_R_32F, &A));
        spmm_assert_ok(spmm_plan_create(A, 4, &options, &plan));
        B = to_device(host, sizeof host);
        C = to_device(got, sizeof got);
        spmm_assert_ok(spmm_execute(plan, 4, 2.0, B, 4, 1e-60, C, 4, NULL));
        spmm_assert_ok(spmm_stream_synchronize(ctx, NULL));
        spmm_assert_ok(spmm_buffer_copy(ctx, got, C, sizeof got));
        for (int j = 0; j < 4; j++) {
            assert_true(got[j] == 2.0f * host[j]);
        }
        test_context_free(ctx, &B, &C);
        test_context_destroy(&plan, &A, NULL);
    }
}

/* Nothing that was allocated for a context, matrices and plans outlives them. */
static void test_no_leak(void **state)
{
    const shape_t shape = {61, 61, 5, 17};
    int64_t       live;

    close_context();
    live = spmmi_alloc_get_stats().live;
    open_context();
    check_plan(&shape, &(product_t){.type      = SPMM_R_32F,
                                    .op        = SPMM_OP_T,
                                    .layout    = SPMM_LAYOUT_COL,
                                    .partition = "auto",
                                    .n         = 3,
                                    .alpha     = 1.0});
    close_context();
    assert_true(spmmi_alloc_get_stats().live == live);
}

PLAN_TESTS(test_types_ops_layouts, test_mixed_c, test_complex_b, test_shapes, test_agreement,
           test_complex_refusals, test_execute_arguments, test_tiny_beta, test_no_leak);

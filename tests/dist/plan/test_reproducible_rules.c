/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 8 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_reproducible_rules.c  Option reproducible: its products are right, and what it does
 *  not go with is refused.  test_reproducible.c has the bits. */
#include "plan_case.h"

/* check_plan() has an FP64 reference; shapes without rows or entries. */
static void test_products(void **state)
{
    static const struct {
        spmm_type_t   type, c_type, b_type;
        spmm_op_t     op;
        spmm_layout_t layout;
        double        alpha, beta;
    } cases[] = {
        {SPMM_R_64F, SPMM_R_64F, SPMM_R_64F, SPMM_OP_N, SPMM_LAYOUT_ROW, 1.0, 0.0},
        {SPMM_R_32F, SPMM_R_32F, SPMM_R_32F, SPMM_OP_N, SPMM_LAYOUT_ROW, 1.5, -0.3},
        {SPMM_R_32F, SPMM_R_32F, SPMM_R_32F, SPMM_OP_T, SPMM_LAYOUT_COL, 1.5, -0.3},
        {SPMM_R_16F, SPMM_R_16F, SPMM_R_16F, SPMM_OP_N, SPMM_LAYOUT_COL, 0.7, 0.5},
        {SPMM_R_16BF, SPMM_R_32F, SPMM_R_16BF, SPMM_OP_T, SPMM_LAYOUT_ROW, 1.0, 0.0},
        {SPMM_C_64F, SPMM_C_64F, SPMM_C_64F, SPMM_OP_H, SPMM_LAYOUT_ROW, 0.3, 0.7},
        {SPMM_C_32F, SPMM_C_32F, SPMM_C_32F, SPMM_OP_N, SPMM_LAYOUT_COL, -1.1, 0.1},
        {SPMM_R_64F, SPMM_C_64F, SPMM_C_64F, SPMM_OP_T, SPMM_LAYOUT_ROW, 1.1, 0.9},
        {SPMM_R_32F, SPMM_R_32F, SPMM_R_32F, SPMM_OP_N, SPMM_LAYOUT_COL, 1.5, 1.0},
    };
    static const shape_t shapes[] = {{61, 61, 5, 17}, {50, 23, 4, -1}, {23, 70, 4, 5},
                                     {30, 30, 0, -1}, {0, 12, 0, -1},  {12, 0, 0, -1}};

    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (size_t k = s % 2; k < sizeof cases / sizeof cases[0]; k += 2) {
            check_plan(&shapes[s], &(product_t){.type         = cases[k].type,
                                                .c_type       = cases[k].c_type,
                                                .b_type       = cases[k].b_type,
                                                .op           = cases[k].op,
                                                .layout       = cases[k].layout,
                                                .partition    = k % 3 == 0 ? NULL : "block",
                                                .n            = 6,
                                                .planned_n    = 9,
                                                .pad          = (int64_t)(k % 3),
                                                .alpha        = cases[k].alpha,
                                                .beta         = cases[k].beta,
                                                .reproducible = true});
        }
    }
}

static void assert_refused(const spmm_plan_options_t *o, spmm_matrix_t *A, spmm_status_t want,
                           const char *words)
{
    spmm_plan_t *plan = NULL;

    assert_int_equal(spmm_plan_create(A, 4, o, &plan), want);
    assert_non_null(strstr(spmm_last_error(ctx), words));
}

static void test_refused(void **state)
{
    spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t  info = {.struct_size = sizeof info};
    const int64_t      *row_ptr, *col;
    const void         *entries;
    void               *values;
    char               *text;
    spmm_matrix_t      *A;
    spmm_plan_t        *plan;

    spmm_assert_ok(spmm_matrix_generate(ctx, "rmat:scale=8,degree=9", SPMM_R_64F, 5, &A));
    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    spmm_assert_ok(spmm_matrix_get_csr(A, &row_ptr, &col, &entries));
    o.reproducible = 1;
    o.tuning       = "schedule=overlap";
    assert_refused(&o, A, SPMM_ERR_UNSUPPORTED, "does not sum a row of C at once");
    o.tuning = NULL;
    o.engine = "dmma";
    assert_refused(&o, A, SPMM_ERR_UNSUPPORTED, "sums no row for itself");
    o.engine = NULL;
    o.op     = SPMM_OP_T;
    o.layout = SPMM_LAYOUT_COL;
    spmm_assert_ok(spmm_plan_create(A, 4, &o, &plan));
    values = to_device(entries, (size_t)info.local_nnz * sizeof(double));
    text   = test_context_explain(plan);
    assert_non_null(strstr(text, ": op T, column-major, "));
    assert_non_null(strstr(text, "C from it: reproducible\n"));
    free(text);
    assert_int_equal(spmm_plan_update_values(plan, values, NULL), SPMM_ERR_UNSUPPORTED);
    assert_non_null(strstr(spmm_last_error(ctx), "keeps entries where their columns are"));
    spmm_assert_ok(spmm_buffer_free(ctx, &values));
    test_context_destroy(&plan, NULL, NULL);
    o.reproducible = spmm_test_env.rank;
    if (spmm_test_env.size > 1) {
        assert_refused(&o, A, SPMM_ERR_ARGUMENT, "reproducible");
    }
    test_context_destroy(NULL, &A, NULL);
}

PLAN_TESTS(test_products, test_refused);

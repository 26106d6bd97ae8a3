/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_conversion.c  Column-major B and C with engines that multiply row-major blocks: what
 *  a plan holds, and what is chosen.  Products are those of test_plan.c. */
#include "device_test.h"
#include "plan_case.h"

#include "cpu/cpu_kernels.h"
#include "plan/plan.h"

/* The plan of @p engine for a diagonal matrix, one row per rank. */
static spmm_plan_t *diagonal_plan(const char *engine, spmm_layout_t layout, spmm_matrix_t **A)
{
    spmm_assert_ok(test_context_matrix(ctx, 1, spmm_test_env.rank, A));
    return test_context_plan(*A, 5, .engine = engine, .layout = layout);
}

/* What a plan with and without the conversion holds, and says: CUDA kernels store C by columns. */
static void test_explain(void **state)
{
    const bool          direct    = getenv("SPMM_TEST_DEVICE") != NULL;
    const spmm_layout_t converted = direct ? SPMM_LAYOUT_MIXED : SPMM_LAYOUT_ROW;
    const char *const   note =
        direct ? "with a row-major copy of B  <- chosen" : "with row-major copies  <- chosen";
    spmm_matrix_t *A;
    size_t         bytes[2];

    for (int col = 0; col < 2; col++) {
        const spmm_layout_t layout = col == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL;
        spmm_plan_t        *plan   = diagonal_plan(direct ? "csr-gpu" : "dmma", layout, &A);
        char               *text   = test_context_explain(plan);

        assert_int_equal(plan->conversion.kind != SPMM_CONVERT_NONE, col == 1);
        assert_int_equal(plan->blocks.diagonal.problem.layout,
                         col == 1 ? converted : SPMM_LAYOUT_ROW);
        assert_int_equal(plan->blocks.off_diagonal.problem.layout,
                         col == 1 ? converted : SPMM_LAYOUT_ROW);
        assert_null(plan->conversion.halo);
        assert_int_equal(strstr(text, "\nconversion: ") != NULL, col == 1);
        assert_int_equal(strstr(text, note) != NULL, col == 1);
        bytes[col] = plan->stats.host_bytes + plan->stats.device_bytes;
        free(text);
        test_context_destroy(&plan, &A, NULL);
    }
    assert_int_equal(bytes[1] - bytes[0],
                     (direct ? 1U : 2U) * 5 * sizeof(double)); /* a row of B, and one of C */
}

/* An engine that takes column-major blocks gets them. */
static void test_direct(void **state)
{
    spmm_matrix_t *A;
    spmm_plan_t   *plan;

    for (int k = 0; k < 2; k++) {
        plan = diagonal_plan(getenv("SPMM_TEST_DEVICE") == NULL ? "csr-cpu"
                             : k == 0                           ? "cusparse"
                                                                : "dmma",
                             SPMM_LAYOUT_COL, &A);
        assert_int_equal(plan->conversion.kind, SPMM_CONVERT_NONE);
        assert_int_equal(plan->blocks.diagonal.problem.layout, SPMM_LAYOUT_COL);
        assert_int_equal(plan->blocks.off_diagonal.problem.layout, SPMM_LAYOUT_COL);
        assert_null(plan->conversion.b);
        assert_null(plan->conversion.c);
        test_context_destroy(&plan, &A, NULL);
    }
}

/* The least predicted time of one engine, or of all, over all ways, copies counted.
 * @param[in]  copies_s  [2] of B and C, of B alone
 * @param[out] picked_s  of the copies in it */
static double least_time(const spmm_plan_t *plan, const char *name, const double copies_s[2],
                         spmm_layout_t *layout, double *picked_s)
{
    static const spmm_layout_t ways[3] = {SPMM_LAYOUT_ROW, SPMM_LAYOUT_MIXED, SPMM_LAYOUT_COL};
    double                     least   = INFINITY;

    for (int e = 0; e < spmmi_n_engines; e++) {
        for (int way = 0; way < 3; way++) {
            spmm_problem_t problem = plan->blocks.diagonal.problem;
            const double   more_s  = ways[way] == SPMM_LAYOUT_COL ? 0.0 : copies_s[way];
            char           why[SPMM_WHY];
            double         seconds;

            problem.layout = ways[way] == SPMM_LAYOUT_COL ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
            if (ways[way] != SPMM_LAYOUT_COL && spmmi_engines[e]->facts.baseline) {
                continue;
            }
            if ((ways[way] == SPMM_LAYOUT_MIXED && !spmmi_engines[e]->facts.stores_columns) ||
                (name != NULL && strcmp(name, spmmi_engines[e]->facts.name) != 0) ||
                !spmmi_engine_supports(spmmi_engines[e], &problem, plan->device, why)) {
                continue;
            }
            problem.layout = ways[way];
            seconds = spmmi_engine_cost(spmmi_engines[e], &plan->blocks.diagonal.pattern, &problem,
                                        plan->device) +
                      more_s;
            if (seconds < least) {
                least     = seconds;
                *layout   = ways[way];
                *picked_s = more_s;
            }
        }
    }
    return least;
}

/* The choice on a GPU that need not be there, for a block of @p rows x @p rows. */
static void check_choice(int64_t pairs, int64_t nnz, int32_t rows, const char *name)
{
    spmm_device_t           device = device_test_gpu();
    spmm_candidate_t        candidates[16];
    spmm_plan_t             plan      = {.env     = &spmm_test_env,
                                         .device  = &device,
                                         .n       = 128,
                                         .layout  = SPMM_LAYOUT_COL,
                                         .ab_type = SPMM_R_32F,
                                         .c_type  = SPMM_R_32F};
    const double            copies[2] = {3.2e-6 + 128.0 * rows * 4.0 * 4.0 / (0.8 * 4e12),
                                         1.6e-6 + 128.0 * rows * 4.0 * 2.0 / (0.8 * 4e12)};
    spmm_layout_t           layout    = SPMM_LAYOUT_AUTO;
    double                  least, copies_s = 0.0;
    const spmm_candidate_t *picked;

    assert_true(spmmi_n_engines <= 16);
    plan.rows.n_local = plan.cols.n_local = rows;
    plan.blocks.diagonal.candidates       = candidates;
    plan.blocks.diagonal.problem          = (spmm_problem_t){.ab_type = SPMM_R_32F,
                                                             .c_type  = SPMM_R_32F,
                                                             .compute = SPMM_COMPUTE_32F,
                                                             .layout  = SPMM_LAYOUT_COL,
                                                             .n       = 128};
    plan.blocks.diagonal.pattern          = (spmm_pattern_t){
                 .n_rows = rows, .n_cols = rows, .c_rows = rows, .nnz = nnz, .used_cols = rows};
    for (int h = 0; h < 3; h++) {
        plan.blocks.diagonal.pattern.tc.pairs[h] = pairs >> h;
    }
    plan.blocks.diagonal.pattern.tc.quads = pairs / 2;
    least                                 = least_time(&plan, name, copies, &layout, &copies_s);
    spmm_assert_ok(spmmi_plan_consider_conversion(&plan));
    spmm_assert_ok(spmmi_engine_pick(name, &device, candidates, spmmi_n_engines, &picked));
    assert_true(fabs(picked->predicted_s - least) <= 1e-9 * least);
    assert_int_equal(picked->layout, layout);
    assert_true(fabs(picked->copies_s - copies_s) <= 1e-9 * copies_s);
}

static void test_choice(void **state)
{
    check_choice(8000000, 64000000, 1000000, NULL); /* dense windows: worth the copies */
    check_choice(1000, 1000, 1000000, NULL);        /* next to nothing to multiply */
    check_choice(0, 0, 0, NULL);
    check_choice(1000, 1000, 1000000, "bittcf");
}

static void check_store(spmm_type_t type, int64_t rows, int64_t n, double beta)
{
    const int64_t     ld = rows + 3, size = ld * n;
    const spmm_type_t acc  = spmmi_accum_type(type);
    void             *src  = spmm_test_calloc((size_t)(rows * n) + 1, sizeof(double));
    void             *dst  = spmm_test_calloc((size_t)size + 1, sizeof(double));
    void             *want = spmm_test_calloc((size_t)size + 1, sizeof(double));
    spmm_store_args_t args = {src, rows, n, {beta, 0.0}, dst, ld, type, 0};

    for (int64_t k = 0; k < rows * n; k++) {
        spmmi_value_set(acc, src, k, spmmi_random_value(5, k, 0));
    }
    for (int64_t k = 0; k < size; k++) {
        spmmi_value_set(type, dst, k, beta == 0.0 ? NAN : spmmi_random_value(6, k, 0));
    }
    memcpy(want, dst, (size_t)size * spmm_type_size(type));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < n; j++) {
            double x = spmmi_value_get(acc, src, i * n + j);

            if (beta != 0.0) { /* a power of two: exact, so there is one rounding */
                x += beta * spmmi_value_get(type, dst, i + j * ld);
            }
            spmmi_value_set(type, want, i + j * ld, type == SPMM_R_64F ? x : (double)(float)x);
        }
    }
    spmmi_cpu_store_columns(&args);
    assert_memory_equal(dst, want, (size_t)size * spmm_type_size(type)); /* gaps untouched */
    spmm_test_free(src, dst, want);
}

static void test_store(void **state)
{
    const spmm_type_t types[] = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF};
    const int64_t     rows[]  = {0, 1, 31, 32, 33, 100};
    const double      betas[] = {0.0, 1.0, -0.5};

    for (int t = 0; t < 4; t++) {
        for (int r = 0; r < 6; r++) {
            for (int b = 0; b < 3; b++) {
                check_store(types[t], rows[r], 1, betas[b]);
                check_store(types[t], rows[r], 37, betas[b]);
            }
        }
    }
}

PLAN_TESTS(test_explain, test_direct, test_choice, test_store);

/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_engine_case_cpu.c
 *  The cases of the tensor-core engines on CPUs: engines that decode their format, and csr-cpu,
 *  which has none, through the same small cases that GPUs are put through.
 */
#include "tc_case.h"

#include "format_case.h"

#include <float.h>

#include "spmm_dist/context.h"

static spmm_device_t device;

static const struct {
    const char    *name;
    spmm_compute_t compute;
    spmm_type_t    type;
    bool           wide_c;
    bool           by_columns;
} engines[] = {{"csr-cpu", SPMM_COMPUTE_32F, SPMM_TYPE_AUTO, false, false},
               {"csr-cpu", SPMM_COMPUTE_64F, SPMM_TYPE_AUTO, false, false},
               {"csr-cpu", SPMM_COMPUTE_64F, SPMM_TYPE_AUTO, false, true},
               {"bittcf", SPMM_COMPUTE_32F, SPMM_TYPE_AUTO, false, false},
               {"bittcf", SPMM_COMPUTE_32F_FAST_TF32, SPMM_TYPE_AUTO, false, false},
               {"hrpb", SPMM_COMPUTE_32F, SPMM_TYPE_AUTO, false, false},
               {"hrpb", SPMM_COMPUTE_32F_FAST_TF32, SPMM_TYPE_AUTO, false, false},
               {"dmma", SPMM_COMPUTE_64F, SPMM_TYPE_AUTO, false, false},
               {"bittcf", SPMM_COMPUTE_32F, SPMM_C_32F, false, false},
               {"bittcf", SPMM_COMPUTE_32F_FAST_TF32, SPMM_C_32F, false, false},
               {"dmma", SPMM_COMPUTE_64F, SPMM_C_64F, false, false},
               {"cvse", SPMM_COMPUTE_32F, SPMM_R_16F, false, false},
               {"cvse", SPMM_COMPUTE_32F, SPMM_R_16F, true, false},
               {"cvse", SPMM_COMPUTE_32F, SPMM_R_16BF, false, false},
               {"cvse", SPMM_COMPUTE_32F, SPMM_R_16BF, true, false},
               {"bcsr", SPMM_COMPUTE_32F, SPMM_R_16F, false, false},
               {"bcsr", SPMM_COMPUTE_32F, SPMM_R_16BF, true, false},
               {"bcsr-sp24", SPMM_COMPUTE_32F, SPMM_R_16F, true, false},
               {"bcsr-sp24", SPMM_COMPUTE_32F, SPMM_R_16BF, false, false}};
enum { FIRST_TC = 3, N_ENGINES = sizeof engines / sizeof engines[0] };

static tc_case_t case_of(int e)
{
    const tc_case_t t = {.engine     = spmmi_engine_find(engines[e].name),
                         .device     = &device,
                         .compute    = engines[e].compute,
                         .type       = engines[e].type,
                         .wide_c     = engines[e].wide_c,
                         .by_columns = engines[e].by_columns,
                         .small      = true};

    assert_non_null(t.engine);
    if (device.ops == NULL) {
        spmm_assert_ok(spmmi_device_open(&spmm_test_env, SPMM_DEVICE_CPU, NULL, &device));
    }
    return t;
}

static void each(int first, void (*check)(const tc_case_t *t))
{
    for (int e = first; e < N_ENGINES; e++) {
        const tc_case_t t = case_of(e);

        check(&t);
    }
}

static void test_shapes(void **state)
{
    each(0, tc_case_shapes);
    each(0, tc_case_edges);
}

static void test_accuracy(void **state)
{
    each(0, tc_case_positive);
    each(0, tc_case_magnitudes);
}

static void test_special_values(void **state)
{
    each(0, tc_case_huge);
    each(0, tc_case_not_finite);
}

static void test_same_bits(void **state)
{
    each(0, tc_case_same_bits);
}

static void test_life(void **state)
{
    each(FIRST_TC, tc_case_life);
    each(FIRST_TC, tc_case_supports);
}

/* The same bits whatever the number of threads; TF32 rounds to 11 bits, which must show. */
static void check_threads(const tc_case_t *t)
{
    const spmm_problem_t problem = tc_case_problem(t, 33);
    const int            before  = device.threads;
    product_t            first   = {0};
    spmm_csr_t           block;

    format_case_matrix("rmat:scale=11,degree=9", problem.ab_type, &block);
    for (int threads = 1; threads <= 4; threads++) {
        product_t p = {.block = &block, .problem = problem, .alpha = 1.0};

        make_product(&p, 33, 0);
        device.threads = threads;
        tc_case_check(t, &p);
        if (threads == 1) {
            first = p;
            assert_true(t->compute != SPMM_COMPUTE_32F_FAST_TF32 ||
                        product_worst(&p).error >= 1e-4);
        } else {
            assert_memory_equal(p.got, first.got,
                                (size_t)p.c_size * spmm_type_size(problem.c_type));
            free_product(&p);
        }
    }
    device.threads = before;
    free_product(&first);
    spmmi_csr_free(&block);
}

static void test_thread_counts(void **state)
{
    each(FIRST_TC, check_threads);
}

static void test_tf32_round(void **state)
{
    assert_true(spmmi_cpu_tf32_round(1.0f) == 1.0f);
    assert_true(spmmi_cpu_tf32_round(1.0f + 0x1p-10f) == 1.0f + 0x1p-10f);
    assert_true(spmmi_cpu_tf32_round(1.0f + 0x1p-11f) == 1.0f + 0x1p-10f); /* a tie */
    assert_true(spmmi_cpu_tf32_round(-1.0f - 0x1p-11f) == -1.0f - 0x1p-10f);
    assert_true(spmmi_cpu_tf32_round(1.0f + 0x1p-11f - 0x1p-23f) == 1.0f);
    assert_true(spmmi_cpu_tf32_round(2.0f - 0x1p-23f) == 2.0f);
    assert_true(spmmi_cpu_tf32_round(-0.0f) == 0.0f && signbit(spmmi_cpu_tf32_round(-0.0f)));
    assert_true(isinf(spmmi_cpu_tf32_round(INFINITY)) && isnan(spmmi_cpu_tf32_round(NAN)));
}

/* What the engines refuse, and that a free choice on CPUs stays with CSR. */
static void test_choice(void **state)
{
    const tc_case_t         bittcf  = case_of(FIRST_TC);
    spmm_problem_t          problem = tc_case_problem(&bittcf, 128);
    spmm_candidate_t        candidates[16];
    const spmm_candidate_t *chosen;

    assert_true(spmmi_n_engines <= 16);
    for (int s = 0; format_shapes[s].density >= 0.0; s++) {
        spmm_pattern_t pattern;
        spmm_csr_t     block;

        format_case_random(format_shapes[s].n_rows, format_shapes[s].n_cols,
                           format_shapes[s].density, SPMM_R_32F, false, 1, &block);
        spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
        spmmi_engine_consider(&pattern, &problem, &device, candidates);
        spmm_assert_ok(spmmi_engine_pick("auto", &device, candidates, spmmi_n_engines, &chosen));
        assert_string_equal(chosen->engine->facts.name, "csr-cpu");
        spmmi_pattern_free(&pattern);
        spmmi_csr_free(&block);
    }
    for (int e = FIRST_TC; e < N_ENGINES; e++) {
        const spmm_device_t gpu           = {.kind = SPMM_DEVICE_CUDA, .cc = 75};
        const tc_case_t     t             = case_of(e);
        char                why[SPMM_WHY] = "";

        problem = tc_case_problem(&t, 128);
        assert_false(spmmi_engine_supports(t.engine, &problem, &gpu, why));
        assert_non_null(strstr(why, "compute capability 8.0"));
    }
}

/* Columns of B that begin a multiple of 4 KiB apart, or nearly so, are taken fewer at a time. */
static void test_columns_apart(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_64F, SPMM_R_32F, SPMM_C_64F};
    const spmm_engine_ops_t *engine  = spmmi_engine_find("csr-cpu");

    for (int t = 0; t < 3; t++) {
        const spmm_problem_t problem = {.ab_type = types[t],
                                        .c_type  = types[t],
                                        .compute = spmmi_is_64f(types[t]) ? SPMM_COMPUTE_64F
                                                                          : SPMM_COMPUTE_32F,
                                        .layout  = SPMM_LAYOUT_COL,
                                        .n       = 19};
        spmm_csr_t           block;
        void                *format;

        make_block(61, 1023, MIXED, types[t], false, &block);
        spmm_assert_ok(engine->build(engine, &block, &problem, &device, &format));
        for (int extra = 0; extra < 3; extra++) {
            product_t p = {.block = &block, .problem = problem, .alpha = 1.5, .beta = -0.5};

            make_product(&p, problem.n, extra);
            run_product(engine, &device, format, &p);
            check_product(&p);
            free_product(&p);
        }
        engine->destroy(format);
        spmmi_csr_free(&block);
    }
}

/* The error of a 1 x 1 product 1 * 1 of which an engine made @p got. */
static double error_of(double got, double a, double b)
{
    float            value = (float)a, B = (float)b, C = 0, result = (float)got;
    int64_t          row_ptr[] = {0, 1};
    int32_t          col       = 0;
    const spmm_csr_t block     = {.n_rows  = 1,
                                  .n_cols  = 1,
                                  .row_ptr = row_ptr,
                                  .col_idx = &col,
                                  .values  = &value,
                                  .type    = SPMM_R_32F,
                                  .c_rows  = 1};
    const product_t  p         = {.block   = &block,
                                  .problem = {.ab_type = SPMM_R_32F,
                                              .c_type  = SPMM_R_32F,
                                              .compute = SPMM_COMPUTE_32F,
                                              .layout  = SPMM_LAYOUT_ROW,
                                              .n       = 1},
                                  .alpha   = 1.0,
                                  .n       = 1,
                                  .ldb     = 1,
                                  .ldc     = 1,
                                  .b_size  = 1,
                                  .c_size  = 1,
                                  .B       = &B,
                                  .C       = &C,
                                  .got     = &result};

    return product_worst(&p).error;
}

/* The comparison itself: what it must find, it finds. */
static void test_comparison(void **state)
{
    const double inf = (double)INFINITY, nan = (double)NAN, top = (double)FLT_MAX;

    assert_true(error_of(6.0, 2.0, 3.0) == 0.0);
    assert_true(fabs(error_of(6.06, 2.0, 3.0) - 0.01) < 1e-6);
    assert_true(isinf(error_of(nan, 2.0, 3.0)) && isinf(error_of(inf, 2.0, 3.0)));
    assert_true(error_of(nan, 2.0, nan) == 0.0 && error_of(nan, 0.0, inf) == 0.0);
    assert_true(isinf(error_of(0.0, 0.0, inf)) && isinf(error_of(inf, 2.0, nan)));
    assert_true(error_of(inf, 2.0, inf) == 0.0 && error_of(-inf, -2.0, inf) == 0.0);
    assert_true(isinf(error_of(nan, 2.0, inf)) && isinf(error_of(-inf, 2.0, inf)));
    assert_true(isinf(error_of(top, 2.0, inf)) && isinf(error_of(inf, top, 1.0)));
    assert_true(error_of(inf, top, 2.0) == 0.0 && isinf(error_of(top, top, 2.0)));
    assert_true(error_of(0.0, 1e-20, 1e-20) == 0.0 && isinf(error_of(1e-3, 0.0, 1.0)));
}

/* A block that is borrowed is not copied, and stays its lender's. */
static void test_borrowed_block(void **state)
{
    const spmm_engine_ops_t *engine  = spmmi_engine_find("csr-cpu");
    const spmm_problem_t     problem = {.ab_type = SPMM_R_64F,
                                        .c_type  = SPMM_R_64F,
                                        .compute = SPMM_COMPUTE_64F,
                                        .layout  = SPMM_LAYOUT_ROW,
                                        .n       = 8,
                                        .lends   = true};
    const int64_t            live    = spmmi_alloc_get_stats().live;
    spmm_csr_t               block;
    int64_t                  count;
    int32_t                 *from;
    void                    *format, *values;

    assert_true(engine->facts.borrows);
    format_case_random(40, 30, 0.2, SPMM_R_64F, false, 3, &block);
    spmm_assert_ok(engine->build(engine, &block, &problem, &device, &format));
    spmm_assert_ok(engine->places(format, &values, &count, &from));
    assert_ptr_equal(values, block.values);
    engine->destroy(format);
    spmmi_csr_free(&block);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

SPMM_TESTS(test_comparison, test_shapes, test_columns_apart, test_accuracy, test_special_values,
           test_same_bits, test_life, test_thread_counts, test_tf32_round, test_choice,
           test_borrowed_block);

/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_autotune_variants.c
 *  The choice among the variants of two engines that only move a clock.
 */
#include "test_main.h"

#include "clock_device.h"
#include "engine/choose/autotune.h"

enum { N_ENGINES = 2, N_SHAPES = 3 };
static const double us = 1e-6;

/* Of a product of each variant of each engine, and what build() says. */
static double        seconds[N_ENGINES][N_SHAPES];
static spmm_status_t built[N_ENGINES][N_SHAPES];
static int           n_variants[N_ENGINES];
static int           builds[N_ENGINES], held, most_held;

static spmm_device_t         device; /* the CPU, with a clock of its own */
static spmm_candidate_t      candidates[N_ENGINES];
static spmm_engine_settled_t settled;

static spmm_status_t build(int engine, const spmm_problem_t *problem, void **format)
{
    const int variant = problem->variant;
    int      *mine;

    builds[engine]++;
    assert_in_range(variant, 0, n_variants[engine] - 1);
    if (built[engine][variant] != SPMM_OK) {
        return spmmi_fail(&spmm_test_env.err, built[engine][variant], "no variant %d", variant);
    }
    if (SPMM_NEW(mine, 1) == NULL) {
        return spmmi_fail_memory(&spmm_test_env.err, 1, sizeof *mine, "a fake");
    }
    *mine     = engine * N_SHAPES + variant;
    *format   = mine;
    most_held = ++held > most_held ? held : most_held;
    return SPMM_OK;
}

static spmm_status_t execute(void *format, const spmm_operands_t *x)
{
    const int it = *(const int *)format;

    clock_device_now += seconds[it / N_SHAPES][it % N_SHAPES];
    return SPMM_OK;
}

static void destroy(void *format)
{
    held -= format != NULL;
    spmmi_free(format);
}

#define SHAPED(k)                                                                                  \
    static spmm_status_t build_##k(const spmm_csr_t *csr, const spmm_problem_t *problem,           \
                                   const spmm_device_t *on, void **format)                         \
    {                                                                                              \
        (void)csr;                                                                                 \
        (void)on;                                                                                  \
        return build(k, problem, format);                                                          \
    }                                                                                              \
    static int variants_##k(const spmm_pattern_t *pattern, const spmm_problem_t *problem,          \
                            const spmm_device_t *on)                                               \
    {                                                                                              \
        assert_ptr_equal(pattern, problem->pattern);                                               \
        assert_ptr_equal(on, &device);                                                             \
        return n_variants[k];                                                                      \
    }
SHAPED(0)
SHAPED(1)

#define SHAPED_OPS(k, title)                                                                       \
    {                                                                                              \
        .name = (title), .built = true, .variants = variants_##k, .build = build_##k,              \
        .execute = execute, .destroy = destroy                                                     \
    }
static const spmm_engine_ops_t engines[] = {SHAPED_OPS(0, "shaped"), SHAPED_OPS(1, "other")};

/* All variants take 50 us, the other engine's only one 100.
 * @p other microseconds predicted of the other engine, 0: it is not usable. */
static void prepare(double other)
{
    const double predicted[] = {us, other > 0.0 ? other * us : INFINITY};

    if (device.ops == NULL) {
        clock_device_open(&device);
    }
    held = most_held = 0;
    for (int k = 0; k < N_ENGINES; k++) {
        builds[k]     = 0;
        n_variants[k] = k == 0 ? N_SHAPES : 1;
        for (int variant = 0; variant < N_SHAPES; variant++) {
            seconds[k][variant] = (k == 0 ? 50 : 100) * us;
            built[k][variant]   = SPMM_OK;
        }
        candidates[k] = (spmm_candidate_t){.name        = engines[k].name,
                                           .engine      = &engines[k],
                                           .layout      = SPMM_LAYOUT_ROW,
                                           .usable      = isfinite(predicted[k]),
                                           .predicted_s = predicted[k],
                                           .measured_s  = NAN};
    }
    spmmi_error_clear(&spmm_test_env.err);
}

/* @p name: NULL for the fastest; that variant of that engine is taken, and nothing else is held. */
static void check_settle(const char *name, int64_t executes, int engine, int variant)
{
    static int64_t              row_ptr[] = {0, 1, 2};
    static int32_t              col[]     = {0, 1};
    static float                values[]  = {1, 2};
    static const spmm_pattern_t pattern;
    const spmm_csr_t            block   = {.n_rows  = 2,
                                           .n_cols  = 2,
                                           .c_rows  = 2,
                                           .row_ptr = row_ptr,
                                           .col_idx = col,
                                           .values  = values,
                                           .type    = SPMM_R_32F};
    const spmm_problem_t        problem = {.ab_type = SPMM_R_32F,
                                           .c_type  = SPMM_R_32F,
                                           .compute = SPMM_COMPUTE_32F,
                                           .layout  = SPMM_LAYOUT_ROW,
                                           .n       = 4,
                                           .pattern = &pattern};
    const spmm_engine_choice_t  choice  = {.name = name, .measures = true, .executes = executes};

    spmm_assert_ok(
        spmmi_engine_settle(&choice, &block, &problem, &device, candidates, N_ENGINES, &settled));
    assert_ptr_equal(settled.picked, &candidates[engine]);
    assert_int_equal(*(const int *)settled.format, engine * N_SHAPES + variant);
    assert_int_equal(held, 1);
    assert_true(most_held <= 2);
    assert_int_equal(spmm_test_env.err.status, SPMM_OK);
    destroy(settled.format);
}

static const int64_t many = (int64_t)1 << 40; /* whatever the host's clock says, measuring pays */

static void check_measured(int engine, double microseconds)
{
    assert_true(fabs(candidates[engine].measured_s - microseconds * us) < 1e-3 * us);
}

/* The fastest is kept, and its time. */
static void test_fastest(void **state)
{
    for (int fastest = 0; fastest < N_SHAPES; fastest++) {
        for (int rival = 0; rival < 2; rival++) {
            prepare(rival == 0 ? 0.0 : 1.5);
            seconds[0][fastest] = 40 * us;
            check_settle(NULL, many, 0, fastest);
            assert_int_equal(builds[0], N_SHAPES);
            check_measured(0, 40);
        }
    }
}

/* Variants of an engine that is far behind are not tried. */
static void test_far(void **state)
{
    prepare(1.5);
    seconds[0][0] = 131 * us;
    seconds[0][1] = us;
    check_settle(NULL, many, 1, 0);
    assert_int_equal(builds[0], 1);
}

/* An engine behind by no more than variants bring may win with another of them, whichever was
 * predicted ahead; else the engine that was ahead stays, in its fastest variant. */
static void test_near(void **state)
{
    for (int first = 0; first < N_ENGINES; first++) {
        const int behind = 1 - first;

        for (int won = 0; won < 2; won++) {
            prepare(first == 0 ? 1.5 : 0.7);
            n_variants[1]     = N_SHAPES;
            seconds[first][0] = seconds[first][1] = 100 * us;
            seconds[first][2]                     = 95 * us;
            seconds[behind][0]                    = 120 * us;
            seconds[behind][1]                    = 110 * us;
            seconds[behind][2]                    = won != 0 ? 90 * us : 115 * us;
            check_settle(NULL, many, won != 0 ? behind : first, 2);
            assert_int_equal(builds[0], N_SHAPES);
            assert_int_equal(builds[1], N_SHAPES);
            check_measured(first, 95);
            check_measured(behind, won != 0 ? 90 : 110);
        }
    }
}

/* The best of the fastest engine decides who is near it. */
static void test_left_behind(void **state)
{
    prepare(1.5);
    n_variants[1] = N_SHAPES;
    seconds[0][1] = 40 * us;
    seconds[1][0] = 60 * us; /* 1.2 times 50, 1.5 times 40 */
    seconds[1][1] = us;
    check_settle(NULL, many, 0, 1);
    assert_int_equal(builds[1], 1);
}

/* A variant without room is passed over, whosever it is. */
static void test_passed_over(void **state)
{
    prepare(0.0);
    built[0][1]   = SPMM_ERR_MEMORY;
    seconds[0][2] = 40 * us;
    check_settle(NULL, many, 0, 2);

    prepare(1.5);
    n_variants[1] = N_SHAPES;
    seconds[1][0] = 60 * us;
    built[1][1]   = SPMM_ERR_MEMORY;
    seconds[1][2] = 40 * us;
    check_settle(NULL, many, 1, 2);
    assert_int_equal(builds[1], N_SHAPES);
}

/* Few products, or an engine by name: the best predicted. */
static void test_predicted(void **state)
{
    prepare(0.0);
    seconds[0][1] = us;
    check_settle(NULL, 1, 0, 0);
    prepare(0.0);
    seconds[0][1] = us;
    check_settle("shaped", many, 0, 0);
    assert_int_equal(builds[0], 1);
}

/* Products of a second, so that what the host's clock says does not count: a trial takes five, 5 %
 * of 1000 are enough for all variants, and three times 5 % of 40 for no near rival. */
static void test_budget(void **state)
{
    for (int few = 0; few < 2; few++) {
        prepare(1.0);
        n_variants[1] = N_SHAPES;
        for (int k = 0; k < N_ENGINES; k++) {
            candidates[k].predicted_s = 1.0 + 0.01 * k;
            for (int variant = 0; variant < N_SHAPES; variant++) {
                seconds[k][variant] = 1.0 + 0.01 * k;
            }
        }
        seconds[1][2] = 0.5;
        if (few == 0) {
            check_settle(NULL, 1000, 1, 2);
        } else {
            check_settle(NULL, 40, 0, 0);
        }
        assert_int_equal(builds[1], few == 0 ? N_SHAPES : 0);
    }
}

SPMM_TESTS(test_fastest, test_far, test_near, test_left_behind, test_passed_over, test_predicted,
           test_budget);

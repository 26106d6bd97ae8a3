/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_autotune_shapes.c
 *  The choice among the shapes of an engine that only moves a clock, which is the fastest of two.
 */
#include "test_main.h"

#include <math.h>

#include "base/alloc.h"
#include "clock_device.h"
#include "engine/autotune.h"

enum { N_SHAPES = 3 };
static const double us = 1e-6;

static double seconds[N_SHAPES]; /* of a product of each shape; the other engine takes 100 us */
static spmm_status_t built[N_SHAPES]; /* what build() says */
static int           builds, held, most_held;

static spmm_device_t           device; /* the CPU, with a clock of its own */
static spmm_engine_candidate_t candidates[2];
static spmm_engine_settled_t   settled;

static spmm_status_t build_format(int shape, void **format)
{
    int *mine;

    assert_in_range(shape, 0, N_SHAPES);
    if (SPMM_NEW(mine, 1) == NULL) {
        return spmm_fail_memory(&spmm_test_env.err, 1, sizeof *mine, "a fake");
    }
    *mine     = shape;
    *format   = mine;
    most_held = ++held > most_held ? held : most_held;
    return SPMM_OK;
}

static spmm_status_t build_shaped(const spmm_csr_t *csr, const spmm_problem_t *problem,
                                  const spmm_device_t *on, void **format)
{
    (void)csr;
    (void)on;
    builds++;
    assert_in_range(problem->shape, 0, N_SHAPES - 1);
    if (built[problem->shape] != SPMM_OK) {
        return spmm_fail(&spmm_test_env.err, built[problem->shape], "no shape %d", problem->shape);
    }
    return build_format(problem->shape, format);
}

static spmm_status_t build_other(const spmm_csr_t *csr, const spmm_problem_t *problem,
                                 const spmm_device_t *on, void **format)
{
    (void)csr;
    (void)on;
    assert_int_equal(problem->shape, 0);
    return build_format(N_SHAPES, format);
}

static spmm_status_t execute(void *format, int64_t n, double alpha, const void *B, int64_t ldb,
                             double beta, void *C, int64_t ldc, spmm_stream_t stream)
{
    const int shape = *(const int *)format;

    (void)n, (void)alpha, (void)B, (void)ldb, (void)beta, (void)C, (void)ldc, (void)stream;
    clock_device_now += shape == N_SHAPES ? 100 * us : seconds[shape];
    return SPMM_OK;
}

static void destroy(void *format)
{
    held -= format != NULL;
    spmm_free(format);
}

static int shapes(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                  const spmm_device_t *on)
{
    assert_ptr_equal(pattern, problem->pattern);
    assert_ptr_equal(on, &device);
    return N_SHAPES;
}

static const spmm_engine_ops_t engines[] = {
    {.name    = "shaped",
     .built   = true,
     .shapes  = shapes,
     .build   = build_shaped,
     .execute = execute,
     .destroy = destroy},
    {.name = "other", .built = true, .build = build_other, .execute = execute, .destroy = destroy}};

/* @p other microseconds predicted of the other engine, 0: it is not usable. */
static void prepare(double other)
{
    const double predicted[] = {us, other > 0.0 ? other * us : INFINITY};

    if (device.ops == NULL) {
        clock_device_open(&device);
    }
    builds = held = most_held = 0;
    for (int k = 0; k < N_SHAPES; k++) {
        seconds[k] = 50 * us;
        built[k]   = SPMM_OK;
    }
    for (int k = 0; k < 2; k++) {
        candidates[k] = (spmm_engine_candidate_t){.engine      = &engines[k],
                                                  .layout      = SPMM_LAYOUT_ROW,
                                                  .usable      = isfinite(predicted[k]),
                                                  .predicted_s = predicted[k],
                                                  .measured_s  = NAN};
    }
    spmm_error_clear(&spmm_test_env.err);
}

/* @p name: NULL for the fastest; takes the shape and checks that nothing else is held. */
static void check_settle(const char *name, int64_t executes, int shape)
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
    const spmm_engine_choice_t  choice  = {.name = name, .measure = true, .executes = executes};

    spmm_assert_ok(spmm_engine_settle(&choice, &block, &problem, &device, candidates, 2, &settled));
    assert_int_equal(*(const int *)settled.format, shape);
    assert_int_equal(held, 1);
    assert_true(most_held <= 2);
    assert_int_equal(spmm_test_env.err.status, SPMM_OK);
    destroy(settled.format);
}

static const int64_t many = (int64_t)1 << 40; /* whatever the host's clock says, measuring pays */

/* The fastest is kept, and its time. */
static void test_fastest(void **state)
{
    (void)state;
    for (int fastest = 0; fastest < N_SHAPES; fastest++) {
        for (int rival = 0; rival < 2; rival++) {
            prepare(rival == 0 ? 0.0 : 1.5);
            seconds[fastest] = 40 * us;
            check_settle(NULL, many, fastest);
            assert_int_equal(builds, N_SHAPES);
            assert_true(fabs(candidates[0].measured_s - 40 * us) < 1e-3 * us);
        }
    }
}

/* Shapes of an engine that has lost are not tried. */
static void test_loser(void **state)
{
    (void)state;
    prepare(1.5);
    seconds[0] = 200 * us;
    seconds[1] = us;
    check_settle(NULL, many, N_SHAPES);
    assert_int_equal(builds, 1);
}

/* A shape without room is passed over. */
static void test_passed_over(void **state)
{
    (void)state;
    prepare(0.0);
    built[1]   = SPMM_ERR_MEMORY;
    seconds[2] = 40 * us;
    check_settle(NULL, many, 2);
}

/* Few products, or an engine by name: the best predicted. */
static void test_predicted(void **state)
{
    (void)state;
    prepare(0.0);
    seconds[1] = us;
    check_settle(NULL, 1, 0);
    prepare(0.0);
    seconds[1] = us;
    check_settle("shaped", many, 0);
    assert_int_equal(builds, 1);
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_fastest),
    cmocka_unit_test(test_loser),
    cmocka_unit_test(test_passed_over),
    cmocka_unit_test(test_predicted),
    {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_autotune.c
 *  The choice among engines that only move a clock: what is built and measured, what is kept, and
 *  what becomes of failures.
 */
#include "test_main.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "clock_device.h"
#include "engine/autotune.h"

enum { N_FAKES = 5, YARDSTICK = N_FAKES - 1, N_COLS = 7, PLANNED = 6, N_WARM = 2 };
static const double us = 1e-6;

/* What an engine is to do, and what it has been asked for. */
static struct {
    double        seconds; /* of a product */
    spmm_status_t build_status, execute_status;
    spmm_layout_t layout; /* built for */
    int           builds, executes, held;
    int           no_room; /* first builds that find no memory */
    double        beta;
    int64_t       n, ldb, ldc;
} fakes[N_FAKES];
static int held, most_held; /* formats */

static spmm_device_t device; /* the CPU, with a clock of its own */
static spmm_csr_t    block;

static spmm_status_t fake_build(int k, const spmm_problem_t *problem, void **format)
{
    int *mine;

    fakes[k].builds++;
    fakes[k].layout = problem->layout;
    if (fakes[k].builds <= fakes[k].no_room) {
        return spmm_fail(&spmm_test_env.err, SPMM_ERR_MEMORY, "no room for fake %d", k);
    }
    if (fakes[k].build_status != SPMM_OK) {
        return spmm_fail(&spmm_test_env.err, fakes[k].build_status, "fake %d is not built", k);
    }
    if (SPMM_NEW(mine, 1) == NULL) {
        return spmm_fail_memory(&spmm_test_env.err, 1, sizeof *mine, "a fake");
    }
    *mine     = k;
    *format   = mine;
    most_held = ++held > most_held ? held : most_held;
    fakes[k].held++;
    return SPMM_OK;
}

static spmm_status_t fake_execute(void *format, int64_t n, double alpha, const void *B, int64_t ldb,
                                  double beta, void *C, int64_t ldc, spmm_stream_t stream)
{
    const int k = *(const int *)format;

    (void)alpha;
    (void)stream;
    fakes[k].executes++;
    fakes[k].beta = beta;
    fakes[k].n    = n;
    fakes[k].ldb  = ldb;
    fakes[k].ldc  = ldc;
    for (int64_t i = 0; i < block.n_cols * n; i++) {
        assert_true(((const float *)B)[i] != 0.0f);
    }
    for (int64_t i = 0; i < block.c_rows * n; i++) {
        assert_true(isfinite(((const float *)C)[i]));
    }
    if (fakes[k].execute_status != SPMM_OK) {
        return spmm_fail(&spmm_test_env.err, fakes[k].execute_status, "fake %d does not run", k);
    }
    clock_device_now += fakes[k].seconds;
    return SPMM_OK;
}

static void fake_destroy(void *format)
{
    if (format != NULL) {
        held--;
        fakes[*(const int *)format].held--;
        spmm_free(format);
    }
}

#define FAKE(k)                                                                                    \
    static spmm_status_t build_##k(const spmm_csr_t *csr, const spmm_problem_t *problem,           \
                                   const spmm_device_t *on, void **format)                         \
    {                                                                                              \
        assert_ptr_equal(csr, &block);                                                             \
        assert_ptr_equal(on, &device);                                                             \
        return fake_build(k, problem, format);                                                     \
    }
FAKE(0)
FAKE(1)
FAKE(2)
FAKE(3)
FAKE(4)

#define FAKE_OPS(k, title)                                                                         \
    {                                                                                              \
        .name = (title), .built = true, .build = build_##k, .execute = fake_execute,               \
        .destroy = fake_destroy                                                                    \
    }
static const spmm_engine_ops_t engines[] = {FAKE_OPS(0, "zero"), FAKE_OPS(1, "one"),
                                            FAKE_OPS(2, "two"), FAKE_OPS(3, "three"),
                                            FAKE_OPS(4, "cusparse")};

static int64_t                 executes;
static spmm_engine_candidate_t candidates[N_FAKES];
static spmm_engine_settled_t   settled;

/* @p predicted microseconds, 0: not usable.  All take 0.1 ms but the yardstick, which takes 0.15. */
static void prepare(const double predicted[N_FAKES])
{
    static int64_t row_ptr[] = {0, 1, 3, 3, 4};
    static int32_t col[]     = {0, 2, 6, 1};
    static float   values[]  = {1, 2, 3, 4};

    if (device.ops == NULL) {
        clock_device_open(&device);
    }
    block = (spmm_csr_t){.n_rows  = 4,
                         .n_cols  = N_COLS,
                         .row_ptr = row_ptr,
                         .col_idx = col,
                         .values  = values,
                         .type    = SPMM_R_32F,
                         .c_rows  = 5};
    memset(fakes, 0, sizeof fakes);
    held = most_held = 0;
    executes         = (int64_t)1 << 40; /* whatever the host's clock says, measuring pays */
    for (int k = 0; k < N_FAKES; k++) {
        fakes[k].seconds = k == YARDSTICK ? 150 * us : 100 * us;
        candidates[k]    = (spmm_engine_candidate_t){.engine      = &engines[k],
                                                     .layout      = SPMM_LAYOUT_ROW,
                                                     .usable      = predicted[k] > 0.0,
                                                     .why         = "is not asked",
                                                     .predicted_s = predicted[k] * us,
                                                     .measured_s  = NAN};
        if (!candidates[k].usable) {
            candidates[k].predicted_s = INFINITY;
        }
    }
    spmm_error_clear(&spmm_test_env.err);
}

static spmm_status_t settle(const char *name, bool measure)
{
    const spmm_engine_choice_t choice = {
        .name = name, .measure = measure, .beta = 1.0, .executes = executes};
    const spmm_problem_t problem = {.ab_type = SPMM_R_32F,
                                    .c_type  = SPMM_R_32F,
                                    .compute = SPMM_COMPUTE_32F,
                                    .layout  = SPMM_LAYOUT_ROW,
                                    .n       = PLANNED};

    return spmm_engine_settle(&choice, &block, &problem, &device, candidates, N_FAKES, &settled);
}

/* Engine @p k was taken, without an error and with its format alone. */
static void check_taken(int k)
{
    assert_ptr_equal(settled.picked, &candidates[k]);
    assert_non_null(settled.format);
    assert_int_equal(held, 1);
    assert_int_equal(fakes[k].held, 1);
    assert_true(most_held <= 2);
    assert_int_equal(spmm_test_env.err.status, SPMM_OK);
    assert_string_equal(spmm_test_env.err.text, "");
    fake_destroy(settled.format);
}

static void check_unmeasured(int k)
{
    assert_int_equal(fakes[k].executes, 0);
    assert_true(isnan(candidates[k].measured_s));
}

/* The three best predicted within a factor, and the yardstick within a wider one. */
static void test_limits(void **state)
{
    const double four[]  = {1.0, 1.5, 1.2, 1.4, 1.9};
    const double apart[] = {1.7, 0.0, 1.0, 0.0, 1.9};
    const double alone[] = {1.7, 0.0, 1.0, 0.0, 2.1};

    (void)state;
    prepare(four);
    fakes[2].seconds = 20 * us;
    spmm_assert_ok(settle(NULL, true));
    check_unmeasured(1); /* the fourth */
    assert_int_equal(fakes[1].builds, 0);
    for (int k = 0; k < N_FAKES; k++) {
        if (k != 1) {
            assert_int_equal(fakes[k].builds, 1);
            assert_true(fabs(candidates[k].measured_s - fakes[k].seconds) < 1e-3 * us);
        }
    }
    assert_true(settled.tune_s > 0.0);
    check_taken(2);

    prepare(apart);
    spmm_assert_ok(settle("auto", true));
    check_unmeasured(0);
    assert_int_equal(fakes[0].builds, 0);
    assert_int_equal(fakes[YARDSTICK].builds, 1);
    check_taken(2);

    prepare(alone); /* no rival: nothing to measure */
    spmm_assert_ok(settle("auto", true));
    check_unmeasured(2);
    assert_int_equal(fakes[YARDSTICK].builds, 0);
    check_taken(2);
}

/* Measuring may take a share of the products to come: for few of them the prediction decides. */
static void test_budget(void **state)
{
    const double predicted[] = {1.0, 1.1, 0.0, 0.0, 1.2};
    const double slow[]      = {1e6, 1.1e6, 0.0, 0.0, 1.2e6};

    (void)state;
    prepare(predicted);
    executes         = 1;
    fakes[1].seconds = 20 * us;
    spmm_assert_ok(settle(NULL, true));
    for (int k = 0; k < N_FAKES; k++) {
        check_unmeasured(k);
    }
    assert_int_equal(fakes[1].builds + fakes[YARDSTICK].builds, 0);
    check_taken(0);

    prepare(slow); /* seconds: 5 % of 1,000 of them are no more than the trials of five */
    executes         = 0;
    fakes[1].seconds = 20 * us;
    spmm_assert_ok(settle(NULL, true));
    check_taken(1);
    prepare(slow);
    executes = 60;
    spmm_assert_ok(settle(NULL, true));
    check_unmeasured(0);
    check_taken(0);
}

static void test_winner(void **state)
{
    const double predicted[] = {1.0, 1.2, 1.5, 0.0, 1.9};

    (void)state;
    for (int winner = 0; winner < N_FAKES; winner++) {
        if (winner == 3) {
            continue;
        }
        prepare(predicted);
        fakes[winner].seconds = 20 * us;
        spmm_assert_ok(settle(NULL, true));
        check_taken(winner);
    }
}

/* Operands as execute will give them. */
static void test_operands(void **state)
{
    const double predicted[] = {1.0, 1.5, 0.0, 0.0, 1.9};

    (void)state;
    prepare(predicted);
    candidates[1].layout = SPMM_LAYOUT_COL;
    spmm_assert_ok(settle(NULL, true));
    for (int k = 0; k < 2; k++) {
        const bool cols = k == 1;

        assert_int_equal(fakes[k].layout, candidates[k].layout);
        assert_int_equal(fakes[k].n, PLANNED);
        assert_int_equal(fakes[k].ldb, cols ? N_COLS : PLANNED);
        assert_int_equal(fakes[k].ldc, cols ? 5 : PLANNED);
        assert_true(fakes[k].beta == 1.0);
    }
    fake_destroy(settled.format);
}

/* Copies count against the engine that needs them. */
static void test_copies(void **state)
{
    const double predicted[] = {1.0, 1.5, 0.0, 0.0, 1.9};

    (void)state;
    prepare(predicted);
    fakes[0].seconds       = 50 * us;
    candidates[0].copies_s = 800 * us;
    spmm_assert_ok(settle(NULL, true));
    assert_true(fabs(candidates[0].measured_s - 850 * us) < 1e-3 * us);
    check_taken(1);
}

/* What takes far longer than the best is not measured on. */
static void test_slow(void **state)
{
    const double predicted[] = {1.0, 1.5, 0.0, 0.0, 1.9};

    (void)state;
    prepare(predicted);
    fakes[1].seconds = 5e-3;
    spmm_assert_ok(settle(NULL, true));
    assert_int_equal(fakes[1].executes, N_WARM);
    assert_true(fakes[0].executes > N_WARM);
    assert_true(fabs(candidates[1].measured_s - 5e-3) < 1e-3 * us);
    fake_destroy(settled.format);
}

/* Engines that refuse or have no room are passed over, whichever they are. */
static void test_passed_over(void **state)
{
    const double        predicted[] = {1.0, 1.2, 1.5, 4.0, 1.9};
    const spmm_status_t statuses[]  = {SPMM_ERR_MEMORY, SPMM_ERR_RANGE, SPMM_ERR_UNSUPPORTED};

    (void)state;
    for (int s = 0; s < 3; s++) {
        prepare(predicted);
        fakes[0].build_status   = statuses[s];
        fakes[1].execute_status = statuses[s];
        fakes[2].seconds        = 20 * us;
        spmm_assert_ok(settle(NULL, true));
        check_unmeasured(0);
        assert_true(isnan(candidates[1].measured_s));
        check_taken(2);

        prepare(predicted); /* then the one that was not worth measuring */
        for (int k = 0; k < N_FAKES; k++) {
            fakes[k].build_status = k == 3 ? SPMM_OK : statuses[s];
        }
        spmm_assert_ok(settle(NULL, true));
        check_taken(3);
    }
}

/* Rivals that do not fit beside what is there, and room for the first one at the third try. */
static void test_crowded(void **state)
{
    const double predicted[] = {1.2, 1.0, 1.1, 0.0, 1.9};

    (void)state;
    prepare(predicted);
    for (int k = 0; k < N_FAKES; k++) {
        fakes[k].no_room = k == 1 ? 0 : 1;
    }
    spmm_assert_ok(settle(NULL, true));
    for (int k = 0; k < N_FAKES; k++) {
        if (k != 1) {
            check_unmeasured(k);
        }
    }
    check_taken(1);

    prepare(predicted); /* built where others are not, then not run: the next takes its place */
    fakes[1].execute_status = SPMM_ERR_MEMORY;
    fakes[2].no_room        = 1;
    spmm_assert_ok(settle(NULL, true));
    check_taken(0);
}

static void test_all_fail(void **state)
{
    const double predicted[] = {1.2, 1.0, 0.0, 0.0, 1.9};

    (void)state;
    prepare(predicted);
    fakes[0].build_status = fakes[YARDSTICK].build_status = SPMM_ERR_MEMORY;
    fakes[1].build_status                                 = SPMM_ERR_RANGE;
    assert_int_equal(settle(NULL, true), SPMM_ERR_RANGE);
    assert_string_equal(spmm_test_env.err.text, "fake 1 is not built");
    assert_int_equal(held, 0);
    assert_null(settled.format);

    prepare(predicted); /* a broken device is no matter of taste */
    fakes[0].execute_status = SPMM_ERR_DEVICE;
    assert_int_equal(settle(NULL, true), SPMM_ERR_DEVICE);
    assert_string_equal(spmm_test_env.err.text, "fake 0 does not run");
    assert_int_equal(held, 0);
    assert_null(settled.format);
    spmm_error_clear(&spmm_test_env.err);
}

/* Nothing runs when the prediction is to decide, an engine is named, or there are no entries. */
static void test_unmeasured(void **state)
{
    const double predicted[] = {2.0, 1.0, 1.5, 0.0, 9.0};

    (void)state;
    for (int way = 0; way < 3; way++) {
        prepare(predicted);
        fakes[1].seconds = 5e-3;
        if (way == 2) {
            block.n_rows = 0;
        }
        spmm_assert_ok(settle(way == 1 ? "two" : NULL, way != 0));
        for (int k = 0; k < N_FAKES; k++) {
            check_unmeasured(k);
        }
        assert_int_equal(fakes[0].builds + fakes[YARDSTICK].builds, 0);
        check_taken(way == 1 ? 2 : 1);
    }
    prepare(predicted);
    assert_int_equal(settle("three", true), SPMM_ERR_UNSUPPORTED);
    spmm_error_clear(&spmm_test_env.err);
    assert_int_equal(settle("four", true), SPMM_ERR_ARGUMENT);
    assert_int_equal(held, 0);
    spmm_error_clear(&spmm_test_env.err);
}

/* Every allocation in turn fails: an engine is taken all the same while one can be built. */
static void test_no_memory(void **state)
{
    const double             predicted[] = {1.0, 1.5, 0.0, 0.0, 1.9};
    const spmm_alloc_stats_t before      = spmm_alloc_get_stats();
    int64_t                  calls       = 1;

    (void)state;
    for (int64_t fail = -1; fail < calls; fail++) { /* the first time none fails */
        prepare(predicted);
        spmm_alloc_inject(fail);
        spmm_assert_ok(settle(NULL, true));
        spmm_alloc_inject(-1);
        if (fail < 0) {
            calls = spmm_alloc_get_stats().calls - before.calls;
        }
        assert_int_equal(held, 1);
        assert_string_equal(spmm_test_env.err.text, "");
        fake_destroy(settled.format);
        assert_int_equal(spmm_alloc_get_stats().live, before.live);
    }
    assert_true(calls >= 5); /* events, operands and formats at least */
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_limits),      cmocka_unit_test(test_budget),
    cmocka_unit_test(test_winner),      cmocka_unit_test(test_operands),
    cmocka_unit_test(test_copies),      cmocka_unit_test(test_slow),
    cmocka_unit_test(test_passed_over), cmocka_unit_test(test_crowded),
    cmocka_unit_test(test_all_fail),    cmocka_unit_test(test_unmeasured),
    cmocka_unit_test(test_no_memory),   {0},
};

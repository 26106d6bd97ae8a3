/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_tries.c
 *  The fastest of several formats, found by products that a caller makes, with engines that only
 *  move a clock: who runs when, who wins, and that nothing waits or is lost.
 */
#include "fake_engines.h"

#include <math.h>

#include "clock_device.h"
#include "engine/choose/rivals.h"

static const double us = 1e-6;

enum { N_MOST = SPMM_TRY_PRODUCTS, FIRST_TURNS = 2, ALL_TURNS = 3 + SPMM_TRY_SAMPLES };
static float B[N_COLS * PLANNED], C[5 * PLANNED];

static void open_tries(const double predicted[N_FAKES])
{
    fake_prepare(predicted);
    clock_device_seen = INFINITY;
    for (int i = 0; i < N_COLS * PLANNED; i++) {
        B[i] = 1.0f;
    }
}

static void settle_by_use(void)
{
    spmm_assert_ok(fake_settle(NULL, SPMM_TUNE_USE));
    for (int k = 0; k < N_FAKES; k++) {
        assert_int_equal(fakes[k].executes, 0); /* nothing runs for tuning alone */
    }
    if (fake_settled.tries != NULL) {
        fake_settled.tries->open = true;
    }
}

static spmm_status_t multiply(bool typical, double beta)
{
    const spmm_operands_t x = {.ab_type = SPMM_R_32F,
                               .c_type  = SPMM_R_32F,
                               .layout  = SPMM_LAYOUT_ROW,
                               .n       = PLANNED,
                               .alpha   = {.re = 1.0},
                               .beta    = {.re = beta},
                               .B       = B,
                               .ldb     = PLANNED,
                               .C       = C,
                               .ldc     = PLANNED};

    SPMM_TRY(spmmi_tries_begin(fake_settled.tries, typical, beta != 0.0));
    return spmmi_tries_execute(fake_settled.tries, &x);
}

/* Products until the choice stands, each run by one engine. */
static int products_until_settled(void)
{
    int count = 0;

    while (fake_settled.tries->since == 0) {
        int ran = 0, before = 0;

        for (int k = 0; k < N_FAKES; k++) {
            before += fakes[k].executes;
        }
        spmm_assert_ok(multiply(true, 0.0));
        for (int k = 0; k < N_FAKES; k++) {
            ran += fakes[k].executes;
        }
        assert_int_equal(ran, before + 1);
        count++;
        assert_true(count <= N_MOST + 1);
    }
    assert_int_equal(fake_settled.tries->since, fake_settled.tries->products);
    return count;
}

/* Format @p k is left, and the others are gone. */
static void close_tries(int k)
{
    spmm_tries_t *tries  = fake_settled.tries;
    void         *format = tries->of[tries->at].format;

    assert_ptr_equal(tries->of[tries->at].candidate, &fake_candidates[k]);
    spmmi_tries_free(tries);
    assert_int_equal(fake_held, 1);
    assert_int_equal(fakes[k].held, 1);
    fake_destroy(format);
}

/* The fourth is not worth it; of the others one is dropped after one product. */
static void test_winner(void **state)
{
    const double predicted[N_FAKES] = {100, 110, 120, 130, 150};
    int          ran                = 0;

    open_tries(predicted);
    fakes[0].seconds         = 100 * us;
    fakes[1].seconds         = 151 * us;
    fakes[2].seconds         = 90 * us;
    fakes[YARDSTICK].seconds = 95 * us;
    settle_by_use();
    assert_int_equal(fake_settled.tries->count, 4);
    assert_int_equal(fake_held, 4);
    assert_ptr_equal(fake_settled.picked, &fake_candidates[0]);
    (void)products_until_settled();
    assert_true(fake_settled.tries->whole);
    assert_int_equal(fakes[0].executes, ALL_TURNS);
    assert_int_equal(fakes[1].executes, FIRST_TURNS);
    assert_int_equal(fakes[YARDSTICK].executes, ALL_TURNS);
    fake_check_unmeasured(3);
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(fake_candidates[k].measured_s - fakes[k].seconds) < 1e-3 * us);
    }
    ran = fakes[2].executes;
    for (int k = 0; k < 10; k++) { /* now it runs alone */
        spmm_assert_ok(multiply(true, 0.0));
    }
    assert_int_equal(fakes[2].executes, ran + 10);
    assert_int_equal(fake_held, 4); /* no execute frees */
    close_tries(2);
}

/* One time that is far off does not decide. */
static void test_median(void **state)
{
    const double predicted[N_FAKES] = {100, 110, 0, 0, 0};

    open_tries(predicted);
    fakes[1].seconds = 80 * us;
    settle_by_use();
    while (fake_settled.tries->of[1].turns < 5) {
        spmm_assert_ok(multiply(true, 0.0));
    }
    fakes[1].seconds = 900 * us;
    spmm_assert_ok(multiply(true, 0.0));
    fakes[1].seconds = 80 * us;
    (void)products_until_settled();
    close_tries(1);
}

/* The device lags behind the host: whoever has no times goes by what is known. */
static void test_lag(void **state)
{
    const double predicted[N_FAKES] = {100, 110, 120, 0, 150};

    open_tries(predicted);
    fakes[1].seconds = 70 * us;
    settle_by_use();
    clock_device_seen = -1.0; /* nothing is done, ever */
    assert_int_equal(products_until_settled(), N_MOST + 1);
    assert_int_equal(fakes[1].executes, FIRST_TURNS);
    assert_int_equal(fakes[2].executes, FIRST_TURNS);
    assert_int_equal(fakes[YARDSTICK].executes, FIRST_TURNS);
    assert_false(fake_settled.tries->whole);
    close_tries(0);

    open_tries(predicted);
    fakes[1].seconds = 70 * us;
    settle_by_use();
    clock_device_seen = -1.0;
    for (int k = 0; k < 20; k++) {
        spmm_assert_ok(multiply(true, 0.0));
    }
    assert_int_equal(fakes[0].executes, 20 - 3 * FIRST_TURNS);
    clock_device_seen = INFINITY;
    while (fake_settled.tries->since == 0) {
        spmm_assert_ok(multiply(true, 0.0));
    }
    assert_true(fake_settled.tries->since <= N_MOST);
    close_tries(1);
}

/* Fewer columns, or another kind of beta, take other times: they run, and decide nothing. */
static void test_other_products(void **state)
{
    const double predicted[N_FAKES] = {100, 110, 0, 0, 0};

    open_tries(predicted);
    settle_by_use();
    spmm_assert_ok(multiply(false, 0.0));
    spmm_assert_ok(multiply(true, 0.0));
    for (int k = 0; k < 5; k++) {
        spmm_assert_ok(multiply(false, 0.0));
        spmm_assert_ok(multiply(true, 1.0));
    }
    assert_int_equal(fakes[0].executes, 12);
    assert_int_equal(fakes[1].executes, 0);
    spmm_assert_ok(multiply(true, 0.0));
    spmm_assert_ok(multiply(true, 0.0));
    assert_int_equal(fakes[1].executes, 1);
    while (fake_settled.tries->since == 0) {
        spmm_assert_ok(multiply(false, 0.0));
    }
    assert_int_equal(fake_settled.tries->since, N_MOST + 1);
    close_tries(0);
}

static fake_engine_t *running(void)
{
    const spmm_tries_t *tries = fake_settled.tries;

    return &fakes[tries->of[tries->at].candidate - fake_candidates];
}

/* A product is not lost with an engine that does not take it. */
static void test_refusals(void **state)
{
    const double predicted[N_FAKES] = {100, 110, 120, 0, 0};

    open_tries(predicted);
    fakes[0].execute_status = SPMM_ERR_UNSUPPORTED;
    fakes[1].execute_status = SPMM_ERR_MEMORY;
    settle_by_use();
    while (fake_settled.tries->since == 0) {
        const int before = fakes[2].executes;

        spmm_assert_ok(multiply(true, 0.0));
        assert_int_equal(fakes[2].executes, before + 1);
        assert_string_equal(spmm_test_env.err.text, "");
    }
    close_tries(2);

    open_tries(predicted);
    for (int k = 0; k < 3; k++) {
        fakes[k].execute_status = SPMM_ERR_UNSUPPORTED;
    }
    settle_by_use();
    assert_int_equal(multiply(true, 0.0), SPMM_ERR_UNSUPPORTED);
    running()->execute_status = SPMM_OK;
    spmm_assert_ok(multiply(true, 0.0));
    running()->execute_status = SPMM_ERR_DEVICE;
    assert_int_equal(multiply(true, 0.0), SPMM_ERR_DEVICE);
    spmmi_error_clear(&spmm_test_env.err);
    close_tries((int)(running() - fakes));
}

/* What is not built, is too large, or has no rival, is not tried. */
static void test_building(void **state)
{
    const double predicted[N_FAKES] = {100, 110, 120, 0, 0};
    const double alone[N_FAKES]     = {100, 170, 0, 0, 0};
    const double known[N_FAKES]     = {100, 0, 0, 110, 0};
    const double slow[N_FAKES]      = {100, 0, 0, 0, 190};
    const double behind[N_FAKES]    = {100, 0, 0, 0, 210};

    open_tries(predicted);
    fakes[1].build_status = SPMM_ERR_MEMORY;
    fakes[2].bytes        = (size_t)SPMM_RIVALS_BYTES + 1000;
    settle_by_use();
    assert_null(fake_settled.tries);
    fake_check_taken(0);

    open_tries(known); /* it is not even built */
    fakes[3].bytes = (size_t)SPMM_RIVALS_BYTES + 1000;
    settle_by_use();
    assert_null(fake_settled.tries);
    assert_int_equal(fakes[3].builds, 0);
    fake_check_taken(0);

    open_tries(known);
    settle_by_use();
    assert_int_equal(fakes[3].builds, 1);
    (void)products_until_settled();
    close_tries(0);

    open_tries(alone);
    settle_by_use();
    assert_null(fake_settled.tries);
    fake_check_taken(0);

    open_tries(slow); /* the yardstick is tried up to twice the best, but for few products */
    settle_by_use();
    assert_ptr_equal(fake_settled.tries->of[1].candidate, &fake_candidates[YARDSTICK]);
    assert_int_equal(fake_settled.tries->count, 2);
    (void)products_until_settled();
    close_tries(0);
    open_tries(slow);
    fake_executes = 150;
    settle_by_use();
    assert_null(fake_settled.tries);
    fake_check_taken(0);

    open_tries(behind);
    settle_by_use();
    assert_null(fake_settled.tries);
    fake_check_taken(0);

    open_tries(predicted); /* few products to come */
    fake_executes = 1;
    settle_by_use();
    assert_null(fake_settled.tries);
    fake_check_taken(0);

    for (int k = 1; k <= ALWAYS; k++) { /* so short that no trial is affordable */
        const double short_ones[N_FAKES] = {1e-6, k == 1 ? 1.1e-6 : 0, k == ALWAYS ? 1.1e-6 : 0};

        open_tries(short_ones);
        fake_executes = 300;
        settle_by_use();
        assert_true((fake_settled.tries != NULL) == (k == ALWAYS));
        if (k == ALWAYS) {
            close_tries(0);
        } else {
            fake_check_taken(0);
        }
    }

    open_tries(predicted); /* a failure that is no refusal */
    fakes[1].build_status = SPMM_ERR_DEVICE;
    assert_int_equal(fake_settle(NULL, SPMM_TUNE_USE), SPMM_ERR_DEVICE);
    assert_int_equal(fake_held, 0);
    spmmi_error_clear(&spmm_test_env.err);
}

/* Nothing leaks where memory is short. */
static void test_sweep(void **state)
{
    const double predicted[N_FAKES] = {100, 110, 120, 0, 150};
    bool         over               = false;

    for (int64_t k = 0; !over; k++) {
        const spmm_alloc_stats_t before = (open_tries(predicted), spmmi_alloc_get_stats());
        spmm_status_t            status;

        spmmi_alloc_inject(k);
        status = fake_settle(NULL, SPMM_TUNE_USE);
        over   = spmmi_alloc_get_stats().calls - before.calls <= k;
        spmmi_alloc_inject(-1);
        assert_true(status == SPMM_OK || (!over && status == SPMM_ERR_MEMORY));
        if (status == SPMM_OK) {
            spmmi_tries_free(fake_settled.tries);
            fake_destroy(fake_settled.format);
        }
        spmmi_error_clear(&spmm_test_env.err);
        assert_int_equal(spmmi_alloc_get_stats().live, before.live);
    }
}

SPMM_TESTS(test_winner, test_median, test_lag, test_other_products, test_refusals, test_building,
           test_sweep);

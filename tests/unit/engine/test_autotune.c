/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_autotune.c
 *  The choice among engines that only move a clock: what is built and measured, what is kept, and
 *  what becomes of failures.
 */
#include "fake_engines.h"

enum { N_WARM = 2 };
static const double us = 1e-6;

/* The three best predicted within a factor, and the yardstick within a wider one. */
static void test_limits(void **state)
{
    const double four[]  = {1.0, 1.5, 1.2, 1.4, 1.9};
    const double apart[] = {1.7, 0.0, 1.0, 0.0, 1.9};
    const double alone[] = {1.7, 0.0, 1.0, 0.0, 2.1};

    fake_prepare(four);
    fakes[2].seconds = 20 * us;
    spmm_assert_ok(fake_settle(NULL, true));
    fake_check_unmeasured(1); /* the fourth */
    assert_int_equal(fakes[1].builds, 0);
    for (int k = 0; k < N_FAKES; k++) {
        if (k != 1) {
            assert_int_equal(fakes[k].builds, 1);
            assert_true(fabs(fake_candidates[k].measured_s - fakes[k].seconds) < 1e-3 * us);
        }
    }
    assert_true(fake_settled.tune_s > 0.0);
    fake_check_taken(2);

    fake_prepare(apart);
    spmm_assert_ok(fake_settle("auto", true));
    fake_check_unmeasured(0);
    assert_int_equal(fakes[0].builds, 0);
    assert_int_equal(fakes[YARDSTICK].builds, 1);
    fake_check_taken(2);

    fake_prepare(alone); /* no rival: nothing to measure */
    spmm_assert_ok(fake_settle("auto", true));
    fake_check_unmeasured(2);
    assert_int_equal(fakes[YARDSTICK].builds, 0);
    fake_check_taken(2);
}

/* Of C in 16 bits the yardstick's library rounds sums before they are whole: it is taken by name
 * alone, or where nothing else runs. */
static void test_rounding(void **state)
{
    const double predicted[] = {1.0, 0.0, 0.0, 0.0, 0.5};
    const double alone[]     = {0.0, 0.0, 0.0, 0.0, 0.5};

    for (int way = 0; way < 3; way++) {
        fake_prepare(way == 1 ? alone : predicted);
        for (int k = 0; k < N_FAKES; k++) {
            fake_candidates[k].c_type = SPMM_R_16F;
        }
        spmm_assert_ok(fake_settle(way == 2 ? "yardstick" : NULL, true));
        assert_int_equal(fakes[YARDSTICK].builds > 0, way > 0);
        assert_int_equal(strstr(fake_candidates[YARDSTICK].why, "16 bits") != NULL, way == 0);
        fake_check_taken(way == 0 ? 0 : YARDSTICK);
    }
}

/* A library is not loaded for so few products as the caller announces. */
static void test_load(void **state)
{
    const double predicted[] = {1.0, 3.0, 0.0, 0.0, 0.0};

    for (int k = 0; k < 3; k++) {
        static const int64_t executes[] = {40000, 60000, 0};

        fake_prepare(predicted);
        fake_load_s   = 0.1;
        fake_executes = executes[k];
        spmm_assert_ok(fake_settle(NULL, false));
        assert_int_equal(fakes[0].builds, k > 0);
        assert_true(fake_candidates[0].usable == (k > 0));
        assert_true(k > 0 || strstr(fake_candidates[0].why, "library") != NULL);
        fake_check_taken(k == 0);
    }
}

/* Measuring may take a share of the products to come: for few of them the prediction decides. */
static void test_budget(void **state)
{
    const double predicted[] = {1.0, 1.1, 0.0, 0.0, 1.2};
    const double slow[]      = {1e6, 1.1e6, 0.0, 0.0, 1.2e6};

    fake_prepare(predicted);
    fake_executes    = 1;
    fakes[1].seconds = 20 * us;
    spmm_assert_ok(fake_settle(NULL, true));
    for (int k = 0; k < N_FAKES; k++) {
        fake_check_unmeasured(k);
    }
    assert_int_equal(fakes[1].builds + fakes[YARDSTICK].builds, 0);
    fake_check_taken(0);

    fake_prepare(slow); /* seconds: 5 % of 1,000 of them are no more than the trials of five */
    fake_executes    = 0;
    fakes[1].seconds = 20 * us;
    spmm_assert_ok(fake_settle(NULL, true));
    fake_check_taken(1);
    fake_prepare(slow);
    fake_executes = 30;
    spmm_assert_ok(fake_settle(NULL, true));
    fake_check_unmeasured(0);
    fake_check_taken(0);
    for (int k = 0; k < 2; k++) { /* 200 products and more are worth the yardstick's trials */
        fake_prepare(slow);
        fake_executes = 199 + k;
        spmm_assert_ok(fake_settle(NULL, true));
        assert_int_equal(fakes[YARDSTICK].executes > 0, k == 1);
        fake_destroy(fake_settled.format);
    }
}

/* Of 110 products of a second 5 % are one trial of five, and five times as much those of the best
 * and of a near rival. */
static void test_near(void **state)
{
    static const double rival[] = {1.05e6, 1.15e6};

    for (int k = 0; k < 2; k++) {
        const double predicted[] = {1e6, rival[k], 0.0, 0.0, 0.0};

        fake_prepare(predicted);
        fake_executes    = 110;
        fakes[0].seconds = fakes[1].seconds = 1.0;
        spmm_assert_ok(fake_settle(NULL, true));
        assert_int_equal(fakes[1].builds, k == 0);
        fake_destroy(fake_settled.format);
    }
}

/* The best predicted proves slow: what a rival saves over its time may pay for trying it, whatever
 * was predicted.  Of 110 products of a second 5 % are one trial of five, and not the next one. */
static void test_doubt(void **state)
{
    const double slow[] = {1e6, 1.15e6, 0.0, 0.0, 1.2e6};

    for (int k = 0; k < 3; k++) {
        static const double first[] = {10.0, 1.0, 10.0};

        fake_prepare(slow);
        fake_executes    = k < 2 ? 110 : 60; /* too few to measure the first */
        fakes[0].seconds = first[k];
        spmm_assert_ok(fake_settle(NULL, true));
        assert_int_equal(fakes[0].executes > 0, k < 2);
        assert_int_equal(fakes[1].builds, k == 0);
        fake_check_taken(k == 0);
    }
}

static void test_winner(void **state)
{
    const double predicted[] = {1.0, 1.2, 1.5, 0.0, 1.9};

    for (int winner = 0; winner < N_FAKES; winner++) {
        if (winner == 3) {
            continue;
        }
        fake_prepare(predicted);
        fakes[winner].seconds = 20 * us;
        spmm_assert_ok(fake_settle(NULL, true));
        fake_check_taken(winner);
    }
}

/* Operands as execute will give them. */
static void test_operands(void **state)
{
    const double predicted[] = {1.0, 1.5, 0.0, 0.0, 1.9};

    fake_prepare(predicted);
    fake_candidates[1].layout = SPMM_LAYOUT_COL;
    spmm_assert_ok(fake_settle(NULL, true));
    for (int k = 0; k < 2; k++) {
        const bool cols = k == 1;

        assert_int_equal(fakes[k].layout, fake_candidates[k].layout);
        assert_int_equal(fakes[k].n, PLANNED);
        assert_int_equal(fakes[k].ldb, cols ? N_COLS : PLANNED);
        assert_int_equal(fakes[k].ldc, cols ? 5 : PLANNED);
        assert_true(fakes[k].beta == 1.0);
    }
    fake_destroy(fake_settled.format);
}

/* Copies count against the engine that needs them. */
static void test_copies(void **state)
{
    const double predicted[] = {1.0, 1.5, 0.0, 0.0, 1.9};

    fake_prepare(predicted);
    fakes[0].seconds            = 50 * us;
    fake_candidates[0].copies_s = 800 * us;
    spmm_assert_ok(fake_settle(NULL, true));
    assert_true(fabs(fake_candidates[0].measured_s - 850 * us) < 1e-3 * us);
    fake_check_taken(1);
}

/* What takes far longer than the best is not measured on. */
static void test_slow(void **state)
{
    const double predicted[] = {1.0, 1.5, 0.0, 0.0, 1.9};

    fake_prepare(predicted);
    fakes[1].seconds = 5e-3;
    spmm_assert_ok(fake_settle(NULL, true));
    assert_int_equal(fakes[1].executes, N_WARM);
    assert_true(fakes[0].executes > N_WARM);
    assert_true(fabs(fake_candidates[1].measured_s - 5e-3) < 1e-3 * us);
    fake_destroy(fake_settled.format);
}

/* Engines that refuse or have no room are passed over, whichever they are. */
static void test_passed_over(void **state)
{
    const double        predicted[] = {1.0, 1.2, 1.5, 4.0, 1.9};
    const spmm_status_t statuses[]  = {SPMM_ERR_MEMORY, SPMM_ERR_RANGE, SPMM_ERR_UNSUPPORTED};

    for (int s = 0; s < 3; s++) {
        fake_prepare(predicted);
        fakes[0].build_status   = statuses[s];
        fakes[1].execute_status = statuses[s];
        fakes[2].seconds        = 20 * us;
        spmm_assert_ok(fake_settle(NULL, true));
        fake_check_unmeasured(0);
        assert_true(isnan(fake_candidates[1].measured_s));
        fake_check_taken(2);

        fake_prepare(predicted); /* then the one that was not worth measuring */
        for (int k = 0; k < N_FAKES; k++) {
            fakes[k].build_status = k == 3 ? SPMM_OK : statuses[s];
        }
        spmm_assert_ok(fake_settle(NULL, true));
        fake_check_taken(3);
    }
}

/* The same where the prediction alone decides, but that equal bits must not depend on free
 * memory. */
static void test_passed_over_unmeasured(void **state)
{
    const double        predicted[] = {1.0, 1.2, 1.5, 0.0, 1.9};
    const spmm_status_t statuses[]  = {SPMM_ERR_RANGE, SPMM_ERR_UNSUPPORTED, SPMM_ERR_MEMORY};

    for (int s = 0; s < 3; s++) {
        const bool room = statuses[s] == SPMM_ERR_MEMORY;

        for (int way = 0; way < 2; way++) { /* by prediction; a block without entries */
            fake_prepare(predicted);
            fake_block.n_rows     = way == 0 ? fake_block.n_rows : 0;
            fakes[0].build_status = fakes[1].build_status = statuses[s];
            if (room) {
                assert_int_equal(fake_settle(NULL, way != 0), SPMM_ERR_MEMORY);
                assert_string_equal(spmm_test_env.err.text, "fake 0 is not built");
                assert_int_equal(fakes[1].builds, 0);
                assert_int_equal(fake_held, 0);
                assert_null(fake_settled.format);
                spmmi_error_clear(&spmm_test_env.err);
                continue;
            }
            spmm_assert_ok(fake_settle("auto", way != 0));
            fake_check_unmeasured(2);
            fake_check_taken(2);
        }
    }
    fake_prepare(predicted); /* one that was asked for is not replaced */
    fakes[0].build_status = SPMM_ERR_RANGE;
    spmm_assert_error(fake_settle("zero", false), SPMM_ERR_RANGE, NULL);
    assert_int_equal(fakes[1].builds, 0);
    fake_prepare(predicted); /* none is left */
    for (int k = 0; k < N_FAKES; k++) {
        fakes[k].build_status = SPMM_ERR_RANGE;
    }
    assert_int_equal(fake_settle(NULL, false), SPMM_ERR_RANGE);
    assert_string_equal(spmm_test_env.err.text, "fake 0 is not built");
    assert_int_equal(fake_held, 0);
}

/* Rivals that do not fit beside what is there, and room for the first one at the third try. */
static void test_crowded(void **state)
{
    const double predicted[] = {1.2, 1.0, 1.1, 0.0, 1.9};

    fake_prepare(predicted);
    for (int k = 0; k < N_FAKES; k++) {
        fakes[k].no_room = k == 1 ? 0 : 1;
    }
    spmm_assert_ok(fake_settle(NULL, true));
    for (int k = 0; k < N_FAKES; k++) {
        if (k != 1) {
            fake_check_unmeasured(k);
        }
    }
    fake_check_taken(1);

    fake_prepare(
        predicted); /* built where others are not, then not run: the next takes its place */
    fakes[1].execute_status = SPMM_ERR_MEMORY;
    fakes[2].no_room        = 1;
    spmm_assert_ok(fake_settle(NULL, true));
    fake_check_taken(0);
}

static void test_all_fail(void **state)
{
    const double predicted[] = {1.2, 1.0, 0.0, 0.0, 1.9};

    fake_prepare(predicted);
    fakes[0].build_status = fakes[YARDSTICK].build_status = SPMM_ERR_MEMORY;
    fakes[1].build_status                                 = SPMM_ERR_RANGE;
    assert_int_equal(fake_settle(NULL, true), SPMM_ERR_RANGE);
    assert_string_equal(spmm_test_env.err.text, "fake 1 is not built");
    assert_int_equal(fake_held, 0);
    assert_null(fake_settled.format);

    fake_prepare(predicted); /* a broken device is no matter of taste */
    fakes[0].execute_status = SPMM_ERR_DEVICE;
    assert_int_equal(fake_settle(NULL, true), SPMM_ERR_DEVICE);
    assert_string_equal(spmm_test_env.err.text, "fake 0 does not run");
    assert_int_equal(fake_held, 0);
    assert_null(fake_settled.format);
}

/* Nothing runs when the prediction is to decide, an engine is named, or there are no entries. */
static void test_unmeasured(void **state)
{
    const double predicted[] = {2.0, 1.0, 1.5, 0.0, 9.0};

    for (int way = 0; way < 3; way++) {
        fake_prepare(predicted);
        fakes[1].seconds = 5e-3;
        if (way == 2) {
            fake_block.n_rows = 0;
        }
        spmm_assert_ok(fake_settle(way == 1 ? "two" : NULL, way != 0));
        for (int k = 0; k < N_FAKES; k++) {
            fake_check_unmeasured(k);
        }
        assert_int_equal(fakes[0].builds + fakes[YARDSTICK].builds, 0);
        fake_check_taken(way == 1 ? 2 : 1);
    }
    fake_prepare(predicted);
    spmm_assert_error(fake_settle("three", true), SPMM_ERR_UNSUPPORTED, NULL);
    spmm_assert_error(fake_settle("four", true), SPMM_ERR_ARGUMENT, NULL);
    assert_int_equal(fake_held, 0);
}

/* Every allocation in turn fails: an engine is taken all the same while one can be built. */
static void test_no_memory(void **state)
{
    const double             predicted[] = {1.0, 1.5, 0.0, 0.0, 1.9};
    const spmm_alloc_stats_t before      = spmmi_alloc_get_stats();
    int64_t                  calls       = 1;

    for (int64_t fail = -1; fail < calls; fail++) { /* the first time none fails */
        fake_prepare(predicted);
        spmmi_alloc_inject(fail);
        spmm_assert_ok(fake_settle(NULL, true));
        spmmi_alloc_inject(-1);
        if (fail < 0) {
            calls = spmmi_alloc_get_stats().calls - before.calls;
        }
        assert_int_equal(fake_held, 1);
        assert_string_equal(spmm_test_env.err.text, "");
        fake_destroy(fake_settled.format);
        assert_int_equal(spmmi_alloc_get_stats().live, before.live);
    }
    assert_true(calls >= 5); /* events, operands and formats at least */
}

SPMM_TESTS(test_limits, test_budget, test_near, test_doubt, test_load, test_rounding, test_winner,
           test_operands, test_copies, test_slow, test_passed_over, test_crowded,
           test_passed_over_unmeasured, test_all_fail, test_unmeasured, test_no_memory);

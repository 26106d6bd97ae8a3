/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_autotune.c
 *  The choice among engines that only move a clock: what is built and measured, what is kept, and
 *  what becomes of failures.
 */
#include "fake_engines.h"

enum { N_WARM = 2 };
enum { MEMORY = SPMM_ERR_MEMORY, RANGE = SPMM_ERR_RANGE, NOT_USABLE = SPMM_ERR_UNSUPPORTED };
static const double us = 1e-6;

/** Engines are digits: 0 to 3, and 4, the baseline.  Statuses are letters, one for each engine: M
 *  no memory, G out of range, D a broken device, E each that passes an engine over in turn, R each
 *  of these but M. */
static const struct {
    const char *what;
    double      predicted[N_FAKES], took[N_FAKES]; /* microseconds; 0: not usable; as prepared */
    const char *built, *measured;                  /* these and no others; *: whichever */
    const char *how;           /* p: predicts, measures nothing; e: a block without rows */
    const char *builds, *runs; /* statuses */
    int         taken;         /* or to blame; -1: nobody is */
    int         status;
    int64_t     executes; /* 0: as prepared; -1: 0 */
    const char *name;     /* asked for */
    int         no_room[N_FAKES];
} choices[] = {
    {"three best", {1, 1.5, 1.2, 1.4, 1.9}, {0, 0, 20}, "0234", "0234", "", "", "", .taken = 2},
    {"baseline", {1.7, 0, 1, 0, 1.9}, {0}, "24", "24", "", "", "", .taken = 2, .name = "auto"},
    {"no candidate", {1.7, 0, 1, 0, 2.1}, {0}, "2", "", "", "", "", .taken = 2, .name = "auto"},
    {"first", {1, 1.2, 1.5, 0, 1.9}, {20}, "*", "*", "", "", "", .taken = 0},
    {"second", {1, 1.2, 1.5, 0, 1.9}, {0, 20}, "*", "*", "", "", "", .taken = 1},
    {"third", {1, 1.2, 1.5, 0, 1.9}, {0, 0, 20}, "*", "*", "", "", "", .taken = 2},
    {"fifth", {1, 1.2, 1.5, 0, 1.9}, {0, 0, 0, 0, 20}, "*", "*", "", "", "", .taken = 4},
    /* Measuring may take 5 % of the products to come, 1000 where nobody says, 25 % of a near
     * candidate: for few the prediction decides. */
    {"one product", {1, 1.1, 0, 0, 1.2}, {0, 20}, "0", "", "", "", "", .executes = 1},
    {"1000", {1e6, 1.1e6, 0, 0, 1.2e6}, {0, 20}, "*", "*", "", "", "", .taken = 1, .executes = -1},
    {"30", {1e6, 1.1e6, 0, 0, 1.2e6}, {0, 20}, "*", "", "", "", "", .executes = 30},
    {"199", {1e6, 1.1e6, 0, 0, 1.2e6}, {0}, "*", "01", "", "", "", .executes = 199},
    {"200", {1e6, 1.1e6, 0, 0, 1.2e6}, {0}, "*", "014", "", "", "", .executes = 200},
    {"near", {1e6, 1.05e6, 0, 0, 0}, {1e6, 1e6}, "01", "*", "", "", "", .executes = 110},
    {"not near", {1e6, 1.15e6, 0, 0, 0}, {1e6, 1e6}, "0", "*", "", "", "", .executes = 110},
    /* The best predicted proves slow: what a candidate saves over its time may pay for trying
     * it. */
    {"slow", {1e6, 1.15e6, 0, 0, 1.2e6}, {1e7}, "*", "*", "", "", "", 1, 0, 110, NULL, {0}},
    {"not slow", {1e6, 1.15e6, 0, 0, 1.2e6}, {1e6}, "0", "*", "", "", "", .executes = 110},
    {"of few", {1e6, 1.15e6, 0, 0, 1.2e6}, {1e7}, "0", "", "", "", "", .executes = 60},
    /* Nothing runs when the prediction decides, an engine is named, or there are no entries. */
    {"predicted", {2, 1, 1.5, 0, 9}, {0, 5000}, "1", "", "p", "", "", .taken = 1},
    {"named", {2, 1, 1.5, 0, 9}, {0, 5000}, "2", "", "", "", "", .taken = 2, .name = "two"},
    {"no entries", {2, 1, 1.5, 0, 9}, {0, 5000}, "1", "", "e", "", "", .taken = 1},
    {"not usable", {2, 1, 1.5, 0, 9}, {0}, "", "", "", "", "", -1, NOT_USABLE, 0, "three", {0}},
    {"unknown", {2, 1, 1.5, 0, 9}, {0}, "", "", "", "", "", -1, SPMM_ERR_ARGUMENT, 0, "four", {0}},
    /* Engines that refuse or have no room are passed over, whichever they are. */
    {"two fail", {1, 1.2, 1.5, 4, 1.9}, {0, 0, 20}, "*", "24", "", "E", ".E", .taken = 2},
    {"all but the worst", {1, 1.2, 1.5, 4, 1.9}, {0}, "*", "*", "", "EEE.E", "", .taken = 3},
    {"predicted", {1, 1.2, 1.5, 0, 1.9}, {0}, "*", "", "p", "RR", "", .taken = 2, .name = "auto"},
    {"no entries", {1, 1.2, 1.5, 0, 1.9}, {0}, "*", "", "e", "RR", "", .taken = 2, .name = "auto"},
    /* Equal bits must not depend on free memory, and one that was asked for is not replaced. */
    {"no room, predicted", {1, 1.2, 1.5, 0, 1.9}, {0}, "0", "", "p", "MM", "", .status = MEMORY},
    {"no room, no entries", {1, 1.2, 1.5, 0, 1.9}, {0}, "0", "", "e", "MM", "", .status = MEMORY},
    {"asked for", {1, 1.2, 1.5, 0, 1.9}, {0}, "0", "", "p", "G", "", -1, RANGE, 0, "zero", {0}},
    {"none is left", {1, 1.2, 1.5, 0, 1.9}, {0}, "*", "", "p", "GGGGG", "", .status = RANGE},
    {"third try", {1.2, 1, 1.1, 0, 1.9}, {0}, "*", "1", "", "", "", 1, 0, 0, NULL, {1, 0, 1, 1, 1}},
    {"not run", {1.2, 1, 1.1, 0, 1.9}, {0}, "*", "*", "", "", ".M", .no_room = {0, 0, 1}},
    {"all fail", {1.2, 1, 0, 0, 1.9}, {0}, "*", "*", "", "MG..M", "", .taken = 1, .status = RANGE},
    {"no matter of taste",
     {1.2, 1, 0, 0, 1.9},
     {0},
     "*",
     "*",
     "",
     "",
     "D",
     .status = SPMM_ERR_DEVICE},
};

static bool is_among(const char *engines, int k)
{
    return strchr(engines, '0' + k) != NULL;
}

/* @p passing stands for E and R. */
static spmm_status_t status_of(const char *letters, int k, spmm_status_t passing)
{
    const char letter = k < (int)strlen(letters) ? letters[k] : '.';

    return letter == 'M'                    ? SPMM_ERR_MEMORY
           : letter == 'G'                  ? SPMM_ERR_RANGE
           : letter == 'D'                  ? SPMM_ERR_DEVICE
           : letter == 'E' || letter == 'R' ? passing
                                            : SPMM_OK;
}

static void prepare(size_t c, spmm_status_t passing)
{
    fake_prepare(choices[c].predicted);
    for (int k = 0; k < N_FAKES; k++) {
        fakes[k].seconds = choices[c].took[k] > 0.0 ? choices[c].took[k] * us : fakes[k].seconds;
        fakes[k].no_room = choices[c].no_room[k];
        fakes[k].build_status   = status_of(choices[c].builds, k, passing);
        fakes[k].execute_status = status_of(choices[c].runs, k, passing);
    }
    fake_block.n_rows = choices[c].how[0] == 'e' ? 0 : fake_block.n_rows;
    if (choices[c].executes != 0) {
        fake_executes = choices[c].executes > 0 ? choices[c].executes : 0;
    }
}

static void check_choice(size_t c, spmm_status_t passing)
{
    const char *built = choices[c].built, *measured = choices[c].measured;
    char        says[16];

    prepare(c, passing);
    assert_int_equal(fake_settle(choices[c].name, choices[c].how[0] != 'p'), choices[c].status);
    for (int k = 0; k < N_FAKES; k++) {
        const double seconds = fake_candidates[k].measured_s;

        if (built[0] != '*' && is_among(built, k) != (fakes[k].builds > 0)) {
            fail_msg("%s: engine %d is built %d times", choices[c].what, k, fakes[k].builds);
        }
        if (measured[0] != '*' && is_among(measured, k)) {
            assert_int_equal(fakes[k].builds, 1);
            assert_true(fabs(seconds - fakes[k].seconds) < 1e-3 * us);
            assert_true(fake_settled.tune_s > 0.0);
        } else if (measured[0] != '*') {
            if (!isnan(seconds)) {
                fail_msg("%s: engine %d is measured", choices[c].what, k);
            }
            assert_true(fakes[k].executes == 0 || fakes[k].execute_status != SPMM_OK);
        }
    }
    if (choices[c].status == 0) {
        fake_check_taken(choices[c].taken);
        return;
    }
    (void)snprintf(says, sizeof says, "fake %d ", choices[c].taken);
    assert_int_equal(strncmp(spmm_test_env.err.text, says, strlen(says)) == 0,
                     choices[c].taken >= 0);
    assert_int_equal(fake_held, 0);
    assert_null(fake_settled.format);
}

static void test_choices(void **state)
{
    static const spmm_status_t passing[] = {SPMM_ERR_RANGE, SPMM_ERR_UNSUPPORTED, SPMM_ERR_MEMORY};

    for (size_t c = 0; c < sizeof choices / sizeof choices[0]; c++) {
        const char first = choices[c].builds[0];

        for (int s = 0; s < (first == 'E' ? 3 : first == 'R' ? 2 : 1); s++) {
            check_choice(c, passing[s]);
        }
    }
}

/* Of C in 16 bits the baseline's library rounds sums before they are whole: it is taken by name
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
        spmm_assert_ok(fake_settle(way == 2 ? "baseline" : NULL, true));
        assert_int_equal(fakes[BASELINE].builds > 0, way > 0);
        assert_int_equal(strstr(fake_candidates[BASELINE].why, "16 bits") != NULL, way == 0);
        fake_check_taken(way == 0 ? 0 : BASELINE);
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

SPMM_TESTS(test_choices, test_load, test_rounding, test_operands, test_copies, test_slow,
           test_no_memory);

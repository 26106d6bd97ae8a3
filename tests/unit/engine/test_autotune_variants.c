/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_autotune_variants.c
 *  The choice among the variants of two engines that only move a clock.
 */
#include "fake_engines.h"

static const double  us   = 1e-6;
static const int64_t many = (int64_t)1 << 40; /* whatever the host's clock says, measuring pays */

/** Engine 0 has three variants of 50 us, engine 1 one of 100 or three.  Times are microseconds, by
 *  variant; 0: as said, -1: there is no room for it. */
static const struct {
    const char *what;
    double      other; /* predicted of engine 1, where engine 0 is 1; 0: it is not usable */
    double      took[2][FAKE_VARIANTS];
    bool        three;    /* variants of engine 1 */
    int64_t     executes; /* 0: many */
    const char *name;
    int         engine, variant; /* taken */
    int         builds[2];       /* formats that were built; 0: whatever */
    double      measured[2];     /* 0: whatever */
} cases[] = {
    {"the first is the fastest", 0, {{40}}, .builds = {3}, .measured = {40}},
    {"the second is", 0, {{0, 40}}, .variant = 1, .builds = {3}, .measured = {40}},
    {"the third is", 0, {{0, 0, 40}}, .variant = 2, .builds = {3}, .measured = {40}},
    {"the first beside a candidate", 1.5, {{40}}, .builds = {3}, .measured = {40}},
    {"the second beside one", 1.5, {{0, 40}}, .variant = 1, .builds = {3}, .measured = {40}},
    {"the third beside one", 1.5, {{0, 0, 40}}, .variant = 2, .builds = {3}, .measured = {40}},
    {"variants of an engine that is far behind are not tried",
     1.5,
     {{131, 1}},
     .engine = 1,
     .builds = {1}},
    /* An engine behind by no more than variants bring may win with another of them, whichever was
     * predicted ahead; else the engine that was ahead stays, in its fastest variant. */
    {"ahead stays",
     1.5,
     {{100, 100, 95}, {120, 110, 115}},
     true,
     .engine   = 0,
     .variant  = 2,
     .builds   = {3, 3},
     .measured = {95, 110}},
    {"behind wins",
     1.5,
     {{100, 100, 95}, {120, 110, 90}},
     true,
     .engine   = 1,
     .variant  = 2,
     .builds   = {3, 3},
     .measured = {95, 90}},
    {"the other ahead stays",
     0.7,
     {{120, 110, 115}, {100, 100, 95}},
     true,
     .engine   = 1,
     .variant  = 2,
     .builds   = {3, 3},
     .measured = {110, 95}},
    {"the other behind wins",
     0.7,
     {{120, 110, 90}, {100, 100, 95}},
     true,
     .engine   = 0,
     .variant  = 2,
     .builds   = {3, 3},
     .measured = {90, 95}},
    /* 60 is 1.2 times 50 and 1.5 times 40. */
    {"the best of the fastest engine decides who is near it",
     1.5,
     {{0, 40}, {60, 1}},
     true,
     .engine  = 0,
     .variant = 1,
     .builds  = {0, 1}},
    {"one without room is passed over", 0, {{0, -1, 40}}, .variant = 2},
    {"whosever it is", 1.5, {{0}, {60, -1, 40}}, true, .engine = 1, .variant = 2, .builds = {0, 3}},
    {"few products", 0, {{0, 1}}, .executes = 1},
    {"an engine by name", 0, {{0, 1}}, .name = "zero", .builds = {1}},
    /* Products of a second, so that what the host's clock says does not count.  A trial takes five:
     * 5 % of 1000 are enough for all variants, and three times 5 % of 40 for no near candidate. */
    {"all variants",
     1.01e6,
     {{1e6, 1e6, 1e6}, {1.01e6, 1.01e6, 0.5e6}},
     true,
     .executes = 1000,
     .engine   = 1,
     .variant  = 2,
     .builds   = {0, 3}},
    {"no near candidate",
     1.01e6,
     {{1e6, 1e6, 1e6}, {1.01e6, 1.01e6, 0.5e6}},
     true,
     .executes = 40,
     .engine   = 0,
     .builds   = {1}},
};

static void prepare(size_t c)
{
    const double predicted[N_FAKES] = {cases[c].other > 1e3 ? 1e6 : 1.0, cases[c].other};

    fake_prepare(predicted);
    fake_executes = cases[c].executes == 0 ? many : cases[c].executes;
    for (int k = 0; k < 2; k++) {
        fakes[k].more_variants = k == 0 || cases[c].three ? FAKE_VARIANTS - 1 : 0;
        for (int v = 0; v < FAKE_VARIANTS; v++) {
            const double took = cases[c].took[k][v];

            fakes[k].variant_s[v] = took < 0.0 ? 0.0 : (took > 0.0 ? took : k == 0 ? 50 : 100) * us;
        }
        fakes[k].seconds = fakes[k].variant_s[0];
    }
}

static void test_variants(void **state)
{
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        prepare(c);
        spmm_assert_ok(fake_settle(cases[c].name, true));
        fake_check_variant(cases[c].engine, cases[c].variant);
        for (int k = 0; k < 2; k++) {
            assert_true(cases[c].builds[k] == 0 || cases[c].builds[k] == fakes[k].builds);
            assert_true(cases[c].measured[k] == 0.0 || fabs(fake_candidates[k].measured_s -
                                                            cases[c].measured[k] * us) < 1e-3 * us);
        }
    }
}

SPMM_TESTS(test_variants);

/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_bittcf_cost.c
 *  The model of BitTCF on a GPU that need not be there: what its terms count, for windows of equal
 *  length.
 */
#include "test_main.h"

#include "engine/engine.h"
#include "engine/tune/roofline.h"
#include "engine/windows/bittcf.h"

enum {
    SM       = 100,
    BLOCKS   = 4,          /* of a window */
    LENGTH   = 8 * BLOCKS, /* its columns */
    RESIDENT = 32 * SM,    /* warps, slices of 32 columns in TF32 */
    WIDE     = 5 * 4 * SM  /* the same, slices of 128 columns */
};

/* Windows of eight rows, none of which share columns with the next. */
static spmm_pattern_t pattern_of(int32_t windows)
{
    spmm_pattern_t p = {.n_rows = 8 * windows, .n_cols = LENGTH, .c_rows = 8 * windows};

    p.nnz       = (int64_t)windows * LENGTH;
    p.max_row   = LENGTH;
    p.used_cols = LENGTH;
    p.near_cols = LENGTH;
    for (int height = 0; height < SPMM_TC_HEIGHTS; height++) {
        p.tc.pairs[height] = p.nnz;
    }
    p.tc.lengths[0].longest    = LENGTH;
    p.tc.lengths[0].windows[5] = windows; /* of 32 to 63 columns */
    p.tc.lengths[0].pairs[5]   = p.nnz;
    return p;
}

static spmm_device_t device_of(void)
{
    return (spmm_device_t){.kind = SPMM_DEVICE_CUDA, .n_sm = SM, .mem_bw = 4.8e12};
}

static spmm_problem_t problem_of(int64_t n)
{
    return (spmm_problem_t){.ab_type = SPMM_R_32F,
                            .c_type  = SPMM_R_32F,
                            .compute = SPMM_COMPUTE_32F_FAST_TF32,
                            .layout  = SPMM_LAYOUT_ROW,
                            .n       = n};
}

/* Microseconds that the term of that name counts. */
static double count_of(int32_t windows, int64_t n, const char *name)
{
    const spmm_device_t  device  = device_of();
    const spmm_pattern_t pattern = pattern_of(windows);
    const spmm_problem_t problem = problem_of(n);
    spmm_cost_term_t     terms[SPMM_COST_TERMS];
    const int            count = spmmi_bittcf_terms(&pattern, &problem, &device, terms);

    for (int k = 0; k < count; k++) {
        assert_true(terms[k].constant > 0.0);
        if (strcmp(terms[k].name, name) == 0) {
            return 1e6 * terms[k].seconds;
        }
    }
    fail_msg("no term %s", name);
    return 0.0;
}

static void check(double is, double expected)
{
    if (!(fabs(is - expected) <= 1e-9 * expected)) {
        fail_msg("%.9g instead of %.9g", is, expected);
    }
}

/* One round while all warps are resident, two up to twice as many, then as many as it takes. */
static void test_rounds(void **state)
{
    check(count_of(RESIDENT / 2, 32, "items"), 1.0);
    check(count_of(RESIDENT, 32, "items"), 1.0);
    check(count_of(RESIDENT + SM, 32, "items"), 2.0);
    check(count_of(2 * RESIDENT, 32, "items"), 2.0);
    check(count_of(5 * RESIDENT / 2, 32, "items"), 2.5);
    check(count_of(5 * RESIDENT / 2, 64, "items"), 5.0 * 32.0 / 28.0 / 2.0);
}

/* The blocks of a warp in all of its rounds: half a block more for each window, on average, of
 * which the last round counts the longest alone; wider slices take longer for each. */
static void test_chain(void **state)
{
    const double mean = BLOCKS + 0.5;

    check(count_of(RESIDENT, 32, "chain"), BLOCKS);
    check(count_of(RESIDENT + SM, 32, "chain"), BLOCKS + mean);
    check(count_of(5 * RESIDENT / 2, 32, "chain"), BLOCKS + 1.5 * mean);
    check(count_of(WIDE, 128, "chain"), 1.6 * BLOCKS);
    check(count_of(3 * WIDE, 128, "chain"), 1.6 * (BLOCKS + 2.0 * mean));
}

/* Rows of B that do not begin at multiples of 16 bytes come element by element, in slices of 32
 * columns whatever the width. */
static void test_narrow(void **state)
{
    check(count_of(RESIDENT, 31, "narrow"), count_of(RESIDENT, 31, "gather"));
    check(count_of(RESIDENT, 34, "narrow"), count_of(RESIDENT, 34, "gather"));
    assert_true(count_of(RESIDENT, 32, "narrow") == 0.0);
    assert_true(count_of(RESIDENT, 36, "narrow") == 0.0);
    check(count_of(WIDE, 127, "chain"), BLOCKS + 1.5 * (BLOCKS + 0.5));
}

/* What fits constants to the terms fits them to the cost. */
static void test_sum(void **state)
{
    const spmm_engine_ops_t *engine  = spmmi_engine_find("bittcf");
    const spmm_device_t      device  = device_of();
    const spmm_pattern_t     pattern = pattern_of(RESIDENT);

    for (int64_t n = 1; n <= 128; n *= 2) {
        const spmm_problem_t problem = problem_of(n);
        spmm_cost_term_t     terms[SPMM_COST_TERMS];
        const int            count = engine->cost(&pattern, &problem, &device, terms);

        check(spmmi_cost_sum(terms, count), spmmi_engine_cost(engine, &pattern, &problem, &device));
    }
}

SPMM_TESTS(test_rounds, test_chain, test_narrow, test_sum);

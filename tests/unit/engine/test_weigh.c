/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_weigh.c  What rows cost by a model: as rows, their entries and shared columns say. */
#include "test_main.h"

#include "base/alloc.h"
#include "engine/choose/weigh.h"

enum { ROWS = 32768, EACH = 16 };

static const spmm_device_t gpu = {
    .kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .threads = 1, .mem_bw = 4.8e12};

/* Rows of the first half, eight after eight, use the same columns; those of the second half, drawn
 * at random, hardly any other row does. */
static void make_block(spmm_csr_t *block)
{
    spmm_assert_ok(
        spmmi_csr_alloc(&spmm_test_env, ROWS, ROWS, (int64_t)ROWS * EACH, SPMM_R_32F, block));
    for (int32_t i = 0; i <= ROWS; i++) {
        block->row_ptr[i] = (int64_t)i * EACH;
    }
    for (int32_t i = 0; i < ROWS; i++) {
        const int32_t key = i < ROWS / 2 ? i / 8 : i;

        for (int32_t k = 0; k < EACH; k++) { /* ascending */
            block->col_idx[(int64_t)i * EACH + k] =
                k * (ROWS / EACH) + (int32_t)(spmmi_hash2(3, key, k) % (ROWS / EACH));
        }
    }
}

static spmm_problem_t problem_of(int64_t n)
{
    return (spmm_problem_t){.ab_type = SPMM_R_32F,
                            .c_type  = SPMM_R_32F,
                            .compute = SPMM_COMPUTE_32F,
                            .layout  = SPMM_LAYOUT_ROW,
                            .n       = n};
}

/* Of rows [from, to). */
static double sum(const int64_t *weight, int32_t from, int32_t to)
{
    double all = 0.0;

    for (int32_t i = from; i < to; i++) {
        all += (double)weight[i];
    }
    return all;
}

static void check_rows(const spmm_csr_t *block, const spmm_pattern_t *pattern, const char *engine)
{
    const spmm_problem_t  problem = problem_of(64);
    const spmm_row_cost_t cost    = spmmi_row_cost(engine, pattern, &problem, &gpu);
    const double          unit    = cost.all / (32.0 * ROWS * EACH);
    const double          shared  = cost.entry * EACH + cost.pair * EACH / 8.0 + cost.row;
    const double          lonely  = cost.entry * EACH + cost.pair * EACH + cost.row;
    int64_t              *weight  = spmmi_alloc(ROWS, sizeof *weight);
    double                all;

    assert_non_null(cost.engine);
    assert_non_null(weight);
    spmmi_weigh_rows(&cost, block, pattern, unit, 1, weight);
    all = unit * sum(weight, 0, ROWS);
    assert_true(fabs(all - cost.all) < 0.02 * cost.all);
    for (int32_t i = 0; i < ROWS / 2; i++) { /* columns of the eight differ, whichever they are */
        assert_true(fabs(unit * (double)weight[i] - shared) <= unit);
    }
    for (int32_t i = ROWS / 2; i < ROWS; i++) {
        assert_true(unit * (double)weight[i] <= lonely + unit);
        assert_true(unit * (double)weight[i] >= shared);
    }
    if (cost.pair > 0.0) {
        assert_true(sum(weight, ROWS / 2, ROWS) >
                    (0.5 + 0.5 * lonely / shared) * sum(weight, 0, ROWS / 2));
    }
    spmmi_free(weight);
}

static void test_rows(void **state)
{
    spmm_csr_t     block   = {0};
    spmm_pattern_t pattern = {0};

    make_block(&block);
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    check_rows(&block, &pattern, NULL);
    check_rows(&block, &pattern, "bittcf");
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
}

/* Times that were measured on a device change no weight, and no engine has no weights. */
static void test_same_everywhere(void **state)
{
    spmm_csr_t           block   = {0};
    spmm_pattern_t       pattern = {0};
    spmm_device_t        other   = gpu;
    const spmm_problem_t problem = problem_of(128);
    spmm_row_cost_t      a, b;

    make_block(&block);
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    other.copy_bw = 2e12;
    for (int k = 0; k < SPMM_GATHER_SETS; k++) {
        other.gather_bw[k] = (7.0 - k) * 1e12;
    }
    a = spmmi_row_cost(NULL, &pattern, &problem, &gpu);
    b = spmmi_row_cost(NULL, &pattern, &problem, &other);
    assert_true(a.entry == b.entry && a.pair == b.pair && a.row == b.row && a.all > 0.0);
    assert_null(spmmi_row_cost("no such engine", &pattern, &problem, &gpu).engine);
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_rows, test_same_everywhere);

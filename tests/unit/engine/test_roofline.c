/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_roofline.c  Facts and rates that the cost models of GPU engines share. */
#include "test_main.h"

#include "engine/tune/roofline.h"

static spmm_device_t gpu(void)
{
    return (spmm_device_t){.kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .mem_bw = 4e12};
}

static void check_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-9 * fabs(wanted))) {
        fail_msg("%g instead of %g", found, wanted);
    }
}

/* Seconds to gather one byte when rows of one FP32 column are taken out of @p bytes. */
static double gather_one(const spmm_device_t *device, double bytes)
{
    const spmm_pattern_t pattern = {.near_cols = bytes / 4.0};
    const spmm_problem_t problem = {.ab_type = SPMM_R_32F, .c_type = SPMM_R_32F, .n = 1};

    return spmmi_gpu_gather_s(&pattern, &problem, device, 0.25);
}

/* Linear between the working sets, constant outside; what was measured stands for what was not. */
static void test_rates(void **state)
{
    spmm_device_t device = gpu();

    check_near(spmmi_gpu_copy_s(&device, 3.6e12), 1.0);
    check_near(gather_one(&device, 1.0), 1.0 / (3.6e12 * 2.05));
    check_near(gather_one(&device, 1e12), 1.0 / (3.6e12 * 1.12));
    device.copy_bw = 2e12;
    check_near(spmmi_gpu_copy_s(&device, 2e12), 1.0);
    check_near(gather_one(&device, 1.0), 1.0 / (2e12 * 2.05));
    for (int k = 0; k < SPMM_GATHER_SETS; k++) {
        device.gather_bw[k] = (10.0 - k) * 1e12;
    }
    for (int k = 0; k < SPMM_GATHER_SETS; k++) {
        check_near(gather_one(&device, spmmi_gather_sets[k]), 1e-12 / (10.0 - k));
        if (k > 0) {
            const double middle = 0.5 * (spmmi_gather_sets[k] + spmmi_gather_sets[k - 1]);

            check_near(gather_one(&device, middle), 1e-12 / (10.5 - k));
        }
    }
    check_near(gather_one(&device, 0.0), 1e-12 / 10.0);
    check_near(gather_one(&device, 1e15), 1e-12 / 6.0);
}

/* A block of @p per_row entries in each row, the columns of row i from i * @p step on. */
static void band(int32_t n_rows, int32_t n_cols, int32_t per_row, double step, spmm_csr_t *block)
{
    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, n_rows, n_cols, (int64_t)n_rows * per_row,
                                   SPMM_R_32F, block));
    block->row_ptr[0] = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        for (int32_t k = 0; k < per_row; k++) {
            block->col_idx[(int64_t)i * per_row + k] = (int32_t)(i * step) + k;
        }
        block->row_ptr[i + 1] = (int64_t)(i + 1) * per_row;
    }
}

static void check_near_cols(int32_t n_rows, int32_t n_cols, int32_t per_row, double step,
                            double wanted)
{
    spmm_pattern_t pattern;
    spmm_csr_t     block;

    band(n_rows, n_cols, per_row, step, &block);
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    check_near(pattern.near_cols, wanted);
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
}

/* Columns of a group of rows, not of all. */
static void test_near_columns(void **state)
{
    enum { GROUP = SPMM_NEAR_ROWS };

    check_near_cols(0, 5, 0, 0.0, 0.0);
    check_near_cols(7, 5, 0, 0.0, 0.0);
    check_near_cols(1, 70, 65, 0.0, 65.0);
    check_near_cols(100, 103, 4, 1.0, 103.0);
    check_near_cols(GROUP, GROUP + 3, 4, 1.0, GROUP + 3);
    check_near_cols(GROUP + 1, GROUP + 4, 4, 1.0, GROUP + 3);
    check_near_cols(10 * GROUP, 10 * GROUP + 1, 2, 1.0, GROUP + 1);
    check_near_cols(10 * GROUP, 9, 5, 0.0, 5.0);
}

/* Engines never predict less than what moves once takes, nor less for more columns where rows of B
 * begin at multiples of 16 bytes: others take longer than the next such width.  The kernels of bcsr
 * by rows, for 16 columns, take a tenth less than those by lists with 8. */
static void test_models(void **state)
{
    const spmm_device_t device  = gpu();
    int                 refused = 0;
    spmm_pattern_t      pattern;
    spmm_csr_t          block;

    band(5000, 5003, 4, 1.0, &block);
    block.type = SPMM_R_16F; /* for facts that engines of 16 bits alone go by */
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    for (int e = 0; e < spmmi_n_engines; e++) {
        double before = 0.0;

        for (int64_t n = 1; n <= 4096; n *= 2) {
            const spmm_problem_t problem = {.ab_type = SPMM_R_16F,
                                            .c_type  = SPMM_R_16F,
                                            .compute = SPMM_COMPUTE_32F,
                                            .layout  = SPMM_LAYOUT_ROW,
                                            .n       = n};
            const double seconds = spmmi_engine_cost(spmmi_engines[e], &pattern, &problem, &device);
            const bool   by_rows = n == 16 && strncmp(spmmi_engines[e]->facts.name, "bcsr", 4) == 0;

            if (n >= 8 && seconds < (by_rows ? 0.85 : 1.0) * before) {
                fail_msg("%s: %g s with %lld columns, %g s with half", spmmi_engines[e]->facts.name,
                         seconds, (long long)n, before);
            }
            assert_true(seconds >= 0.5 * spmmi_gpu_once_s(&pattern, &problem, &device, 0.0));
            before = n < 8 ? before : seconds;
        }
        assert_true(before < 1e-2 || isinf(before));
        refused += isinf(before);
    }
    assert_int_equal(refused, 2); /* dense: of a block so empty; strips: of 16 bits */
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
}

/* Of blocks without rows or entries, which a rank alone has for what others own, a model says a
 * number, too. */
static void test_empty(void **state)
{
    const spmm_device_t device = gpu();

    for (int32_t rows = 0; rows <= 40; rows += 20) {
        spmm_csr_t     block;
        spmm_pattern_t pattern;

        spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, rows, rows, 0, SPMM_R_16F, &block));
        spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
        for (int e = 0; e < spmmi_n_engines; e++) {
            const spmm_problem_t problem = {.ab_type = SPMM_R_16F,
                                            .c_type  = SPMM_R_16F,
                                            .compute = SPMM_COMPUTE_32F,
                                            .layout  = SPMM_LAYOUT_ROW,
                                            .n       = 128,
                                            .pattern = &pattern};
            const double seconds = spmmi_engine_cost(spmmi_engines[e], &pattern, &problem, &device);

            if (!(seconds >= 0.0 && seconds < 1e-3)) {
                fail_msg("%s of %d rows without entries: %g s", spmmi_engines[e]->facts.name,
                         (int)rows, seconds);
            }
        }
        spmmi_pattern_free(&pattern);
        spmmi_csr_free(&block);
    }
}

/* Rows of nine runs of three columns, as stencil27 has them. */
static void runs_of_three(int32_t n_rows, spmm_csr_t *block)
{
    enum { RUNS = 9, APART = 1000 };

    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, n_rows, n_rows + RUNS * APART,
                                   (int64_t)n_rows * RUNS * 3, SPMM_R_32F, block));
    for (int32_t i = 0; i <= n_rows; i++) {
        block->row_ptr[i] = (int64_t)i * RUNS * 3;
    }
    for (int64_t e = 0; e < (int64_t)n_rows * RUNS * 3; e++) {
        const int32_t in_row = (int32_t)(e % (RUNS * 3));

        block->col_idx[e] = (int32_t)(e / (RUNS * 3)) + in_row / 3 * APART + in_row % 3;
    }
}

static double seconds_of(const char *name, const spmm_pattern_t *pattern, spmm_compute_t compute)
{
    const spmm_device_t  device  = gpu();
    const spmm_problem_t problem = {.ab_type = SPMM_R_32F,
                                    .c_type  = SPMM_R_32F,
                                    .compute = compute,
                                    .layout  = SPMM_LAYOUT_ROW,
                                    .n       = 128};

    for (int e = 0; e < spmmi_n_engines; e++) {
        if (strcmp(spmmi_engines[e]->facts.name, name) == 0) {
            return spmmi_engine_cost(spmmi_engines[e], pattern, &problem, &device);
        }
    }
    fail_msg("no engine %s", name);
    return 0.0;
}

/* At N = 128 hrpb takes 1.39 times as long as bittcf on stencil27 in FP32 and 1.27 times on a
 * matrix much like it in TF32 (H200): what accuracy costs each decides between the two, and
 * predictions have to decide alike. */
static void test_accuracy(void **state)
{
    spmm_pattern_t pattern;
    spmm_csr_t     block;

    runs_of_three(500000, &block);
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    for (spmm_compute_t c = SPMM_COMPUTE_32F; c <= SPMM_COMPUTE_32F_FAST_TF32; c++) {
        const double margin = c == SPMM_COMPUTE_32F ? 1.1 : 1.0; /* TF32: the right one, just */

        assert_true(seconds_of("hrpb", &pattern, c) > margin * seconds_of("bittcf", &pattern, c));
    }
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_rates, test_near_columns, test_empty, test_models, test_accuracy);

/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_engine_csr_gpu.c
 *  Engine csr-gpu on a GPU against FP64 sums over the stored entries.  With SPMM_TEST_SMALL in the
 *  environment only small cases, for compute-sanitizer.
 */
#include "gpu_case.h"
#include "gpu_test.h"
#include "tc_case.h"

extern const spmm_engine_ops_t spmm_engine_csr_gpu;

static spmm_device_t device;

static const spmm_compute_t computes[] = {SPMM_COMPUTE_32F, SPMM_COMPUTE_32F_FAST_TF32,
                                          SPMM_COMPUTE_64F};
enum { N_COMPUTES = sizeof computes / sizeof computes[0] };

static tc_case_t case_of(int c)
{
    return (tc_case_t){.engine  = &spmm_engine_csr_gpu,
                       .device  = &device,
                       .compute = computes[c],
                       .small   = getenv("SPMM_TEST_SMALL") != NULL};
}

static void each(void (*check)(const tc_case_t *t))
{
    for (int c = 0; c < N_COMPUTES; c++) {
        const tc_case_t t = case_of(c);

        check(&t);
    }
}

static void test_open(void **state)
{
    (void)state;
    gpu_test_open(&device);
    each(tc_case_supports);
}

static void test_shapes(void **state)
{
    (void)state;
    each(tc_case_shapes);
}

/* 16-bit A and B, C of their type and of FP32. */
static void test_half(void **state)
{
    static const spmm_type_t types[][2] = {{SPMM_R_16F, SPMM_R_16F},
                                           {SPMM_R_16F, SPMM_R_32F},
                                           {SPMM_R_16BF, SPMM_R_16BF},
                                           {SPMM_R_16BF, SPMM_R_32F}};
    static const int64_t     widths[]   = {1, 7, 8, 32, 33, 64, 128, 264, 512};
    const int                n_widths   = getenv("SPMM_TEST_SMALL") != NULL ? 5 : 9;

    (void)state;
    for (int k = 0; k < 4 * 2 * n_widths; k++) {
        const spmm_type_t *type = types[k % 4];
        spmm_csr_t         block;

        make_block(k % 8 < 4 ? 203 : 45, k % 8 < 4 ? 150 : 5000, k % 8 < 4 ? MIXED : DENSE_ROWS,
                   type[0], k % 3 == 0, &block);
        check_engine_block(&spmm_engine_csr_gpu, &device, &block, type[1], SPMM_LAYOUT_ROW,
                           widths[k / 8], k % 2 != 0);
        spmm_csr_free(&block);
    }
}

static void test_accuracy(void **state)
{
    (void)state;
    each(tc_case_positive);
    each(tc_case_magnitudes);
}

static void test_special_values(void **state)
{
    (void)state;
    each(tc_case_huge);
    each(tc_case_not_finite);
}

static void test_same_bits(void **state)
{
    (void)state;
    each(tc_case_same_bits);
}

static void test_life(void **state)
{
    (void)state;
    each(tc_case_life);
}

/* The first execute after build() must not wait either. */
static void test_asynchronous(void **state)
{
    (void)state;
    for (int c = 0; c < N_COMPUTES; c++) {
        const tc_case_t      t       = case_of(c);
        const spmm_problem_t problem = tc_case_problem(&t, 32);

        /* compute-sanitizer may let launches wait. */
        for (int k = 0; k < 4 && !t.small; k++) {
            check_asynchronous(t.engine, &device, &problem, k % 2 != 0, k / 2 != 0);
        }
    }
}

static void test_far(void **state)
{
    (void)state;
    for (int c = 0; c < N_COMPUTES; c++) {
        const tc_case_t      t       = case_of(c);
        const spmm_problem_t problem = tc_case_problem(&t, 33);

        if (!t.small) {
            check_far(t.engine, &device, &problem);
        }
    }
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_open),      cmocka_unit_test(test_asynchronous),
    cmocka_unit_test(test_shapes),    cmocka_unit_test(test_half),
    cmocka_unit_test(test_accuracy),  cmocka_unit_test(test_special_values),
    cmocka_unit_test(test_same_bits), cmocka_unit_test(test_life),
    cmocka_unit_test(test_far),       {0},
};

/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_engine_tc.c
 *  Engines bittcf, hrpb and dmma on a GPU against FP64 sums over the stored entries.  With
 *  SPMM_TEST_SMALL in the environment only small cases, for compute-sanitizer.
 */
#include "gpu_case.h"
#include "gpu_test.h"
#include "tc_case.h"

static spmm_device_t device;

static const struct {
    const char    *name;
    spmm_compute_t compute;
} engines[] = {{"bittcf", SPMM_COMPUTE_32F},
               {"bittcf", SPMM_COMPUTE_32F_FAST_TF32},
               {"hrpb", SPMM_COMPUTE_32F},
               {"hrpb", SPMM_COMPUTE_32F_FAST_TF32},
               {"dmma", SPMM_COMPUTE_64F}};
enum { N_ENGINES = sizeof engines / sizeof engines[0] };

static tc_case_t case_of(int e)
{
    const tc_case_t t = {.engine  = spmm_engine_find(engines[e].name),
                         .device  = &device,
                         .compute = engines[e].compute,
                         .small   = getenv("SPMM_TEST_SMALL") != NULL};

    assert_non_null(t.engine);
    return t;
}

static void each(void (*check)(const tc_case_t *t))
{
    for (int e = 0; e < N_ENGINES; e++) {
        const tc_case_t t = case_of(e);

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
    for (int e = 0; e < N_ENGINES; e++) {
        const tc_case_t      t       = case_of(e);
        const spmm_problem_t problem = tc_case_problem(&t, 32);

        /* compute-sanitizer may let launches wait. */
        for (int c = 0; c < 4 && !t.small; c++) {
            check_asynchronous(t.engine, &device, &problem, c % 2 != 0, c / 2 != 0);
        }
    }
}

static void test_far(void **state)
{
    (void)state;
    for (int e = 0; e < N_ENGINES; e++) {
        const tc_case_t      t       = case_of(e);
        const spmm_problem_t problem = tc_case_problem(&t, 33);

        if (!t.small) {
            check_far(t.engine, &device, &problem);
        }
    }
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_open),
    cmocka_unit_test(test_asynchronous),
    cmocka_unit_test(test_shapes),
    cmocka_unit_test(test_accuracy),
    cmocka_unit_test(test_special_values),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_life),
    cmocka_unit_test(test_far),
    {0},
};

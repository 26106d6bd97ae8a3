/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 LINK OpenMP::OpenMP_C */
/** @file test_engine_strips.c
 *  Engine strips on a GPU against FP64 sums over the stored entries.  With SPMM_TEST_SMALL in the
 *  environment only small cases, for compute-sanitizer.
 */
#include "gpu_engine.h"

const gpu_engine_t gpu_engines[] = {
    {.engine = "strips", .compute = SPMM_COMPUTE_32F, .by_columns = true},
    {.engine = "strips", .compute = SPMM_COMPUTE_32F_FAST_TF32, .by_columns = true},
    {.engine = "strips", .compute = SPMM_COMPUTE_64F, .by_columns = true},
    {0},
};

/* Rows that are strips of their own beside short ones, as many columns as slices have, one more and
 * one less. */
static void test_widths(void **state)
{
    static const int64_t widths[] = {1, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 64, 130};

    gpu_engine_ready();
    for (int k = 0; k < 2 * 2 * 14; k++) {
        const spmm_type_t type  = k % 2 == 0 ? SPMM_R_64F : SPMM_R_32F;
        const bool        mixed = k / 2 % 2 == 0;
        spmm_csr_t        block;

        make_block(mixed ? 403 : 45, mixed ? 350 : 5000, mixed ? MIXED : DENSE_ROWS, type,
                   k / 4 % 2 == 0, &block);
        check_engine_block(spmmi_engine_find("strips"), &gpu_device, &block, type, SPMM_LAYOUT_COL,
                           widths[k / 4], k % 3 != 0);
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_engine_open, test_engine_asynchronous, test_engine_shapes, test_widths,
           test_engine_accuracy, test_engine_special_values, test_engine_same_bits,
           test_engine_life);

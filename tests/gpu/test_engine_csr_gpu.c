/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/** @file test_engine_csr_gpu.c
 *  Engine csr-gpu on a GPU against FP64 sums over the stored entries.  With SPMM_TEST_SMALL in the
 *  environment only small cases, for compute-sanitizer.
 */
#include "gpu_engine.h"

const gpu_engine_t gpu_engines[] = {
    {.engine = "csr-gpu", .compute = SPMM_COMPUTE_32F},
    {.engine = "csr-gpu", .compute = SPMM_COMPUTE_32F_FAST_TF32},
    {.engine = "csr-gpu", .compute = SPMM_COMPUTE_64F},
    {0},
};

/* 16-bit A and B, C of their type and of FP32; complex ones. */
static void test_types(void **state)
{
    static const spmm_type_t types[][2] = {{SPMM_C_64F, SPMM_C_64F},   {SPMM_C_32F, SPMM_C_32F},
                                           {SPMM_R_16F, SPMM_R_16F},   {SPMM_R_16F, SPMM_R_32F},
                                           {SPMM_R_16BF, SPMM_R_16BF}, {SPMM_R_16BF, SPMM_R_32F}};
    static const int64_t     widths[]   = {1, 7, 8, 32, 33, 64, 128, 264, 512};
    const int                n_widths   = gpu_case_small() ? 5 : 9;

    for (int k = 0; k < 6 * 2 * n_widths; k++) {
        const spmm_type_t *type  = types[k % 6];
        const bool         mixed = k % 12 < 6;
        spmm_csr_t         block;

        make_block(mixed ? 203 : 45, mixed ? 150 : 5000, mixed ? MIXED : DENSE_ROWS, type[0],
                   k / 12 % 2 == 0, &block);
        check_engine_block(spmmi_engine_find("csr-gpu"), &gpu_device, &block, type[1],
                           SPMM_LAYOUT_ROW, widths[k / 12], k % 2 != 0);
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_engine_open, test_engine_asynchronous, test_engine_shapes, test_types,
           test_engine_accuracy, test_engine_special_values, test_engine_same_bits,
           test_engine_life, test_engine_far);

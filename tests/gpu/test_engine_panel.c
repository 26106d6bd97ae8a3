/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/** @file test_engine_panel.c
 *  Engine panel on a GPU against FP64 sums over the stored entries. With
 *  SPMM_TEST_SMALL in the environment only small cases, for compute-sanitizer.
 */
#include "gpu_engine.h"

const gpu_engine_t gpu_engines[] = {
    {.engine = "panel", .compute = SPMM_COMPUTE_32F},
    {.engine = "panel", .compute = SPMM_COMPUTE_32F_FAST_TF32},
    {0},
};

SPMM_TESTS(test_engine_open, test_engine_asynchronous, test_engine_shapes, test_engine_accuracy,
           test_engine_special_values, test_engine_same_bits, test_engine_life, test_engine_far);

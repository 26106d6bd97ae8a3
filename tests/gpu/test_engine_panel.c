/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/** @file test_engine_panel.c
 *  Engine panel on a GPU against FP64 sums over the stored entries. With
 *  SPMM_TEST_SMALL in the environment only small cases, for compute-sanitizer.
 */
#include "gpu_engine.h"

extern const spmm_engine_ops_t spmmi_engine_panel;

/* As for a device of one multiprocessor: thread blocks fill whole rounds, and have slices of two
 * widths. */
static spmm_status_t build_for_one(const spmm_csr_t *block, const spmm_problem_t *problem,
                                   const spmm_device_t *device, void **format)
{
    static spmm_device_t one;

    one      = *device;
    one.n_sm = 1;
    return spmmi_engine_panel.build(block, problem, &one, format);
}

const gpu_engine_t gpu_engines[] = {
    {.engine = "panel", .compute = SPMM_COMPUTE_32F},
    {.engine = "panel", .compute = SPMM_COMPUTE_32F_FAST_TF32},
    {.engine = "panel", .compute = SPMM_COMPUTE_32F, .build = build_for_one},
    {.engine = "panel", .compute = SPMM_COMPUTE_32F_FAST_TF32, .build = build_for_one},
    {0},
};

SPMM_TESTS(test_engine_open, test_engine_asynchronous, test_engine_shapes, test_engine_edges,
           test_engine_accuracy, test_engine_special_values, test_engine_same_bits,
           test_engine_life, test_engine_far);

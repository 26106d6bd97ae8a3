/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu_case.h  What an engine owes that only a GPU can show. */
#ifndef SPMM_GPU_CASE_H
#define SPMM_GPU_CASE_H

#include "engine_case.h"

/** SPMM_TEST_SMALL is in the environment: only small cases, for compute-sanitizer. */
bool gpu_case_small(void);

/** Assert that execute returns while its stream is blocked.
 *  @param[in] prepared  only for a shape that was executed before: the first of another shape may
 *                       wait */
void check_asynchronous(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                        const spmm_problem_t *problem, bool mapped, bool prepared);

/** Rows of B and of C farther than 2^31 elements from the first; says so where the device has no
 *  room for them. */
void check_far(const spmm_engine_ops_t *engine, const spmm_device_t *device,
               const spmm_problem_t *problem);

#endif /* SPMM_GPU_CASE_H */

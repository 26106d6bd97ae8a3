/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine_dmma.c
 *  FP64 on tensor cores, over BitTCF: no published SpMM does it, but with 512 bytes of B for every
 *  8 x 8 x 8 products the memory system, not the FP64 unit, sets the pace, and condensed columns
 *  fetch a row of B once for 8 rows of A.
 */
#include "engine/tc_engine.h"

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    return spmm_tc_build(&spmm_tc_kind_bittcf, block, problem, device, format);
}

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    return spmm_tc_supports(problem, device, SPMM_R_64F, why);
}

static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    if (device->kind == SPMM_DEVICE_CPU) {
        return spmm_tc_cpu_cost(pattern, problem, device);
    }
    return spmm_tc_gpu_cost(pattern, problem, device, (double)pattern->tc.pairs[0],
                            44.0 * (double)pattern->tc.tc_blocks + 8.0 * (double)pattern->nnz, 0.7);
}

const spmm_engine_ops_t spmm_engine_dmma = {
    .name        = "dmma",
    .description = "BitTCF blocks on FP64 tensor cores",
    .built       = true,
    .supports    = supports,
    .cost        = cost,
    .build       = build,
    .refill      = spmm_tc_refill,
    .execute     = spmm_tc_execute,
    .bytes       = spmm_tc_bytes,
    .destroy     = spmm_tc_destroy,
};

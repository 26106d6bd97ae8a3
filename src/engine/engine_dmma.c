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

/* The constants of bittcf, whose kernel it is. */
static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    const spmm_tc_model_t model = {.height     = SPMM_BITTCF_SIDE,
                                   .block_cols = SPMM_BITTCF_SIDE,
                                   .a_bytes    = 44.0 * (double)pattern->tc.tc_blocks +
                                              8.0 * (double)pattern->nnz,
                                   .launch_s = 3.0e-6,
                                   .copies   = 1.0,
                                   .gathers  = 0.79,
                                   .block_s  = 0.48e-6};

    return device->kind == SPMM_DEVICE_CPU ? spmm_tc_cpu_cost(pattern, problem, device)
                                           : spmm_tc_gpu_cost(pattern, problem, device, &model);
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

/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c
 *  FP64 on tensor cores, over BitTCF: no published SpMM does it, but with 512 bytes of B for every
 *  8 x 8 x 8 products the memory system, not the FP64 unit, sets the pace, and condensed columns
 *  fetch a row of B once for 8 rows of A.
 */
#include "engine/tc/engine.h"

extern const spmm_engine_ops_t spmmi_engine_bittcf;

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    return spmmi_tc_build(&spmmi_tc_kind_bittcf, block, problem, device, format);
}

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    return spmmi_tc_supports(problem, device, SPMM_R_64F, why);
}

static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    return spmmi_engine_bittcf.cost(pattern, problem, device); /* its kernel, its terms */
}

const spmm_engine_ops_t spmmi_engine_dmma = {
    .name        = "dmma",
    .description = "BitTCF blocks on FP64 tensor cores",
    .built       = true,
    .supports    = supports,
    .cost        = cost,
    .terms       = spmmi_bittcf_terms,
    .build       = build,
    .refill      = spmmi_tc_refill,
    .execute     = spmmi_tc_execute,
    .describe    = spmmi_tc_describe,
    .bytes       = spmmi_tc_bytes,
    .destroy     = spmmi_tc_destroy,
};

/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf.h  What tests take of the engines on BitTCF. */
#ifndef SPMM_ENGINE_WINDOWS_BITTCF_H
#define SPMM_ENGINE_WINDOWS_BITTCF_H

#include "engine/windows/bittcf_args.h"
#include "engine/windows/tc.h"

/* How the work of BitTCF is dealt out on a GPU, and how long it takes. */

/** What a product takes by the work that all its columns are, with the constants of the compute
 *  mode. */
int spmmi_bittcf_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                       const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

#endif /* SPMM_ENGINE_WINDOWS_BITTCF_H */

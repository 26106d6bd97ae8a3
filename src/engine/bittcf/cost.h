/* SPDX-License-Identifier: Apache-2.0 */
/** @file cost.h  How the work of BitTCF is dealt out on a GPU, and how long it takes. */
#ifndef SPMM_ENGINE_BITTCF_COST_H
#define SPMM_ENGINE_BITTCF_COST_H

#include "engine/tc/engine.h"

/** Tiles of 8 rows in a window on a GPU: 1 or 2. */
int32_t spmmi_bittcf_tiles(const spmm_tc_facts_t *facts);

/** limits() of its kind. */
spmm_tc_limits_t spmmi_bittcf_limits(const spmm_device_t *device, const spmm_problem_t *problem,
                                     int32_t n_windows, int32_t blocks);

/** What a product takes by the work that all its columns are, with the constants of the compute
 *  mode. */
int spmmi_bittcf_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                       const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

#endif /* SPMM_ENGINE_BITTCF_COST_H */

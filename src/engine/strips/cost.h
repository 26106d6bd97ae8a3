/* SPDX-License-Identifier: Apache-2.0 */
/** @file cost.h  What a product with engine strips takes. */
#ifndef SPMM_ENGINE_STRIPS_COST_H
#define SPMM_ENGINE_STRIPS_COST_H

#include "engine/engine.h"

/** As spmm_engine_ops_t.terms. */
int spmmi_strips_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                       const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

#endif /* SPMM_ENGINE_STRIPS_COST_H */

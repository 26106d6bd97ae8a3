/* SPDX-License-Identifier: Apache-2.0 */
/** @file cost.h  How long panels take on a GPU. */
#ifndef SPMM_ENGINE_PANEL_COST_H
#define SPMM_ENGINE_PANEL_COST_H

#include "engine/engine.h"

/** May the engine be the fastest, as far as was measured: many rows that share columns, wide B? */
bool spmmi_panel_may_win(const spmm_pattern_t *pattern, const spmm_problem_t *problem);

/** terms() of the engine. */
int spmmi_panel_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

#endif /* SPMM_ENGINE_PANEL_COST_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file weigh.h
 *  What each row of a block costs by the model of the engine that is predicted to run it, so that
 *  ranks can get equal times instead of equal numbers of entries.
 */
#ifndef SPMM_ENGINE_WEIGH_H
#define SPMM_ENGINE_WEIGH_H

#include "engine/engine.h"

/** What a product takes for one more entry, pair of a window of 8 rows and a column, and row;
 *  seconds. */
typedef struct {
    double                   entry, pair, row;
    double                   all;    /**< of the block by these three; 0 without an engine */
    const spmm_engine_ops_t *engine; /**< by whose model; NULL: none runs the problem, or what its
                                          model reads of a pattern is mostly something else */
} spmm_row_cost_t;

/** By the model of the engine of least predicted time, of those that @p name (NULL or "auto": all)
 *  admits, for a device of the kind and size of @p device: not by rates measured on it, so that the
 *  same matrix always gets the same parts. */
spmm_row_cost_t spmmi_row_cost(const char *name, const spmm_pattern_t *pattern,
                               const spmm_problem_t *problem, const spmm_device_t *device);

/** What the rows cost.  A row of B that k rows of a window use costs each of them a k-th.
 *  @param[in]  pattern  of the block, with its windows
 *  @param[in]  unit     seconds that weigh 1
 *  @param[out] weight   [pattern->n_rows], at least 1 */
void spmmi_weigh_rows(const spmm_row_cost_t *cost, const spmm_csr_t *block,
                      const spmm_pattern_t *pattern, double unit, int threads, int64_t *weight);

#endif /* SPMM_ENGINE_WEIGH_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_shape.h  Which thread blocks multiply BCSR, and how long they take: engines bcsr and
 *  bcsr-sp24. */
#ifndef SPMM_ENGINE_BCSR_SHAPE_H
#define SPMM_ENGINE_BCSR_SHAPE_H

#include "engine/tc_engine.h"

/** Of a thread block. */
typedef struct {
    int32_t rows;  /**< tile rows: 4, 8 or 16 */
    int32_t slice; /**< columns of C: 32, 64 or 128 */
} spmm_bcsr_shape_t;

/** The shape of the least predicted time.
 *  @param[in] facts  [3] in panels of 4, 8 and 16 tile rows */
spmm_bcsr_shape_t spmm_bcsr_shape(const spmm_bcsr_facts_t *facts, int32_t n_rows, int64_t n,
                                  int32_t n_sm, bool sp24);

/** Kinds of the two engines, and their create() with the shape given.
 *  @param[in] tall  as in spmm_bcsr_create() */
extern const spmm_tc_kind_t spmm_tc_kind_bcsr, spmm_tc_kind_sp24;
spmm_status_t               spmm_bcsr_lay_out(spmm_tc_engine_t *f, const spmm_csr_t *block,
                                              const spmm_windows_t *tall, bool sp24, spmm_bcsr_shape_t shape);

/** Steps from which on a panel is cut, of @p steps in all. */
int32_t spmm_bcsr_cut(int32_t n_sm, int64_t n, int64_t steps);

/** cost() and terms() of both engines. */
double spmm_bcsr_cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device);
int    spmm_bcsr_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                       const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

#endif /* SPMM_ENGINE_BCSR_SHAPE_H */

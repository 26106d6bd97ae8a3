/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_shape.h  How a GPU's warps share a product with CVSE, and which ways promise to be fast. */
#ifndef SPMM_ENGINE_CVSE_SHAPE_H
#define SPMM_ENGINE_CVSE_SHAPE_H

#include "engine/windows.h"

enum { SPMM_CVSE_SHAPES = 4 }; /**< most that are worth measuring */

typedef struct {
    int32_t height;  /**< V: 8 or 16 */
    int32_t chain;   /**< blocks of a warp that tasks are made for (cvse_tasks.h); 0: no tasks, but
                          pieces (tc_work.h) */
    int32_t slice;   /**< of tasks: most columns of a warp: 32, 64 or 128 */
    int32_t n_warps; /**< of tasks: of a thread block: 4, 8 or, for slices up to 64, 16 */
} spmm_cvse_shape_t;

/** V by the bytes that its vectors take a product through. */
int32_t spmm_cvse_height(const spmm_tc_facts_t *facts, int64_t n);

/** Shapes for @p n columns that are worth measuring: the best predicted one, then the best of the other
 *  V, of other slices, and pieces or other thread blocks.
 *  @return how many, at least 1 */
int spmm_cvse_shapes(const spmm_tc_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                     spmm_cvse_shape_t list[SPMM_CVSE_SHAPES]);

/** Every shape there is: number @p k; false: there are fewer.  As spmm_problem_t.shape they count from
 *  SPMM_CVSE_SHAPES on, for tests and benchmarks. */
bool spmm_cvse_shape_at(int k, spmm_cvse_shape_t *shape);

/** Predicted seconds of a shape with tasks beyond what all of its V take, to compare shapes by. */
double spmm_cvse_shape_s(const spmm_tc_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                         spmm_cvse_shape_t shape);

/** Blocks from which on the pieces of the shape without tasks are shared or cut, of @p n_windows
 *  windows with @p blocks in all. */
int32_t spmm_cvse_team_limit(int32_t n_windows, int32_t blocks, int32_t n_sm);

#endif /* SPMM_ENGINE_CVSE_SHAPE_H */

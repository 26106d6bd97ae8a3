/* SPDX-License-Identifier: Apache-2.0 */
/** @file variant.h  How a GPU's warps share a product with CVSE, and which ways
 *  promise to be fast. */
#ifndef SPMM_ENGINE_CVSE_VARIANT_H
#define SPMM_ENGINE_CVSE_VARIANT_H

#include "engine/tc/windows.h"

enum { SPMM_CVSE_VARIANTS = 5 }; /**< most that are worth measuring */

typedef struct {
    int32_t height;  /**< V: 8 or 16 */
    int32_t chain;   /**< blocks of a warp that tasks are made for (tasks.h); 0: no tasks, but
                          pieces (engine/tc/work.h) */
    int32_t slice;   /**< of tasks: most columns of a warp: 32, 64 or 128 */
    int32_t n_warps; /**< of a thread block: 4, 8 or, for slices up to 64, 16; of slabs the same */
    int32_t slab;    /**< columns of B that a thread block keeps in shared memory: 32 or 64; 0: of
                          tasks and pieces */
} spmm_cvse_variant_t;

/** V by the bytes that its vectors take a product through. */
int32_t spmmi_cvse_height(const spmm_tc_facts_t *facts, int64_t n);

/** Slabs for @p n columns: of those that fit shared memory the one with the most thread blocks in
 *  one wave.
 *  @return false: none fits, windows have too few vectors to share rows of B, or @p n is no
 *          multiple of 8 */
bool spmmi_cvse_slab(const spmm_tc_facts_t *facts, int32_t n_rows, int32_t n_cols, int64_t n,
                     int32_t n_sm, spmm_cvse_variant_t *slab);

/** Predicted seconds of a product with slabs. */
double spmmi_cvse_slab_s(const spmm_tc_facts_t *facts, int32_t n_rows, int32_t n_cols, int64_t n,
                         int32_t n_sm, spmm_cvse_variant_t slab);

/** Variants for @p n columns that are worth measuring: slabs where the model has them in front; the
 *  best predicted of the others, then the best of the other V, of other slices, and pieces or other
 *  thread blocks; slabs last elsewhere.
 *  @param[in] n_cols  of A; 0: the device has no tensor maps, which slabs need
 *  @return how many, at least 1 */
int spmmi_cvse_variants(const spmm_tc_facts_t *facts, int32_t n_rows, int32_t n_cols, int64_t n,
                        int32_t n_sm, spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS]);

/** Every variant there is: number @p k; false: there are fewer.  As spmm_problem_t.variant they
 *  count from SPMM_CVSE_VARIANTS on, for tests and benchmarks. */
bool spmmi_cvse_variant_at(int k, spmm_cvse_variant_t *variant);

/** Predicted seconds of a variant with tasks beyond what all of its V take, to
 *  compare variants by. */
double spmmi_cvse_variant_s(const spmm_tc_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                            spmm_cvse_variant_t variant);

/** Blocks from which on the pieces of the variant without tasks are shared or cut, of @p n_windows
 *  windows with @p blocks in all. */
int32_t spmmi_cvse_team_limit(int32_t n_windows, int32_t blocks, int32_t n_sm);

#endif /* SPMM_ENGINE_CVSE_VARIANT_H */

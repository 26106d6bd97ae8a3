/* SPDX-License-Identifier: Apache-2.0 */
/** @file variant.h  How a GPU's warps share a product with CVSE, and which ways
 *  promise to be fast. */
#ifndef SPMM_ENGINE_CVSE_VARIANT_H
#define SPMM_ENGINE_CVSE_VARIANT_H

#include "base/env.h"
#include "engine/cvse/args.h"
#include "engine/cvse/format.h"
#include "engine/windows/windows.h"

enum { SPMM_CVSE_VARIANTS = 5 }; /**< most that are worth measuring */

typedef struct {
    int32_t height;  /**< V: 8 or 16 */
    int32_t chain;   /**< blocks of a warp that tasks are made for; 0: no tasks, but
                          work items (engine/windows/tc_work.h) */
    int32_t slice;   /**< of tasks: most columns of a warp: 32, 64 or 128 */
    int32_t n_warps; /**< of a thread block: 4, 8 or, for slices up to 64, 16; of slabs the same */
    int32_t slab;    /**< columns of B that a thread block keeps in shared memory: 32 or 64; 0: of
                          tasks and work items */
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
 *  best predicted of the others, then the best of the other V, of other slices, and work items or
 *  other thread blocks; slabs last elsewhere.
 *  @param[in] n_cols  of A; 0: the device has no tensor maps, which slabs need
 *  @return how many, at least 1 */
int spmmi_cvse_variants(const spmm_tc_facts_t *facts, int32_t n_rows, int32_t n_cols, int64_t n,
                        int32_t n_sm, spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS]);

/** Every variant there is: number @p k; false: there are fewer.  As spmm_problem_t.variant they
 *  count from SPMM_CVSE_VARIANTS on, for tests and benchmarks. */
bool spmmi_cvse_variant_at(int k, spmm_cvse_variant_t *variant);

/** Blocks from which on the work items of the variant without tasks are shared or cut, of @p
 *  n_windows windows with @p blocks in all. */
int32_t spmmi_cvse_team_limit(int32_t n_windows, int32_t blocks, int32_t n_sm);

/* The windows of CVSE as tasks of warps, where they are short or few (cvse_short.cuh). */

/** On the host; arrays owned. */
typedef struct {
    int32_t           n_warps;              /**< of a thread block */
    int32_t           end[SPMM_CVSE_TEAMS]; /**< as in spmm_cvse_short_t */
    int64_t           n_tasks;              /**< end[4] * n_warps */
    spmm_cvse_task_t *task;                 /**< [n_tasks] */
    int32_t          *first; /**< [n_tasks] first block of the task, -1: it has none */
} spmm_cvse_tasks_t;

/** Warps that share a window: the fewest of 1, 2, 4, 8 and 16 with at most @p chain blocks for
 *  each, or @p n_warps where even those have more. */
int32_t spmmi_cvse_team(int64_t blocks, int32_t chain, int32_t n_warps);

/** Deal the windows out, large teams first; windows with teams of a size keep their order.
 *  Every window has at least one task, empty ones too.
 *  @param[in] block_ptr  [n_windows + 1] first block of each window
 *  @param[in] chain      blocks of a warp, at least 1
 *  @param[in] n_warps    4, 8 or 16 */
spmm_status_t spmmi_cvse_tasks_create(spmm_env_t *env, int32_t n_windows, const int32_t *block_ptr,
                                      int32_t chain, int32_t n_warps, spmm_cvse_tasks_t *tasks);
void          spmmi_cvse_tasks_free(spmm_cvse_tasks_t *tasks);

/** Copy what each task begins with: @p size bytes of each block of @p from, bytes of @p blank
 *  where a task has none.
 *  @param[out] to  [n_tasks * size] */
void spmmi_cvse_tasks_gather(const spmm_cvse_tasks_t *tasks, const void *from, size_t size,
                             int blank, void *to);

/* Another order of the vectors of a window, for kernels that read rows of B from shared memory:
 * any eight that one access takes, a half of a block, stand in as many banks as the window has. */

/** Rows of B whose numbers are equal modulo this share their banks. */
enum { SPMM_CVSE_BANKS = 8 };

/** The place of @p format that goes to each place, counted through all blocks.  Deterministic.
 *  @param[out] from  [n_blocks * 16]; NULL for an empty format; spmmi_free() it */
spmm_status_t spmmi_cvse_deal(spmm_env_t *env, const spmm_cvse_t *format, int threads,
                              int32_t **from);

/** What belongs to the blocks of @p format in the order @p from; NULL: no memory.
 *  @param[in] host  the lists or bits of the format, or anything that stands as its values do
 *  @param[in] size  bytes of a block of it */
void *spmmi_cvse_dealt(const spmm_cvse_t *format, const int32_t *from, int threads,
                       const void *host, size_t size);

#endif /* SPMM_ENGINE_CVSE_VARIANT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_work.h
 *  The blocks of a tensor-core format as work items for a GPU: what one warp takes at a time.
 */
#ifndef SPMM_ENGINE_WINDOWS_TC_WORK_H
#define SPMM_ENGINE_WINDOWS_TC_WORK_H

#include "base/env.h"
#include "engine/windows/tc_args.h"

/** The work items on the host; arrays as in spmm_tc_work_t, owned. */
typedef struct {
    int32_t          n_items, n_partial, n_team, n_splits;
    spmm_tc_item_t  *item;
    spmm_tc_split_t *split;
} spmm_tc_items_t;

/** How long a window must be to be treated in another way, in blocks. */
typedef struct {
    int32_t team; /**< longer ones are for all warps of a thread block */
    int32_t
        cut; /**< longer ones are cut into nearly equal work items of at most that many; >= team */
} spmm_tc_limits_t;

/** Make the work items of all windows.  Within each of the three classes windows keep their order,
 *  so that neighbours stay neighbours; the longest work stands first, since it should not start
 *  last.
 *  @param[in] block_ptr  [n_windows + 1] first block of each window
 *  @param[in] start      [blocks + 1] what spmm_tc_item_t.start says of each
 *                        block; NULL: nothing */
spmm_status_t spmmi_tc_items_create(spmm_env_t *env, int32_t n_windows, const int32_t *block_ptr,
                                    const int32_t *start, spmm_tc_limits_t limits,
                                    spmm_tc_items_t *items);
void          spmmi_tc_items_free(spmm_tc_items_t *items);

#endif /* SPMM_ENGINE_WINDOWS_TC_WORK_H */

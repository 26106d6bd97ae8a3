/* SPDX-License-Identifier: Apache-2.0 */
/** @file tasks.h
 *  The windows of CVSE as tasks of warps, where they are short or few (cvse_short.cuh).
 */
#ifndef SPMM_ENGINE_CVSE_TASKS_H
#define SPMM_ENGINE_CVSE_TASKS_H

#include "base/env.h"
#include "engine/cvse/args.h"

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

#endif /* SPMM_ENGINE_CVSE_TASKS_H */

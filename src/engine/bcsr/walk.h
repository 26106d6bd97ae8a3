/* SPDX-License-Identifier: Apache-2.0 */
/** @file walk.h  The steps of a panel of BCSR, one after the other, out of tall windows. */
#ifndef SPMM_ENGINE_BCSR_WALK_H
#define SPMM_ENGINE_BCSR_WALK_H

#include "engine/bcsr/args.h"
#include "engine/tc/windows.h"

enum {
    SPMM_BCSR_PARTS = SPMM_WINDOWS_TALL / SPMM_BCSR_SIDE,
    SPMM_BCSR_TALL  = SPMM_BCSR_ROWS / SPMM_BCSR_PARTS /**< tall windows of a panel, at most */
};

typedef struct {
    const spmm_windows_t *tall;
    int32_t               first, n; /**< of its windows */
    int32_t               at[SPMM_BCSR_TALL];
    int32_t               next[SPMM_BCSR_TALL]; /**< step of that column; INT32_MAX: no more */
    bool                  sp24;

    /* The step: */
    spmm_bcsr_step_t step;
    uint32_t         bits[SPMM_BCSR_ROWS][SPMM_BCSR_SIDE]; /**< of the rows in any */
    uint32_t         cols[SPMM_BCSR_ROWS];                 /**< of those: columns with an entry */
    uint32_t         any;                                  /**< rows with an entry */
    uint32_t         legal; /**< of those: with at most two in any four columns */
} spmm_bcsr_walk_t;

/** In front of the first step of panel number @p panel of @p rows tile rows. */
void spmmi_bcsr_walk_start(spmm_bcsr_walk_t *w, const spmm_windows_t *tall, int32_t panel,
                           int32_t rows, bool sp24);
/** The next step; false: the panel has no more. */
bool spmmi_bcsr_walk_next(spmm_bcsr_walk_t *w);

#endif /* SPMM_ENGINE_BCSR_WALK_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_work.h
 *  A CSR block as the CUDA-core engine takes it: by entries, in work items of about equal size.
 */
#ifndef SPMM_ENGINE_CSR_WORK_H
#define SPMM_ENGINE_CSR_WORK_H

#include "engine/csr/csr_gpu_args.h"
#include "engine/engine.h"
#include "matrix/csr.h"

/** On the host; arrays as in spmm_csr_items_t, owned. */
typedef struct {
    int32_t           n_items, n_partial, n_splits, n_empty;
    int32_t          *row;   /**< [nnz] */
    int32_t          *empty; /**< [n_empty] */
    spmm_csr_item_t  *item;  /**< [n_items] */
    spmm_csr_split_t *split; /**< [n_splits] */
} spmm_csr_work_t;

/** Pack whole rows into work items of about @p limit entries, one and a half times as many at most;
 *  rows of up to 2 * limit are work items of their own, and longer ones nearly equal work items of
 *  at most limit.  Longest first: parts of split rows, long rows, then the others; each kind in the
 *  order of rows, so that neighbours stay neighbours.
 *  @param[in] limit    at least 1
 *  @param[in] by_rows  a work item for each row, or for each part of one that is split
 *  @param[in] tile_rows  as in spmm_csr_items_t; the block has no row map then
 *  @param[in] threads  OpenMP threads, 0: as many as OpenMP likes
 *  @return SPMM_ERR_RANGE for 2^32 entries or 2^31 work items, or more */
spmm_status_t spmmi_csr_work_create(spmm_env_t *env, const spmm_csr_t *block, int64_t limit,
                                    bool by_rows, int32_t tile_rows, int threads,
                                    spmm_csr_work_t *work);
/** Mark the work items whose entries name the last row of B, behind which there may be nothing to
 *  read; for widths of which no kernel may read whole accesses of it. */
void spmmi_csr_work_mark(const spmm_csr_t *block, int threads, spmm_csr_work_t *work);
void spmmi_csr_work_free(spmm_csr_work_t *work);

/** Most rows of C of a work item that stores them by columns, so that shared memory has room for
 *  them beside L1; 0: rows are so long that few meet in a work item, and are stored one by one.
 *  @param[in] size  bytes of an element of B */
int32_t spmmi_csr_tile_rows(int64_t n_rows, int64_t nnz, int64_t n, int64_t size);

/** Entries of a work item that keep @p n_sm multiprocessors busy with @p n columns.  In one wave
 *  work items are no more than thread blocks are resident: rows of A that are neighbours find rows
 *  of B in the L1 of one multiprocessor.  Elsewhere they come in several waves.
 *  @param[in] used_cols  rows of B in use
 *  @param[in] alone      nothing else runs: thread blocks of one wave that find no multiprocessor
 *                        at once would be a second one
 *  @param[in] tile_rows  as above */
int64_t spmmi_csr_work_limit(const spmm_csr_t *block, int64_t n, int64_t used_cols, int n_sm,
                             bool alone, int32_t tile_rows);

/* What a product with engine csr-gpu takes. */

/** As spmm_engine_ops_t.cost. */
int spmmi_csr_gpu_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                        const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

#endif /* SPMM_ENGINE_CSR_WORK_H */

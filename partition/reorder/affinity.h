/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity.h  Windows of rows that share columns. */
#ifndef SPMM_PARTITION_REORDER_AFFINITY_H
#define SPMM_PARTITION_REORDER_AFFINITY_H

#include "matrix/csr.h"

/** How thoroughly windows are filled. */
typedef struct {
    int32_t stretch; /**< rows of the base order among which those of a window are sought */
    int32_t heavy;   /**< rows of a stretch: a column with more tells little and costs much */
} spmm_affinity_effort_t;

/** Put rows with common columns next to each other.  The same for any number of threads.
 *  @param[in]  base   [n] rows with an entry, neighbours near each other
 *  @param[out] order  [n] the same rows */
spmm_status_t spmmi_affinity_fill(spmm_env_t *env, const spmm_csr_t *block, const int32_t *base,
                                  int32_t n, const spmm_affinity_effort_t *effort, int threads,
                                  int32_t *order);

/* From the rows as they are, or from another base order of them, to
 * windows of rows that share columns. */

/** Another order of rows that are likely to share columns.  The same for any number of threads.
 *  @param[in,out] rows  [n] those with an entry, ascending */
typedef spmm_status_t (*spmm_affinity_base_t)(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                              int32_t n, int32_t *rows);

/** An order of the rows of @p block for windows: on the rows as they are, where their stretches
 *  gather columns, else on those of @p other, if that gathers them better.
 *  @param[out] order  [n_rows] */
spmm_status_t spmmi_affinity_order(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                   spmm_affinity_base_t other, const spmm_affinity_effort_t *effort,
                                   int32_t *order);

#endif /* SPMM_PARTITION_REORDER_AFFINITY_H */

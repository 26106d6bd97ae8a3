/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity_base.h  From the rows as they are, or from another base order of them, to
 *  windows of rows that share columns. */
#ifndef SPMM_PARTITION_AFFINITY_BASE_H
#define SPMM_PARTITION_AFFINITY_BASE_H

#include "partition/reorder/affinity_fill.h"

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

#endif /* SPMM_PARTITION_AFFINITY_BASE_H */

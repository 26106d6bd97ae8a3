/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity_fill.h  Windows of rows that share columns. */
#ifndef SPMM_PARTITION_AFFINITY_FILL_H
#define SPMM_PARTITION_AFFINITY_FILL_H

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

#endif /* SPMM_PARTITION_AFFINITY_FILL_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity_fill.h  Windows of rows that share columns. */
#ifndef SPMM_PARTITION_AFFINITY_FILL_H
#define SPMM_PARTITION_AFFINITY_FILL_H

#include "matrix/csr.h"

/** Rows of the base order among which those of a window are sought. */
enum { SPMM_AFFINITY_STRETCH = 4096 };

/** Put rows with common columns next to each other.  The same for any number of threads.
 *  @param[in]  base   [n] rows with an entry, neighbours near each other
 *  @param[out] order  [n] the same rows */
spmm_status_t spmmi_affinity_fill(spmm_env_t *env, const spmm_csr_t *block, const int32_t *base,
                                  int32_t n, int threads, int32_t *order);

#endif /* SPMM_PARTITION_AFFINITY_FILL_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity.h  What tells how long data-affinity-based reordering takes. */
#ifndef SPMM_PARTITION_AFFINITY_H
#define SPMM_PARTITION_AFFINITY_H

#include "matrix/csr.h"

/** Threads that can order the rows of a block at a time: many where rows of the given order share
 *  their columns with near ones alone, else 1.
 *  @param[in]  threads  OpenMP threads, 0: as many as OpenMP likes
 *  @param[out] parts    at least 1 */
spmm_status_t spmmi_affinity_parts(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                   int *parts);

#endif /* SPMM_PARTITION_AFFINITY_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file sorted.h  What order `sorted` makes of a block, known from a few of its stretches. */
#ifndef SPMM_PARTITION_SORTED_H
#define SPMM_PARTITION_SORTED_H

#include "matrix/csr.h"

/** Some thousand rows in the order `sorted`, as far as those go: of the rows as they are, and as
 *  their keys sort them.  The same for any number of threads.
 *  @param[in]  threads  OpenMP threads, 0: as many as OpenMP likes
 *  @param[out] pairs    (window, column) pairs for each entry in windows of 8 and of 16 rows, the
 *                       fewer of both ways */
spmm_status_t spmmi_sorted_sample(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                  double pairs[2]);

#endif /* SPMM_PARTITION_SORTED_H */

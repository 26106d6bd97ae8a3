/* SPDX-License-Identifier: Apache-2.0 */
/** @file reorder.h
 *  In which order the rows of a diagonal block are multiplied.  Columns, and with them B, stay;
 *  rows of C are reached through the block's row map, so an order costs nothing at execute.
 *  Tensor-core formats fetch a row of B once for every window of rows that uses it: rows with the
 *  same columns should be neighbours.  Add a method by writing its spmm_reorderer_t in a file of
 *  its own and one line in reorderer_list.h.
 */
#ifndef SPMM_PARTITION_REORDER_H
#define SPMM_PARTITION_REORDER_H

#include "matrix/csr.h"

typedef struct {
    const char *name;
    /** Not collective; the same for any number of threads.
     *  @param[in]  threads  OpenMP threads, 0: as many as OpenMP likes
     *  @param[out] order    [n_rows] old row of each new place */
    spmm_status_t (*run)(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order);
} spmm_reorderer_t;

/** All methods, in the order they are listed. */
extern const spmm_reorderer_t *const spmmi_reorderers[];
extern const int                     spmmi_n_reorderers;

#define SPMM_REORDERER(x) extern const spmm_reorderer_t spmmi_reorderer_##x;
#include "partition/reorder/reorderer_list.h"
#undef SPMM_REORDERER

/** The method called @p name, which there is: option tuning knows the names. */
const spmm_reorderer_t *spmmi_reorderer_find(const char *name);

/** Run @p method and check that its result is a permutation.  Not collective.
 *  @param[out] order  [n_rows], see spmm_reorderer_t
 *  @return SPMM_ERR_UNSUPPORTED for a block that the method cannot take */
spmm_status_t spmmi_reorder(spmm_env_t *env, const spmm_reorderer_t *method,
                            const spmm_csr_t *block, int threads, int32_t *order);

#endif /* SPMM_PARTITION_REORDER_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file scale.h  What ranks that need not be there would exchange. */
#ifndef SPMM_PARTITION_SCALE_H
#define SPMM_PARTITION_SCALE_H

#include "matrix/matrix.h"
#include "partition/partition.h"

/** A on one rank, and for whom it is parted. */
typedef struct {
    const spmm_matrix_t *A; /**< borrowed, on a context of one rank */
    int                  ranks;
    spmm_nodes_t         nodes;               /**< of the ranks, owned */
    int32_t             *row_part, *col_part; /**< [A->rows], [A->cols] ranks, owned */
    const char          *method;              /**< partitioner; static */
} spmm_scale_t;

/** Rows and messages of each rank in one exchange. */
typedef struct {
    int64_t *rows_in, *rows_out, *messages_in, *messages_out; /**< [ranks] */
} spmm_scale_tally_t;

/** Part the rows as a plan on so many ranks does, on several nodes nodes first.  Local.
 *  @param[in]  spec     "block" or "metis"
 *  @param[out] scale    release with spmmi_scale_free(), also after a failure */
spmm_status_t spmmi_scale_create(const spmm_matrix_t *A, int ranks, int ranks_per_node,
                                 const char *spec, const spmm_partition_options_t *options,
                                 spmm_scale_t *scale);
void          spmmi_scale_free(spmm_scale_t *scale);

/** Count.  Local.  Rows of nodes are counted between nodes alone: what is within is not set.
 *  @param[in]  nodes   rows travel once for each node that needs them, not for each rank
 *  @param[out] tally  [SPMM_WAYS] release each with spmmi_scale_tally_free(), also after a
 *                     failure */
spmm_status_t spmmi_scale_count(const spmm_scale_t *scale, bool nodes,
                                spmm_scale_tally_t tally[SPMM_WAYS]);
void          spmmi_scale_tally_free(spmm_scale_tally_t *tally);

#endif /* SPMM_PARTITION_SCALE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file partitioners.h  What the partitioners share; nothing outside this folder includes it. */
#ifndef SPMM_PARTITION_PARTITIONERS_H
#define SPMM_PARTITION_PARTITIONERS_H

#include "partition/partition.h"

#define SPMM_PARTITIONER(name) extern const spmm_partitioner_t spmmi_partitioner_##name;
#include "partition/partitioner_list.h"
#undef SPMM_PARTITIONER

/** Run @p partitioner, complete and check its result, see spmmi_partition_create().  Collective,
 *  agreed; on failure *partition is zeroed. */
spmm_status_t spmmi_partition_run(const spmm_matrix_t *A, const spmm_partitioner_t *partitioner,
                                  const spmm_partition_options_t *options,
                                  spmm_partition_t               *partition);

/** Allocate row_part and, unless A is square, col_part.  Collective, agreed; what is allocated when
 *  it fails stays in *partition. */
spmm_status_t spmmi_partition_alloc(const spmm_matrix_t *A, spmm_partition_t *partition);

/** What row @p i of this rank weighs: as much as it has entries. */
static inline int64_t spmmi_row_weight(const spmm_matrix_t *A, int64_t i)
{
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

/** Consecutive blocks of rows of about equal weight.  Collective; not agreed.
 *  @param[out] row_part [A->n_rows] */
spmm_status_t spmmi_block_rows(const spmm_matrix_t *A, int n_parts, int32_t *row_part);

/** A row over the network to one within a node, in time: NVLink has about 340 GB/s for each peer,
 *  an adapter of 400 Gb/s about 48. */
enum { SPMM_NETWORK_COST = 7 };

/** Below this many vertices a part METIS makes empty parts and prints; blocks serve as well. */
enum { SPMM_MIN_VERTICES_PER_PART = 16 };

/** Has the graph of A (rows, and columns unless A is square) enough vertices, and A an entry?  The
 *  same on all ranks. */
bool spmmi_graph_is_worth_cutting(const spmm_matrix_t *A, int n_parts);

/** Blocks of rows where it is not, with a line in the log.  Collective, agreed.
 *  @param[out] row_part [A->n_rows] */
spmm_status_t spmmi_blocks_instead(const spmm_matrix_t *A, const char *method, int32_t *row_part);

/** One line in the log where @p row_part is out of the balance that @p options allow.  Collective,
 *  agreed. */
spmm_status_t spmmi_balance_report(const spmm_matrix_t *A, const char *method,
                                   const spmm_partition_options_t *options,
                                   const int32_t                  *row_part);

/** Which parts use which columns, held by the ranks that own the columns in A. */
typedef struct {
    int64_t   count; /**< (column, part) pairs of this rank's columns */
    uint64_t *key;   /**< [count] column * size + part, global column; ascending, no pair twice */
    int64_t  *uses;  /**< [count] entries of the part in the column, over all ranks */
} spmm_consumers_t;

/** Elements of the longest message between rank 0 and another rank: bounds its buffers. */
enum { SPMM_PIECE = 1 << 20 };

/** One blocking transfer, of any length; not collective.  It has the timeout of exchanges, which
 *  says nothing about a peer that reads a file or serves others first: all ranks
 *  agree before it. */
spmm_status_t spmmi_send_bytes(spmm_env_t *env, const void *data, size_t bytes, int peer);
spmm_status_t spmmi_recv_bytes(spmm_env_t *env, void *data, size_t bytes, int peer);

#endif /* SPMM_PARTITION_PARTITIONERS_H */

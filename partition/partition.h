/* SPDX-License-Identifier: Apache-2.0 */
/** @file partition.h
 *  Which rank gets which row of A, and which row of B.  Add a partitioner by writing its
 *  spmm_partitioner_t in a file of its own and one line in partitioner_list.h.
 */
#ifndef SPMM_PARTITION_PARTITION_H
#define SPMM_PARTITION_PARTITION_H

#include "matrix/matrix.h"

typedef struct {
    const char *argument;  /**< what follows the colon of the name: the path of "file:PATH" */
    const char *objective; /**< "vol", "cut"; NULL: what the partitioner is best at */
    double      imbalance; /**< allowed max / mean entries per rank, >= 1; 0: 1.03 */
    uint64_t    seed;
    /** Borrowed: rows are parted by nodes first and then by the ranks of each, so that few cross
     *  the network.  NULL: all ways between ranks are alike. */
    const spmm_nodes_t *nodes;
} spmm_partition_options_t;

/** METIS's own for k-way partitions (METIS_OPTION_UFACTOR 30). */
#define SPMM_DEFAULT_IMBALANCE 1.03

/** A partition of a matrix: parts are ranks.  Distributed like the matrix itself. */
typedef struct {
    const char *method;   /**< the partitioner that made it (of auto: the winner); static */
    int32_t    *row_part; /**< [A->n_rows] part of each row this rank owns, owned */
    int32_t    *col_part; /**< [A->n_cols] part of each column; of square A as row_part, and NULL
                               where a partitioner runs */
    bool        keep;     /**< nothing moves: parts are the matrix's own distribution */
    const char *note;     /**< for spmm_plan_explain(): how it came about; NULL; static */
} spmm_partition_t;

/** What a partition costs.  All ranks hold the same numbers. */
typedef struct {
    double  imbalance;  /**< max / mean entries per part */
    int64_t halo_total; /**< rows of B received, all parts */
    int64_t halo_max;   /**< of the part that receives most */
    /** With nodes, else 0: rows of B that cross the network, each once for a node, and those
     *  through the busiest adapter, in or out, where the ranks of a node share them evenly. */
    int64_t network_total, network_max;
} spmm_partition_score_t;

typedef struct {
    const char *name, *description;
    bool        built; /**< false: this build lacks what it needs */
    /** Fill partition->row_part and, for A that is not square, ->col_part (both allocated).
     *  Collective, agreed. */
    spmm_status_t (*run)(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition);
} spmm_partitioner_t;

/** All partitioners, in the order they are listed. */
extern const spmm_partitioner_t *const spmmi_partitioners[];
extern const int                       spmmi_n_partitioners;

/** Check options and put the default in the place of no imbalance.  Local. */
spmm_status_t spmmi_partition_options(spmm_env_t *env, spmm_partition_options_t *options);

/** Run the partitioner that @p spec ("keep", "block", "metis", "ptscotch", "auto", "file:PATH";
 *  NULL: keep) names.  Collective, agreed; its result is checked: every part lies in [0, size).
 *  @return SPMM_ERR_ARGUMENT for an unknown name, with the list of known ones */
spmm_status_t spmmi_partition_create(const spmm_matrix_t *A, const char *spec,
                                     const spmm_partition_options_t *options,
                                     spmm_partition_t               *partition);
void          spmmi_partition_free(spmm_partition_t *partition);

/** Count what @p partition makes travel.  Collective, agreed.
 *  @param[in] nodes  as in the options of the partition */
spmm_status_t spmmi_partition_score(const spmm_matrix_t *A, const spmm_partition_t *partition,
                                    const spmm_nodes_t *nodes, spmm_partition_score_t *score);

/** Give every column to the part whose entries use it most (the lowest of equals; unused columns
 *  stay with their owner), by row_part, which is set.  For partitioners of rows alone; where
 *  columns go with the rows there is nothing to do.  Collective, agreed. */
spmm_status_t spmmi_partition_columns(const spmm_matrix_t *A, spmm_partition_t *partition);

/** Write row_part in row order, one number a line.  Collective, agreed. */
spmm_status_t spmmi_partition_write(const spmm_matrix_t *A, const int32_t *row_part,
                                    const char *path);

#endif /* SPMM_PARTITION_PARTITION_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file scale.h
 *  What a product would exchange among ranks that need not be there: counted, not sampled, from the
 *  pattern of A and a partition of it.
 */
#ifndef SPMM_DIST_SCALE_H
#define SPMM_DIST_SCALE_H

#include "spmm_dist/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Zero in any field but ranks means "choose for me". */
typedef struct {
    size_t      struct_size;    /**< set by SPMM_SCALE_OPTIONS_INIT */
    int         ranks;          /**< how many there would be, 1 .. 16384 */
    int         ranks_per_node; /**< so many successive ones each; 0: all on one */
    const char *partition;      /**< "block", "metis"; NULL: "metis", "block" in builds without */
    double      imbalance;      /**< as in spmm_plan_options_t */
    const char *tuning;         /**< likewise; of its keys objective and seed alone */
} spmm_scale_options_t;

/** "Choose for me" in every field; ranks is to be set. */
#define SPMM_SCALE_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(spmm_scale_options_t), 0, 0, NULL, 0.0, NULL                                        \
    }

/** What the ways to exchange rows move in a product with op N. */
typedef struct {
    size_t      struct_size;               /**< set by the caller to sizeof(spmm_scale_info_t) */
    const char *partition;                 /**< that was made; static storage */
    int         nodes;                     /**< of the ranks */
    spmm_flow_t flat_within, flat_between; /**< every rank gets the rows that it needs from their
                                                  owners */
    spmm_flow_t node_between;              /**< each row once for a node that needs it, dealt out
                                                  over the ranks of both nodes */
} spmm_scale_info_t;

/** Part A for options->ranks ranks and count what they would exchange.  On contexts of one rank;
 *  memory and time grow with the entries of A, not with the ranks squared, but for one bit each.
 *  @param[in]  n     columns of B: bytes are those of n columns of the type of A
 *  @param[out] info  flows of one exchange
 *  @return SPMM_ERR_UNSUPPORTED on several ranks, or where this build lacks the partitioner */
SPMM_API spmm_status_t spmm_matrix_scale(spmm_matrix_t *A, int64_t n,
                                         const spmm_scale_options_t *options,
                                         spmm_scale_info_t          *info);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_DIST_SCALE_H */

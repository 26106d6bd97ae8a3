/* SPDX-License-Identifier: Apache-2.0 */
/** @file lanes.h  Over which ranks the rows of one node go to another. */
#ifndef SPMM_EXCHANGE_LEVELS_LANES_H
#define SPMM_EXCHANGE_LEVELS_LANES_H

#include "base/env.h"

/** The rows of this rank that other nodes need. */
typedef struct {
    int64_t  count;
    int32_t *node, *row;      /**< [count] for which node which local row; ascending, none twice */
    int32_t *sender, *getter; /**< [count] the ranks, of this node and of that one, over which it
                                    goes */
    int64_t *first;           /**< [nodes + 1] where the rows for a node begin */
} spmm_levels_lanes_t;

/** Fill sender and getter; the rest stands.  Between two nodes there are as many lanes, pairs of
 *  ranks, as the smaller has ranks: between nodes of equally many, ranks of equal place.  Each lane
 *  gets as many rows; a rank's own ones stay with it as far as that goes.  Collective, agreed. */
spmm_status_t spmmi_levels_fill_lanes(spmm_env_t *env, spmm_levels_lanes_t *lanes);

#endif /* SPMM_EXCHANGE_LEVELS_LANES_H */

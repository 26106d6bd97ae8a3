/* SPDX-License-Identifier: Apache-2.0 */
/** @file tally.h  What the counts of this folder share; nothing outside it includes it. */
#ifndef SPMM_PARTITION_SCALE_TALLY_H
#define SPMM_PARTITION_SCALE_TALLY_H

#include "partition/scale/scale.h"

/** A count under way. */
typedef struct {
    const spmm_scale_t *scale;
    spmm_scale_tally_t *tally; /**< [SPMM_WAYS] */
    uint64_t           *sends; /**< [2 * ranks^2 / 64] bit from * ranks + to: there is a message of
                                    rows of B, and behind these: of partial rows of C */
    bool                partials; /**< what is added are partial rows of C */
} spmm_scale_count_t;

/** @p rows go from one rank to another, in one message with all that do. */
void spmmi_scale_add(spmm_scale_count_t *count, int from, int to, int64_t rows);

/** @p rows go from one node to another, dealt out evenly over as many pairs of ranks as the smaller
 *  node has ranks: exchange/levels/lanes.c. */
void spmmi_scale_deal(spmm_scale_count_t *count, int node, int to, int64_t rows);

/** Of least covers; nodes: of pairs of nodes, else of pairs of ranks on different nodes. */
spmm_status_t spmmi_scale_covers(spmm_scale_count_t *count, bool nodes);

#endif /* SPMM_PARTITION_SCALE_TALLY_H */

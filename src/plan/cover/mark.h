/* SPDX-License-Identifier: Apache-2.0 */
/** @file mark.h  Covers of the entries of this rank; nothing outside this folder includes it. */
#ifndef SPMM_PLAN_COVER_MARK_H
#define SPMM_PLAN_COVER_MARK_H

#include "plan/cover/cover.h"

/** The entries of this rank that lie between two that exchange: on different nodes, on one node
 *  different ranks.  In the order in which they arrive. */
typedef struct {
    int64_t  n;
    int64_t *entry; /**< [n] which of those that arrive */
    int32_t *row;   /**< [n] of this rank */
    int32_t *owner; /**< [n] of the column */
} spmm_crossing_t;

/** Bytes in one exchange, without a cover and with one. */
typedef struct {
    double rows, both;
} spmm_cover_bytes_t;

/** The cover of pairs of ranks, or of pairs of nodes. */
typedef struct {
    const spmm_plan_t     *plan;
    const spmm_arrival_t  *in;
    const spmm_crossing_t *crossing;
    bool                   nodes;
    bool                  *partial; /**< [entries that arrive], owned */
    /** [ranks or nodes], owned, one piece of memory: what goes in and out as this rank knows it,
     *  which has covered all pairs of its own, or some of those of its node. */
    spmm_cover_bytes_t *in_bytes, *out_bytes;
} spmm_cover_marks_t;

/** Local; free in either case. */
spmm_status_t spmmi_crossing_list(const spmm_plan_t *plan, const spmm_arrival_t *in,
                                  spmm_crossing_t *crossing);
void          spmmi_crossing_free(spmm_crossing_t *crossing);

/** Fill partial, in_bytes and out_bytes.  Collective, agreed; free in either case. */
spmm_status_t spmmi_cover_mark(spmm_cover_marks_t *marks);
void          spmmi_cover_marks_free(spmm_cover_marks_t *marks);

#endif /* SPMM_PLAN_COVER_MARK_H */

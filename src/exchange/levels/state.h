/* SPDX-License-Identifier: Apache-2.0 */
/** @file state.h  An exchange in two levels behind its handle; nothing outside this folder includes
 *  it. */
#ifndef SPMM_EXCHANGE_LEVELS_STATE_H
#define SPMM_EXCHANGE_LEVELS_STATE_H

#include "exchange/levels/levels.h"

/** The three exchanges. */
enum { SPMM_COLLECT, SPMM_CROSS, SPMM_DEAL, SPMM_LEVELS_PARTS };

/** Copies between parts of the room: lists of places, on the device. */
typedef struct {
    int32_t *row; /**< owned; NULL: none */
    int64_t  count;
} spmm_levels_list_t;

/** Sums of op T: row[u] of the room gets the rows pos[ptr[u]] .. pos[ptr[u + 1] - 1]. */
typedef struct {
    int32_t *row, *ptr, *pos; /**< device, owned */
    int64_t  n_rows;
} spmm_levels_sums_t;

struct spmm_levels {
    spmm_transport_shared_t    *shared;    /**< borrowed */
    const spmm_transport_ops_t *transport; /**< borrowed */
    spmm_direction_t            direction;
    spmm_type_t                 type;
    size_t                      row_bytes;
    int64_t                     n_halo;
    spmm_levels_lists_t         lists;
    spmm_halo_t                 flat; /**< sent rows of the halo plan, taken by take_mirror() */
    void                       *state[SPMM_LEVELS_PARTS];
    void                       *room; /**< device [lists.room rows x row_bytes], owned */

    /* Forward: TO_CROSS, TO_DEAL, halo rows.  Back: DEALT and OWN of the halo rows, the first
     * addend of each CROSSED, mirror rows of SELF, DIRECT, and COLLECTED of the room. */
    spmm_levels_list_t to_cross, to_deal, to_halo, dealt, own, crossed, self, direct, collected;
    spmm_levels_sums_t sums;
    bool               failed; /**< a part failed: no exchange may follow */
};

static inline const spmm_halo_t *spmmi_levels_part(const spmm_levels_t *l, int part)
{
    return part == SPMM_COLLECT ? &l->lists.collect
           : part == SPMM_CROSS ? &l->lists.cross
                                : &l->lists.deal;
}

#endif /* SPMM_EXCHANGE_LEVELS_STATE_H */

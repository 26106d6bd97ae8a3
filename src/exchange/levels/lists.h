/* SPDX-License-Identifier: Apache-2.0 */
/** @file lists.h
 *  Which rows take which way in an exchange of two levels.  With op N (op T runs all backwards):
 *
 *      collect  within nodes: owners of rows -> the ranks that send them across
 *      cross    between nodes: every row once for a node that needs it; the rows from one node to
 *               another are dealt out evenly over pairs of their ranks
 *      deal     within nodes: the ranks that got or own rows -> those that need them
 */
#ifndef SPMM_EXCHANGE_LEVELS_LISTS_H
#define SPMM_EXCHANGE_LEVELS_LISTS_H

#include "exchange/halo.h"

/** What is on its way on a rank lies in one room, whose parts stand in this order, in rows. */
typedef enum {
    SPMM_ROOM_SELF,      /**< own rows that this rank sends across, in the order of to_cross */
    SPMM_ROOM_DIRECT,    /**< own rows for ranks of the node, in the order of to_deal */
    SPMM_ROOM_COLLECTED, /**< received by collect */
    SPMM_ROOM_CROSSED,   /**< received by cross */
    SPMM_ROOM_DEALT,     /**< received by deal */
    SPMM_ROOM_TO_CROSS,  /**< sent by cross */
    SPMM_ROOM_TO_DEAL,   /**< sent by deal */
    SPMM_ROOM_OWN,       /**< op T: this rank's sums of rows that it got by cross itself */
    SPMM_ROOM_PARTS
} spmm_room_part_t;

typedef struct {
    spmm_halo_t collect, cross, deal;         /**< without send_row: rows lie packed */
    int64_t     room[SPMM_ROOM_PARTS + 1];    /**< first row of each part; [PARTS]: rows in all */
    int32_t    *to_cross, *to_deal, *to_halo; /**< [rows of the part, halo rows] the place in the
                                                    room that each row is copied from */
    int64_t     n_packed;                     /**< rows that the plan packs */
    int32_t    *packed; /**< [n_packed] local rows: those to collect, then SELF, then DIRECT */
} spmm_levels_lists_t;

static inline int64_t spmmi_room_rows(const spmm_levels_lists_t *lists, spmm_room_part_t part)
{
    return lists->room[part + 1] - lists->room[part];
}

/** From the halo plan @p flat, each rank's rows to each rank.  Collective, agreed.
 *  @param[in] offset [size + 1] owners of the indices
 *  @param[in] need   [recv rows] index of each halo row, as the halo plan was made from */
spmm_status_t spmmi_levels_lists_create(spmm_env_t *env, const spmm_halo_t *flat,
                                        const int64_t *offset, const int64_t *need,
                                        spmm_levels_lists_t *lists);
void          spmmi_levels_lists_free(spmm_levels_lists_t *lists);

#endif /* SPMM_EXCHANGE_LEVELS_LISTS_H */

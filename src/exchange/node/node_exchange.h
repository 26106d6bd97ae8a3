/* SPDX-License-Identifier: Apache-2.0 */
/** @file node_exchange.h
 *  A node-aware exchange: a row crosses the network once for each node that needs it, and the rows
 *  are spread over the ranks of both nodes (node_lists.c).  It is made of three exchanges of one
 *  transport and of copies between them.  Op T adds the sums for a row on the node that sends them.
 *  SHIRO (arXiv 2512.20178) section 4 does the same on GPUs.
 */
#ifndef SPMM_NODE_EXCHANGE_H
#define SPMM_NODE_EXCHANGE_H

#include "exchange/halo.h"
#include "exchange/transport.h"

/* The ways of rows with op N; op T runs all backwards:
 *
 *     collect  within nodes: owners of rows -> the ranks that send them across
 *     cross    between nodes: every row once for a node that needs it; pairs of ranks of the two
 *              nodes share the rows evenly
 *     deal     within nodes: the ranks that got or own rows -> those that need them */

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
    int32_t    *to_cross, *to_deal, *to_halo; /**< [rows of the part, ghost rows] the place in the
                                                   room that each row is copied from */
    int64_t     n_packed;                     /**< rows that the plan packs */
    int32_t    *packed; /**< [n_packed] local rows: those to collect, then SELF, then DIRECT */
} spmm_node_exchange_lists_t;

static inline int64_t spmmi_room_rows(const spmm_node_exchange_lists_t *lists,
                                      spmm_room_part_t                  part)
{
    return lists->room[part + 1] - lists->room[part];
}

/** From the halo plan @p flat, each rank's rows to each rank.  Collective, agreed.
 *  @param[in] offset [size + 1] owners of the indices
 *  @param[in] need   [recv rows] index of each ghost row, as the halo plan was made from */
spmm_status_t spmmi_node_exchange_lists_create(spmm_env_t *env, const spmm_halo_t *flat,
                                               const int64_t *offset, const int64_t *need,
                                               spmm_node_exchange_lists_t *lists);
void          spmmi_node_exchange_lists_free(spmm_node_exchange_lists_t *lists);

typedef struct spmm_node_exchange spmm_node_exchange_t;

/** What a node-aware exchange is made for. */
typedef struct {
    const spmm_halo_t *flat;   /**< who sends which rows to whom; borrowed by create() alone */
    const int64_t     *offset; /**< [size + 1] owners of the indices, likewise */
    const int64_t     *need;   /**< [recv rows] index of each ghost row, likewise */
    spmm_direction_t   direction;
    spmm_type_t        type;      /**< of what rows hold; op T adds it */
    size_t             row_bytes; /**< of the longest rows */
} spmm_node_exchange_need_t;

/** Can a node-aware exchange be made of @p transport?  Local, the same on all ranks.
 *  @param[out] why  the end of a sentence that starts with "exchange node" */
bool spmmi_node_exchange_supports(const spmm_env_t *env, const spmm_transport_ops_t *transport,
                                  char why[SPMM_WHY]);

/** Find the lists, which cost() and flow() tell of.  Collective, agreed. */
spmm_status_t spmmi_node_exchange_create(spmm_transport_shared_t         *shared,
                                         const spmm_transport_ops_t      *transport,
                                         const spmm_node_exchange_need_t *need,
                                         spmm_node_exchange_t           **made);
/** Make what exchanges take.  Collective, agreed. */
spmm_status_t spmmi_node_exchange_open(spmm_node_exchange_t *e);
/** NULL-safe, collective; before the rows of its exchanges are freed. */
void spmmi_node_exchange_destroy(spmm_node_exchange_t *e);

/** Predicted seconds of one exchange: its parts one after the other, with the copies. */
double spmmi_node_exchange_cost(const spmm_node_exchange_t *e, size_t row_bytes);
/** As spmmi_halo_flow(). */
void spmmi_node_exchange_flow(const spmm_node_exchange_t *e, spmm_halo_flow_t flow[SPMM_WAYS]);
/** rows[p] += rows that come from rank p.  @p rows [size] */
void spmmi_node_exchange_trace(const spmm_node_exchange_t *e, int64_t *rows);
/** Does this rank take no part? */
bool spmmi_node_exchange_is_alone(const spmm_node_exchange_t *e);
/** Give @p halo the send rows of this exchange in place of its own: the rows that are packed, each
 *  once for a node, in one group. */
spmm_status_t spmmi_node_exchange_take_send_rows(spmm_node_exchange_t *e, spmm_halo_t *halo);
/** The send rows that take_send_rows() took from @p halo: those that each rank needs, whatever way
 *  they take.  It has no received rows. */
const spmm_halo_t *spmmi_node_exchange_flat(const spmm_node_exchange_t *e);

/** As begin() and end() of a transport, in need.direction alone.  Rows of B are packed in
 *  exchange->send_rows, in the order of take_send_rows().  begin() also waits for what comes from
 *  the node.  Where a part fails the ranks that wait for more are told, if the transport sees
 *  steps. */
spmm_status_t spmmi_node_exchange_begin(spmm_node_exchange_t *e, const spmm_exchange_t *exchange,
                                        spmm_stream_t stream);
spmm_status_t spmmi_node_exchange_end(spmm_node_exchange_t *e, const spmm_exchange_t *exchange,
                                      spmm_stream_t stream);
void spmmi_node_exchange_bytes(const spmm_node_exchange_t *e, size_t *host, size_t *device);

#endif /* SPMM_NODE_EXCHANGE_H */

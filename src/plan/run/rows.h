/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.h  All that moves rows between ranks in an execute. */
#ifndef SPMM_PLAN_ROWS_H
#define SPMM_PLAN_ROWS_H

#include "exchange/halo.h"
#include "exchange/node/node_exchange.h"
#include "exchange/transport.h"
#include "operands.h"
#include "spmm_dist/plan.h"

/** Columns [first, first + n) of B and C, which travel together. */
typedef struct {
    int     index; /**< counted from 0: which phase events are theirs */
    int64_t first, n;
    void   *halo;  /**< [recv rows x n] device, packed: target of op N, source of op T */
    bool    waits; /**< op N: the off-diagonal block waits itself for these rows; event EXCHANGED is
                        not recorded, and its stream does not wait for it */
} spmm_slice_t;

/** Rows of C that peers send partial sums for, grouped by row: device memory. */
typedef struct {
    int64_t  n_rows;
    int32_t *row, *ptr, *pos;
} spmm_reduce_list_t;

/** The part of a plan that moves rows.  Owned by the plan; halo is made with the blocks, the
 *  transport before any format, rows with the formats that need them. */
typedef struct {
    spmm_halo_t halo;  /**< the halo plan: which rows travel, from and to whom; of a node-aware
                            exchange the rows to send are in one group */
    bool        alone; /**< no row travels from or to this rank: no entry is off-diagonal */
    const spmm_transport_ops_t *transport; /**< borrowed */
    void                       *state;     /**< of the transport, owned; NULL if node is not */
    spmm_node_exchange_t       *node;      /**< node-aware, owned; NULL: the exchange is flat */

    uint32_t begun;   /**< exchanges, and captures launched, which have some */
    uint32_t skipped; /**< executes in which nothing was begun: refused, or failed before */
    uint32_t agreed;  /**< skipped, as all ranks had it when they last compared it */

    spmm_stream_t      comm_stream;
    bool               in_line;    /**< products are on the user stream alone, unless captured */
    bool               waits;      /**< off-diagonal blocks wait themselves, where streams let */
    bool               in_place;   /**< the transport packs rows of B where they lie */
    int32_t           *send_row;   /**< halo.send_row, on GPUs a device copy: op N packs these */
    spmm_reduce_list_t reduce;     /**< op T adds these */
    void              *send_rows;  /**< device [send rows x n], packed */
    void              *rounded;    /**< device [send rows and recv rows x n], packed, of the type in
                                        which they travel; NULL: as they are */
    void              *ghost_rows; /**< device [recv rows x n], packed; NULL with a merged block */
    void              *peer_rows;  /**< the one of them that is the transport's; NULL: none */
} spmm_plan_exchange_t;

/** Cut @p n columns into slices, as many as the plan has chosen at most.  Widths are equal and
 *  multiples of 32 where @p n allows it, else equal, else multiples of 8 but for the last; one
 *  slice where widths would differ and the plan captures graphs.
 *  @return how many */
int spmmi_plan_cut(const spmm_plan_t *plan, int64_t n, spmm_slice_t slice[SPMM_MOST_CHUNKS]);

/** Event START on @p stream; an exchange on another one, @p way, follows it. */
spmm_status_t spmmi_plan_start(spmm_plan_t *plan, spmm_stream_t stream, spmm_stream_t way);
/** Op N: start to bring the ghost rows of a slice of x->B to slice->halo; op T: start to send the
 *  rows at slice->halo back.  In the order of @p stream; the rows of B, and for op T those of the
 *  slice, must be there.  Nothing is under way when it fails. */
spmm_status_t spmmi_plan_begin_rows(spmm_plan_t *plan, const spmm_operands_t *x,
                                    const spmm_slice_t *slice, spmm_stream_t stream);
/** Finish it, before the next one begins: what follows event EXCHANGED of the slice sees the
 *  rows. */
spmm_status_t spmmi_plan_end_rows(spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice, spmm_stream_t stream);

#endif /* SPMM_PLAN_ROWS_H */

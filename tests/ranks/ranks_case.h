/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranks_case.h  Exchanges of nccl-push between many ranks of one process: the halo plans and
 *  the arguments of the kernels are those of the library, NCCL's windows are plain memory. */
#ifndef SPMM_RANKS_CASE_H
#define SPMM_RANKS_CASE_H

#include "device_test.h"
#include "exchange/transport.h"
#include "ranks_machine.h"

enum { RANKS_MOST = SPMM_PEER_RANKS, RANKS_NONE = -1 };

/** Who sends how many rows to whom in direction FORWARD; RANKS_NONE: they are no peers. */
typedef struct {
    int     n_ranks;
    int64_t rows[RANKS_MOST][RANKS_MOST];
} ranks_graph_t;

typedef struct {
    spmm_halo_t halo;
    int64_t  first_send_row[RANKS_MOST], first_halo[RANKS_MOST]; /**< as in transport_nccl_push.c */
    int64_t  n_own;                                              /**< rows of B */
    char    *window, *source, *target;                           /**< device, as is all below */
    char    *versions, *results;                                 /**< [batch] of them */
    int32_t *send_row;                                           /**< local row of each send row */
    void    *state;
    uint32_t           *failed;
    spmm_peer_report_t *report; /**< pinned */
} ranks_rank_t;

typedef struct {
    const ranks_machine_t *machine;
    const spmm_device_t   *device;
    bool ahead;  /**< all rounds go forward, in units of 8 bytes, low-latency where they can be */
    bool shared; /**< few blocks, and no rows quick, in most rounds: blocks send
                      tiles of many readers */
    uint64_t           seed;
    int                n_ranks, batch;
    int64_t            most_bytes; /**< of the rows of a rank in a round */
    int64_t            most_rows;  /**< that a rank sends or receives */
    size_t             max_row_bytes;
    size_t             source_bytes, target_bytes; /**< of one round, on any rank */
    size_t             head;                       /**< bytes of a window before its rows */
    spmm_push_limits_t limits;                     /**< of one round */
    ranks_rank_t       rank[RANKS_MOST];
} ranks_case_t;

/** One exchange. */
typedef struct {
    uint64_t         number;
    spmm_direction_t direction;
    size_t           row_bytes;
} ranks_round_t;

/** How one rank takes part in it. */
typedef struct {
    bool   listed;                         /**< rows of B by a list, ld bytes apart, else packed */
    bool   elsewhere;                      /**< the target lies outside the window */
    size_t ld, source_shift, target_shift; /**< bytes */
} ranks_place_t;

/** Memory for ranks that share rows as @p halo says.
 *  @param[in] number  of the exchange before the first one
 *  @param[in] batch   rounds that run before any is looked at */
void ranks_case_open(ranks_case_t *c, const ranks_machine_t *machine, const spmm_device_t *device,
                     const ranks_graph_t *halo, int64_t most_bytes, uint32_t number, int batch);
void ranks_case_close(ranks_case_t *c);

ranks_round_t ranks_round(const ranks_case_t *c, uint64_t number);
ranks_place_t ranks_place(const ranks_case_t *c, const ranks_round_t *round, int rank);

/** A number of a round, of a rank in it, of one of its choices. */
uint64_t ranks_draw(const ranks_case_t *c, uint64_t round, int rank, int what);

/** Where the target of a rank lies. */
char *ranks_target(const ranks_case_t *c, const ranks_place_t *place, int rank);

/** Run @p n_rounds rounds and compare all rows of each. */
void ranks_case_run(ranks_case_t *c, int n_rounds);

/** Run one round in which rank 0 has rows of @p row_bytes and @p step in mind, its peers longer
 *  rows and step 0, or the reverse: every rank says what came and what it expected.  Nothing may
 *  follow.
 *  @param[in] low_latency_bytes  as in spmm_push_limits_t */
void ranks_case_differ(ranks_case_t *c, int low_latency_bytes, size_t row_bytes, uint32_t step,
                       bool reverse);

#endif /* SPMM_RANKS_CASE_H */

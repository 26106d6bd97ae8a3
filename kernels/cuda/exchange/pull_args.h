/* SPDX-License-Identifier: Apache-2.0 */
/** @file pull_args.h
 *  The exchange that reads rows out of the memory of peers, as its kernel sees it.
 *
 *  Every rank has one slot in the memory of each other rank and writes there, for each exchange,
 *  where its rows lie and, later, that it has read those of the slot's owner.  Values never need a
 *  reset: exchanges are numbered.
 */
#ifndef SPMM_CUDA_PULL_ARGS_H
#define SPMM_CUDA_PULL_ARGS_H

#include <stdint.h>

enum {
    SPMM_PULL_PEERS   = 16,               /**< most ranks */
    SPMM_PULL_SHARED  = 64,               /**< most buffers that are homes of B */
    SPMM_PULL_WORDS   = 4,                /**< of a slot: window, offset low and high, ld */
    SPMM_PULL_OWN     = SPMM_PULL_SHARED, /**< window that the slots themselves lie in */
    SPMM_PULL_ALIGN   = 4096,             /**< bytes that rows of a window begin at a multiple of */
    SPMM_PULL_THREADS = 256
};

/** What one rank writes into the memory of another.  Each word is whole by itself: the high half
 *  numbers the exchange, the low half is the value. */
typedef struct {
    uint64_t word[SPMM_PULL_WORDS];
    uint64_t done; /**< number of the exchange up to which the writer has read the rows */
    uint64_t pad[3];
} spmm_pull_slot_t;

/** Device memory of one plan. */
typedef struct {
    uint32_t number;   /**< of the last finished exchange */
    uint32_t finished; /**< blocks of the one at work */
} spmm_pull_state_t;

/** Pinned host memory of a context: why an exchange gave up. */
typedef struct {
    uint32_t failed; /**< written last */
    int32_t  peer;   /**< that did not come */
} spmm_pull_report_t;

/** What a kernel needs that waits for peers. */
typedef struct {
    uint32_t           *failed;     /**< device: set once any exchange of the context gave up */
    spmm_pull_report_t *report;     /**< pinned host memory */
    uint64_t            timeout_ns; /**< 0: none */
} spmm_peer_watch_t;

/** Rows that a rank has for this one. */
typedef struct {
    char   *window; /**< its slots, as this rank sees them; its packed rows lie behind them */
    int64_t begin;  /**< first target row */
    int64_t count;  /**< rows */
    int64_t first;  /**< first of them among its packed rows */
    int32_t rank;
    int32_t first_block, n_blocks; /**< thread blocks that fetch them, at least 1 */
} spmm_pull_source_t;

/** One exchange: fetch rows from the ranks of `from` while those of `to` read ours. */
typedef struct {
    spmm_pull_source_t from[SPMM_PULL_PEERS];
    char              *to[SPMM_PULL_PEERS]; /**< slots of the readers, as this rank sees them */
    int32_t            to_rank[SPMM_PULL_PEERS];
    int32_t            n_from, n_to;
    int32_t            rank;
    uint32_t           window, ld; /**< where our rows lie; ld in bytes, 0: packed for each peer */
    uint64_t           offset;     /**< bytes from the start of the window */
    char              *own;        /**< our slots */
    char *const   *shared; /**< device [SPMM_PULL_SHARED x SPMM_PULL_PEERS]: windows of all ranks */
    const int32_t *row;    /**< device [target rows]: their numbers at the owner; NULL: all pack */
    char          *target; /**< [sum of count] rows of row_bytes */
    int64_t        row_bytes; /**< a multiple of 2 */
    spmm_pull_state_t *state;
    spmm_peer_watch_t  watch;
    int32_t            n_blocks; /**< of all sources together, at least 1 */
} spmm_pull_args_t;

#endif /* SPMM_CUDA_PULL_ARGS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file push_args.h
 *  The exchange that writes rows into the memory of peers, as its kernel sees it.
 *
 *  A window of a rank holds one slot for each rank, then room for low-latency rows, then the rows
 *  of large exchanges.  Exchanges are numbered, so that nothing is ever reset.
 */
#ifndef SPMM_CUDA_PUSH_ARGS_H
#define SPMM_CUDA_PUSH_ARGS_H

#include "cuda/exchange/peer_args.h"

enum {
    SPMM_PUSH_LOW_LATENCY = 256 * 1024, /**< most bytes from rank to rank that travel in words */
    SPMM_PUSH_BLOCKS      = 128,        /**< most thread blocks that send other rows */
    SPMM_PUSH_TILE        = 4096,       /**< bytes of other rows that a warp sends at a time */
    SPMM_PUSH_UNIT        = 8,          /**< bytes of a row in two such words */
    SPMM_PUSH_THREADS     = 256,
    /** Exchanges whose announcements are kept: a sender is two ahead of its reader at most, also
     *  where numbers begin anew after 2^32 - 2. */
    SPMM_PUSH_KEPT = 8
};

/** What one rank writes into the memory of another, beside rows. */
typedef struct {
    /** "I have begun exchange NUMBER, and take its rows at OFFSET of my window": low and high half.
     *  All rows of earlier exchanges have been used then. */
    uint64_t ready[2];
    uint64_t pad[6];
    /** by exchange, modulo: "my rows have ROW_BYTES (modulo 2^32), and this is STEP to me" */
    uint64_t announced[SPMM_PUSH_KEPT][2];
    /** by block: "VALUE tiles that I have sent you in exchange NUMBER are there"; the reader
     *  knows how many there are in all */
    uint64_t arrived[SPMM_PUSH_BLOCKS];
} spmm_push_slot_t;

/** Device memory of one plan, zeroed at first. */
typedef struct {
    uint32_t number;  /**< of the last exchange that has begun in all its blocks */
    uint32_t started; /**< blocks of the one that begins */
    /** Tiles for each reader that warps have asked for after their first ones, by the parity of the
     *  exchange.  Zeroed by the exchange before. */
    uint32_t taken[2][SPMM_PEER_RANKS];
    uint32_t ended; /**< blocks of the one that ends, where it says that it is over */
    uint32_t over;  /**< which was the last that has said so: spmm_push_args_t.over */
} spmm_push_state_t;

/** A rank that takes rows of this one. */
typedef struct {
    int64_t begin; /**< the first of them, in the list of rows or among the packed ones */
    int64_t count;
    int64_t first; /**< row of its target that is the first */
    int32_t rank;
    /** thread blocks that send them, at least 1; of other than low-latency rows until these are
     *  done: then they help those of other readers */
    int32_t first_block, n_blocks;
    int32_t first_word; /**< of these blocks: where in slots they tell; not if low-latency */
    int32_t is_low_latency;
} spmm_push_reader_t;

/** A rank that this one gets rows of. */
typedef struct {
    int64_t begin, count; /**< target rows */
    int32_t rank;
    int32_t first_block, n_blocks; /**< that unpack low-latency rows; 0 blocks: other rows come */
} spmm_push_owner_t;

/** Block 0 tells the others and waits, the next ones send, those from first_unpacker on unpack.
 *  Whoever sends waits for blocks 0 alone, so that exchanges which share the GPU with others all
 *  come to an end. */
typedef struct {
    spmm_push_reader_t to[SPMM_PEER_RANKS];
    spmm_push_owner_t  from[SPMM_PEER_RANKS];
    char              *window[SPMM_PEER_RANKS]; /**< of each rank that shares rows with this one, in
                                                     either direction, as this one
                                                     sees it; else NULL */
    int32_t            n_to, n_from;
    int32_t            rank;
    int32_t            first_unpacker, n_blocks;
    char              *own;                /**< our window */
    int64_t            low_latency_offset; /**< of the room for low-latency rows, 2 x ranks x 2 x
                                                SPMM_PUSH_LOW_LATENCY bytes */
    int32_t            n_ranks;
    /** rows of large exchanges are to come to our window there; low-latency rows to target */
    uint64_t       offset;
    char          *target;
    const char    *source;     /**< rows, ld bytes apart: those of the list, or packed */
    int64_t        ld;         /**< bytes */
    const int32_t *row;        /**< device [sum of count of to]; NULL: packed */
    int64_t        row_bytes;  /**< a multiple of 2 */
    uint32_t       step;       /**< as in spmm_exchange_t */
    uint32_t       over;       /**< what state->over becomes once the rows of this rank have
                                    arrived, and those that others take been read; also where the
                                    exchange gives up */
    int32_t        tells_over; /**< else it stays */

    spmm_push_state_t *state;
    spmm_peer_watch_t  watch;
} spmm_push_args_t;

#endif /* SPMM_CUDA_PUSH_ARGS_H */

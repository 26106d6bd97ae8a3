/* SPDX-License-Identifier: Apache-2.0 */
/** @file push.cuh
 *  The part of a thread block in one exchange: every rank picks the rows that others need out of
 *  its own memory and writes them into theirs over NVLink.
 *
 *  Few bytes for a rank are quick (as in NCCL's LL protocol): each 4 bytes travel in a word with
 *  the number of the exchange, so that they need one trip, to a place that the reader unpacks
 *  them from. There are two such places in turn: that of exchange e is free once the reader has
 *  begun e - 1. More bytes go straight to where the reader wants them, once it has said where,
 *  and a word after them says that they are there (push_tiles.cuh).
 *
 *  Each rank announces to its peers, as the exchange begins, which rows it is about. Who gets
 *  others, or would send others to a reader's buffer, gives up; what the quick ones of them have
 *  overwritten by then is the target alone.
 *
 *  Nothing of the sender is read once its kernel has ended: it may change then.
 */
#ifndef SPMM_PUSH_CUH
#define SPMM_PUSH_CUH

#include "cuda/exchange/push_tiles.cuh"

namespace spmmi
{
namespace
{

constexpr int kUnits = 8; /* quick units of a thread on their way at a time */

/* Where in the window of a reader quick rows of rank @p rank lie: two words for each unit. */
__device__ __forceinline__ uint64_t *quick_of(const spmm_push_args_t &a, char *window, int rank,
                                              uint32_t number)
{
    const int64_t place = int64_t(number % 2) * a.n_ranks + rank;

    return (uint64_t *)(window + a.quick_offset + place * (2 * SPMM_PUSH_QUICK));
}

/* Wait until all rows of a peer have arrived.  Whole warps. */
__device__ void await_arrival(const spmm_push_args_t &a, const spmm_push_owner_t &from,
                              uint32_t number)
{
    uint64_t      *word  = slot_of(a.own, from.rank)->arrived + threadIdx.x % kWarp;
    const uint32_t tiles = tiles_of(from.count, a.row_bytes);
    uint64_t       seen[SPMM_PUSH_BLOCKS / kWarp];
    Patience       patience;
    bool           all, ok = true;

    do {
        uint32_t sum = 0;

#pragma unroll
        for (int k = 0; k < SPMM_PUSH_BLOCKS / kWarp; k++) {
            seen[k] = load_word(word + k * kWarp);
        }
#pragma unroll
        for (int k = 0; k < SPMM_PUSH_BLOCKS / kWarp; k++) {
            sum += uint32_t(seen[k] >> 32) == number ? uint32_t(seen[k]) : 0;
        }
        all = __reduce_add_sync(~0u, sum) == tiles;
        ok  = all || __all_sync(~0u, patience.go_on(a.watch, from.rank));
    } while (!all && ok);
    /* Words of blocks that sent in earlier exchanges alone would count again when numbers begin
     * anew.  Nobody writes here before this rank says that the next exchange has begun. */
#pragma unroll
    for (int k = 0; k < SPMM_PUSH_BLOCKS / kWarp; k++) {
        if (all && seen[k] != 0 && uint32_t(seen[k] >> 32) != number) {
            word[k * kWarp] = 0;
        }
    }
    fence_system(); /* the words before the rows */
}

/* Has the owner of rows announced those that this rank expects?  Whole warps. */
__device__ bool is_announced(const spmm_push_args_t &a, int32_t owner, uint32_t number)
{
    const uint64_t *rows = announced_of(a.own, owner, number);
    uint32_t        value[2];

    return __all_sync(~0u, await(a.watch, {rows, rows + 1}, number, owner, value) &&
                               expect(a, owner, {value[0], value[1]}, number));
}

/* Tell all ranks that this exchange has begun here and which rows it is about, and wait for the
 * same of owners, and for the rows of large ones. */
__device__ void direct(const spmm_push_args_t &a, uint32_t number)
{
    const int t = int(threadIdx.x);

    if (t < SPMM_PEER_RANKS) { /* nobody counts there before the next exchange */
        a.state->taken[(number + 1) % 2][t] = 0;
    }
    if (t < SPMM_PEER_RANKS && a.window[t] != nullptr) {
        tell(a, t, number);
    }
    __syncwarp();
    for (int p = t / kWarp; p < a.n_from; p += SPMM_PUSH_THREADS / kWarp) {
        if (a.from[p].count > 0 && is_announced(a, a.from[p].rank, number) &&
            a.from[p].n_blocks == 0) {
            await_arrival(a, a.from[p], number);
        }
    }
}

/* Units [first, last) of one of the blocks that share the quick rows of a pair of ranks. */
struct Units {
    int32_t first, last;

    __device__ __forceinline__ Units(int64_t count, int64_t row_bytes, const Part &part)
    {
        const int32_t all = int32_t(count * row_bytes / SPMM_PUSH_UNIT);

        first = all * part.index / part.count;
        last  = all * (part.index + 1) / part.count;
    }
};

/* 8 bytes at an address that is a multiple of @p align. */
__device__ __forceinline__ uint2 load_unit(const char *from, uint64_t align)
{
    if (align % 8 == 0) {
        return __ldcg((const uint2 *)from);
    }
    if (align % 4 == 0) {
        return make_uint2(__ldcg((const unsigned *)from), __ldcg((const unsigned *)from + 1));
    }
    unsigned part[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
        part[k] = __ldcg((const unsigned short *)from + k);
    }
    return make_uint2(part[0] | part[1] << 16, part[2] | part[3] << 16);
}

__device__ __forceinline__ void store_unit(char *to, uint2 unit, uint64_t align)
{
    if (align % 8 == 0) {
        *(uint2 *)to = unit;
    } else if (align % 4 == 0) {
        ((unsigned *)to)[0] = unit.x;
        ((unsigned *)to)[1] = unit.y;
    } else {
        unsigned short *half = (unsigned short *)to;

        half[0] = (unsigned short)unit.x;
        half[1] = (unsigned short)(unit.x >> 16);
        half[2] = (unsigned short)unit.y;
        half[3] = (unsigned short)(unit.y >> 16);
    }
}

/* Quick rows from a peer to the target. */
__device__ void unpack(const spmm_push_args_t &a, const spmm_push_owner_t &from, const Part &part,
                       uint32_t number)
{
    const Units     units(from.count, a.row_bytes, part);
    const uint64_t *word   = quick_of(a, a.own, from.rank, number);
    char           *target = a.target + from.begin * a.row_bytes;
    Patience        patience;

    for (int u = units.first + int(threadIdx.x); u < units.last; u += kUnits * SPMM_PUSH_THREADS) {
        uint64_t low[kUnits], high[kUnits];
        bool     all;

        do {
            all = true;
#pragma unroll
            for (int k = 0; k < kUnits; k++) {
                const int at = u + k * SPMM_PUSH_THREADS;

                if (at < units.last) {
                    load_words(word + 2 * at, low[k], high[k]);
                }
            }
#pragma unroll
            for (int k = 0; k < kUnits; k++) {
                all = all &&
                      (u + k * SPMM_PUSH_THREADS >= units.last ||
                       (uint32_t(low[k] >> 32) == number && uint32_t(high[k] >> 32) == number));
            }
            if (!all && !patience.go_on(a.watch, from.rank)) {
                return;
            }
        } while (!all);
#pragma unroll
        for (int k = 0; k < kUnits; k++) {
            const int at = u + k * SPMM_PUSH_THREADS;

            if (at < units.last) {
                store_unit(target + int64_t(at) * SPMM_PUSH_UNIT,
                           make_uint2(uint32_t(low[k]), uint32_t(high[k])), uint64_t(target));
            }
        }
    }
}

/* Wait until the reader has begun the exchange before this one, or this one, where numbers begin
 * anew. */
__device__ bool await_room(const spmm_push_args_t &a, int32_t rank, uint32_t number)
{
    const uint64_t *word = slot_of(a.own, rank)->ready;
    Patience        patience;

    while (int32_t(uint32_t(load_word(word) >> 32) - (number - 1)) < 0) {
        if (!patience.go_on(a.watch, rank)) {
            return false;
        }
    }
    fence_system();
    return true;
}

__device__ void send_quick(const spmm_push_args_t &a, const spmm_push_reader_t &to,
                           const Part &part, uint32_t number)
{
    const Units    units(to.count, a.row_bytes, part);
    const uint32_t width = uint32_t(a.row_bytes / SPMM_PUSH_UNIT);
    const uint64_t align = uint64_t(a.source) | uint64_t(a.ld);
    uint64_t      *word  = quick_of(a, a.window[to.rank], a.rank, number);
    const int      t     = int(threadIdx.x);
    bool           ok    = t != kLearner || await_room(a, to.rank, number);

    for (int from = units.first; from < units.last; from += kUnits * SPMM_PUSH_THREADS) {
        uint2 unit[kUnits];

#pragma unroll
        for (int k = 0; k < kUnits; k++) {
            const int at = from + t + k * SPMM_PUSH_THREADS;

            if (at < units.last) {
                const uint32_t r   = uint32_t(at) / width;
                const int64_t  row = a.row == nullptr ? to.begin + r : __ldg(a.row + to.begin + r);

                unit[k] = load_unit(
                    a.source + row * a.ld + (uint32_t(at) - r * width) * SPMM_PUSH_UNIT, align);
            }
        }
        if (from == units.first && !__syncthreads_and(ok)) {
            return;
        }
#pragma unroll
        for (int k = 0; k < kUnits; k++) {
            const int at = from + t + k * SPMM_PUSH_THREADS;

            if (at < units.last) {
                store_words(word + 2 * at, word_of(number, unit[k].x), word_of(number, unit[k].y));
            }
        }
    }
}

/* All blocks have read the number once the last one comes here. */
__device__ void count_block(const spmm_push_args_t &a, uint32_t number)
{
    __threadfence();
    if (atomicAdd(&a.state->started, 1u) + 1 == uint32_t(a.n_blocks)) {
        a.state->started = 0;
        a.state->number  = number;
    }
}

/* The last block says that all have ended.  Of those that send, nothing is to be seen here but that
 * they have read their rows: stores on their way to other GPUs hold up nobody. */
__device__ void tell_over(const spmm_push_args_t &a, int b)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        if (b == 0 || b >= a.first_unpacker) {
            __threadfence();
        }
        if (atomicAdd(&a.state->ended, 1u) + 1 == uint32_t(a.n_blocks)) {
            __threadfence();
            a.state->ended = 0;
            release_count(&a.state->over, a.over);
        }
    }
}

/* The part of block @p b. */
__device__ __forceinline__ void exchange(const spmm_push_args_t &a, int b)
{
    const int      t      = int(threadIdx.x);
    const uint32_t number = number_after(*(volatile uint32_t *)&a.state->number);
    int            p      = 0;

    if (!__syncthreads_and(t != 0 || !has_failed(a.watch))) {
        return;
    }
    if (t == kCounter) {
        count_block(a, number);
    }
    if (b == 0) {
        direct(a, number);
    } else if (b >= a.first_unpacker) {
        while (b >= a.from[p].first_block + a.from[p].n_blocks) {
            p++;
        }
        unpack(a, a.from[p], {b - a.from[p].first_block, a.from[p].n_blocks}, number);
    } else {
        while (b >= a.to[p].first_block + a.to[p].n_blocks) {
            p++;
        }
        const spmm_push_reader_t &to = a.to[p];

        if (to.is_quick) {
            send_quick(a, to, {b - to.first_block, to.n_blocks}, number);
        } else {
            send(a, p, b - to.first_block, number);
        }
    }
}

/* Block @p b of a.n_blocks. */
__device__ __forceinline__ void push_block(const spmm_push_args_t &a, int b)
{
    exchange(a, b);
    if (a.tells_over != 0) {
        tell_over(a, b);
    }
}

} // namespace
} // namespace spmmi

#endif /* SPMM_PUSH_CUH */

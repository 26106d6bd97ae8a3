/* SPDX-License-Identifier: Apache-2.0 */
/** @file push_tiles.cuh
 *  How push.cu sends rows that are not quick.  They are cut into tiles, of which a warp sends
 *  one at a time: first those of one reader, shared out by the readers' shares of the rows, so
 *  that all links are busy from the start, then those of any that has some left, so that all
 *  links end at a time. Each block tells each reader how many tiles of it the block has sent.
 *
 *  Nobody waits for a reader that is late but the blocks that begin with it.
 */
#ifndef SPMM_PUSH_TILES_CUH
#define SPMM_PUSH_TILES_CUH

#include "cuda/exchange/peer.cuh"
#include "cuda/exchange/push_args.h"

namespace spmmi
{
namespace
{

/* The thread that waits for the reader, and the one that counts blocks: of different warps. */
constexpr int kLearner = 32, kCounter = 64;
static_assert(SPMM_PEER_RANKS <= 32 && SPMM_PUSH_THREADS > kCounter, "a warp tells all ranks");
constexpr int kWarps = SPMM_PUSH_THREADS / kWarp;

__device__ __forceinline__ spmm_push_slot_t *slot_of(char *window, int rank)
{
    return (spmm_push_slot_t *)window + rank;
}

/* What @p rank has announced of an exchange. */
__device__ __forceinline__ uint64_t *announced_of(char *window, int rank, uint32_t number)
{
    return slot_of(window, rank)->announced[number % SPMM_PUSH_KEPT];
}

__device__ __forceinline__ Rows rows_of(const spmm_push_args_t &a)
{
    return {uint32_t(a.row_bytes), a.step};
}

/* Tell a rank that this exchange has begun here, and which rows it is about. */
__device__ __forceinline__ void tell(const spmm_push_args_t &a, int rank, uint32_t number)
{
    fence_system(); /* what earlier kernels did with the rows, before the word about it */
    store_words(slot_of(a.window[rank], a.rank)->ready, word_of(number, uint32_t(a.offset)),
                word_of(number, uint32_t(a.offset >> 32)));
    store_words(announced_of(a.window[rank], a.rank, number),
                word_of(number, uint32_t(a.row_bytes)), word_of(number, a.step));
}

/* Has the peer the same rows in mind?  Else this rank gives up, but tells all others, since block 0
 * may come too late to do so. */
__device__ bool expect(const spmm_push_args_t &a, int32_t peer, const Rows &came, uint32_t number)
{
    if (came == rows_of(a)) {
        return true;
    }
    for (int r = 0; r < SPMM_PEER_RANKS; r++) {
        if (a.window[r] != nullptr) {
            tell(a, r, number);
        }
    }
    give_up(a.watch, peer, came, rows_of(a));
    return false;
}

__device__ __forceinline__ uint32_t tiles_of(int64_t count, int64_t row_bytes)
{
    return uint32_t((count * row_bytes + SPMM_PUSH_TILE - 1) / SPMM_PUSH_TILE);
}

/* Tiles of a reader that are dealt out beforehand: one to each warp that begins with it. */
__device__ __forceinline__ uint32_t dealt_of(const spmm_push_reader_t &to)
{
    return uint32_t(to.n_blocks) * kWarps;
}

/* Bring the rows of a tile closer while the reader is waited for. */
__device__ void touch_tile(const spmm_push_args_t &a, const spmm_push_reader_t &to, uint32_t tile)
{
    const int64_t at   = int64_t(tile) * SPMM_PUSH_TILE / a.row_bytes + threadIdx.x % kWarp;
    const int64_t last = (int64_t(tile) + 1) * SPMM_PUSH_TILE / a.row_bytes;

    if (at < to.count && at <= last) {
        const int64_t row = a.row == nullptr ? to.begin + at : __ldg(a.row + to.begin + at);

        prefetch(a.source + row * a.ld);
    }
}

/* Whole warps. */
template <typename U>
__device__ void send_units(const spmm_push_args_t &a, const spmm_push_reader_t &to,
                           const Source &source, uint32_t tile, char *target)
{
    const int64_t from = int64_t(tile) * SPMM_PUSH_TILE, all = to.count * a.row_bytes;
    const int64_t end = from + SPMM_PUSH_TILE < all ? from + SPMM_PUSH_TILE : all;

    gather_units<U>(source, a.row == nullptr ? nullptr : a.row + to.begin,
                    int32_t(a.row_bytes / int64_t(sizeof(U))), from / int64_t(sizeof(U)),
                    end / int64_t(sizeof(U)), int32_t(threadIdx.x) % kWarp, kWarp, target);
}

__device__ void send_tile(const spmm_push_args_t &a, const spmm_push_reader_t &to, uint32_t tile,
                          char *target)
{
    const Source source = {a.source + (a.row == nullptr ? to.begin * a.ld : 0), a.ld};

    switch (unit_of(source, a.row_bytes, target)) {
    case 16:
        send_units<uint4>(a, to, source, tile, target);
        break;
    case 8:
        send_units<uint2>(a, to, source, tile, target);
        break;
    case 4:
        send_units<unsigned>(a, to, source, tile, target);
        break;
    default:
        send_units<unsigned short>(a, to, source, tile, target);
        break;
    }
}

/* Where the rows of a reader go, by its two words. */
__device__ __forceinline__ char *target_of(const spmm_push_args_t &a, const spmm_push_reader_t &to,
                                           uint32_t low, uint32_t high)
{
    return a.window[to.rank] + (uint64_t(high) << 32 | low) + to.first * a.row_bytes;
}

/* The next tile of a reader with @p tiles tiles; one past the last where none is left.  Of a
 * whole warp the first lane gets it, the others one past the last. */
__device__ __forceinline__ uint32_t take_tile(const spmm_push_args_t &a, int p, uint32_t tiles,
                                              uint32_t number)
{
    const uint32_t dealt = dealt_of(a.to[p]);
    uint32_t       tile  = tiles;

    if (dealt < tiles && threadIdx.x % kWarp == 0) {
        tile = dealt + atomicAdd(&a.state->taken[number % 2][p], 1u);
    }
    return tile;
}

/* A reader that has tiles left and has said where they go; -1: none.  Whole warps, a lane looks at
 * each reader.  @p target: where, the same in all lanes */
__device__ int find_work(const spmm_push_args_t &a, int home, uint32_t number, char **target)
{
    const int lane = int(threadIdx.x) % kWarp, p = (home + 1 + lane) % a.n_to;
    uint64_t  at   = 0;
    bool      some = false;

    if (lane + 1 < a.n_to && a.to[p].is_quick == 0 &&
        dealt_of(a.to[p]) < tiles_of(a.to[p].count, a.row_bytes)) {
        const uint32_t taken = *(volatile uint32_t *)&a.state->taken[number % 2][p];

        if (taken + dealt_of(a.to[p]) < tiles_of(a.to[p].count, a.row_bytes)) {
            const uint64_t *word = slot_of(a.own, a.to[p].rank)->ready;
            const uint64_t *rows = announced_of(a.own, a.to[p].rank, number);
            const uint64_t  low = acquire_word(word), high = acquire_word(word + 1);

            some = uint32_t(low >> 32) == number && uint32_t(high >> 32) == number &&
                   load_word(rows) == word_of(number, uint32_t(a.row_bytes)) &&
                   load_word(rows + 1) == word_of(number, a.step);
            at = (uint64_t)target_of(a, a.to[p], uint32_t(low), uint32_t(high));
        }
    }
    const unsigned who = __ballot_sync(~0u, some);

    if (who == 0) {
        return -1;
    }
    __syncwarp(); /* what follows in all lanes comes after what the lane has acquired */
    *target = (char *)__shfl_sync(~0u, (unsigned long long)at, __ffs((int)who) - 1);
    return __shfl_sync(~0u, p, __ffs((int)who) - 1);
}

/* Block @p b of those that send to reader @p home first. */
__device__ void send(const spmm_push_args_t &a, int home, int b, uint32_t number)
{
    __shared__ char          *s_target;
    __shared__ uint32_t       s_sent[SPMM_PEER_RANKS];
    const spmm_push_reader_t &to    = a.to[home];
    const int                 t     = int(threadIdx.x);
    const uint32_t            first = uint32_t(b) * kWarps + uint32_t(t) / kWarp;
    bool                      ok    = true;

    if (t < SPMM_PEER_RANKS) {
        s_sent[t] = 0;
    }
    if (t == kLearner) {
        const uint64_t *ready = slot_of(a.own, to.rank)->ready;
        const uint64_t *rows  = announced_of(a.own, to.rank, number);
        uint32_t        value[4];

        ok = await(a.watch, {ready, ready + 1, rows, rows + 1}, number, to.rank, value) &&
             expect(a, to.rank, {value[2], value[3]}, number);
        fence_system(); /* what the reader did with earlier rows before these */
        s_target = target_of(a, to, value[0], value[1]);
    } else if (t / kWarp != kLearner / kWarp) {
        touch_tile(a, to, first);
    }
    if (!__syncthreads_and(ok)) {
        return;
    }
    char    *target = s_target;
    uint32_t tile   = first;

    for (int p = home; p >= 0;) {
        const uint32_t tiles = tiles_of(a.to[p].count, a.row_bytes);
        uint32_t       count = 0;

        while (tile < tiles) { /* the next one is asked for while this one is sent */
            const uint32_t next = take_tile(a, p, tiles, number);

            send_tile(a, a.to[p], tile, target);
            tile = __shfl_sync(~0u, next, 0);
            count++;
        }
        if (count > 0 && t % kWarp == 0) {
            atomicAdd(&s_sent[p], count);
        }
        p = find_work(a, p, number, &target);
        if (p >= 0) {
            tile =
                __shfl_sync(~0u, take_tile(a, p, tiles_of(a.to[p].count, a.row_bytes), number), 0);
        }
    }
    __syncthreads();
    if (t < a.n_to && s_sent[t] > 0) {
        fence_system(); /* the rows of the whole block before the word about them */
        store_word(&slot_of(a.window[a.to[t].rank], a.rank)->arrived[to.first_word + b], number,
                   s_sent[t]);
    }
}

} // namespace
} // namespace spmmi

#endif /* SPMM_PUSH_TILES_CUH */

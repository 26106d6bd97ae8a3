/* SPDX-License-Identifier: Apache-2.0 */
/** @file push.cuh
 *  The part of a thread block in one exchange: every rank picks the rows that others need out of
 *  its own memory and writes them into theirs over NVLink.
 *
 *  Few bytes for a rank take the low-latency path, as in NCCL's LL protocol: each 4 bytes travel in
 *  a word with the number of the exchange.  So they need one trip, to a place that the reader
 *  unpacks them from.  There are two such places in turn: that of exchange e is free once the
 *  reader has begun e - 1.  More bytes go straight to where the reader wants them, once it has said
 *  where, and a word after them says that they are there.
 *
 *  Each rank announces to its peers, as the exchange begins, which rows it is about.  Who gets
 *  others, or would send others to a reader's buffer, gives up.  Low-latency rows among these have
 *  overwritten nothing but the target by then.
 *
 *  Nothing of the sender is read once its kernel has ended: it may change then.
 */
#ifndef SPMM_PUSH_CUH
#define SPMM_PUSH_CUH

#include "cuda/dense/rows.cuh"
#include "cuda/dense/words.cuh"
#include "cuda/exchange/peer_args.h"
#include "cuda/exchange/push_args.h"

namespace spmmi
{

/* What kernels that talk to other GPUs share: waiting for words of peers, with a limit, and
 * picking rows. */

constexpr int kFlight = 8;  /* loads of a thread on their way at a time */
constexpr int kPatrol = 64; /* polls between two looks at the clock */

/* The number of the exchange after @p number: odd and even ones take turns, and 0, which words that
 * nobody has written yet carry, never comes again. */
__device__ __forceinline__ uint32_t number_after(uint32_t number)
{
    return number < UINT32_MAX - 1 ? number + 1 : 1;
}

__device__ __forceinline__ bool has_failed(const spmm_peer_watch_t &watch)
{
    return *(volatile uint32_t *)watch.failed != 0;
}

/* What two ranks of a pair agree on. */
struct Rows {
    uint32_t row_bytes = 0, step = 0;

    __device__ __forceinline__ bool operator==(const Rows &other) const
    {
        return row_bytes == other.row_bytes && step == other.step;
    }
};

/* The first to give up says why. */
static __device__ void give_up(const spmm_peer_watch_t &watch, int32_t peer, const Rows &came,
                               const Rows &expected)
{
    if (atomicCAS(watch.failed, 0u, 1u) == 0u) {
        volatile spmm_peer_report_t *report = watch.report;

        report->peer        = peer;
        report->came[0]     = came.row_bytes;
        report->came[1]     = came.step;
        report->expected[0] = expected.row_bytes;
        report->expected[1] = expected.step;
        fence_system();
        report->failed = 1;
    }
}

/** Counts polls and gives up when they take too long. */
struct Patience {
    uint64_t start = 0;
    int      polls = 0;

    /** False: the context has failed, or fails now, for want of @p peer. */
    __device__ __forceinline__ bool go_on(const spmm_peer_watch_t &watch, int32_t peer)
    {
        return ++polls % kPatrol != 0 || look(watch, peer);
    }

    __device__ __forceinline__ bool look(const spmm_peer_watch_t &watch, int32_t peer)
    {
        const uint64_t time = now_ns();

        if (has_failed(watch)) {
            return false;
        }
        start = start == 0 ? time : start;
        if (watch.timeout_ns != 0 && time - start > watch.timeout_ns) {
            give_up(watch, peer, Rows(), Rows());
            return false;
        }
        return true;
    }
};

/* Wait until all of kWords words carry @p number.  False: the context has failed. */
template <int kWords>
__device__ __forceinline__ bool await(const spmm_peer_watch_t &watch,
                                      const uint64_t *const (&word)[kWords], uint32_t number,
                                      int32_t peer, uint32_t (&value)[kWords])
{
    Patience patience;

    do {
        uint64_t seen[kWords];
        bool     all = true;

#pragma unroll
        for (int w = 0; w < kWords; w++) { /* all on their way at a time */
            seen[w] = load_word(word[w]);
        }
#pragma unroll
        for (int w = 0; w < kWords; w++) {
            all      = all && uint32_t(seen[w] >> 32) == number;
            value[w] = uint32_t(seen[w]);
        }
        if (all) {
            return true;
        }
    } while (patience.go_on(watch, peer));
    return false;
}

/** Where rows lie. */
struct Source {
    const char *base;
    int64_t     ld; /* bytes */
};

/* One of the blocks that share the rows of a peer. */
struct Part {
    int32_t index, count;
};

/* Units [begin, end) of rows to @p target, where they are packed, by n_threads threads of which
 * this is number @p t.  row: which rows, NULL: the first ones.  Loads bypass L1, which knows
 * nothing of writes on another GPU. */
template <typename U>
__device__ __forceinline__ void gather_units(const Source &source, const int32_t *row,
                                             int32_t width, int64_t begin, int64_t end, int32_t t,
                                             int32_t n_threads, char *target)
{
    const int64_t first = begin / width; /* the same in all threads; all else fits 32 bits */
    const int32_t at    = int32_t(begin - first * width) + t;
    const int32_t down = n_threads / width, right = n_threads % width;
    int32_t       r = int32_t(first) + at / width, c = at % width;
    U            *to = (U *)target;

    for (int64_t u = begin + t; u < end; u += int64_t(kFlight) * n_threads) {
        const char *from[kFlight];
        U           unit[kFlight];

#pragma unroll
        for (int k = 0; k < kFlight; k++) {
            const bool    live = u + int64_t(k) * n_threads < end;
            const int32_t i    = !live ? 0 : row == nullptr ? r : __ldg(row + r);

            from[k] = source.base + i * source.ld + int64_t(live ? c : 0) * int64_t(sizeof(U));
            r += down;
            c += right;
            if (c >= width) {
                c -= width;
                r++;
            }
        }
#pragma unroll
        for (int k = 0; k < kFlight; k++) {
            if (u + int64_t(k) * n_threads < end) {
                unit[k] = __ldcg((const U *)from[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < kFlight; k++) {
            if (u + int64_t(k) * n_threads < end) {
                to[u + int64_t(k) * n_threads] = unit[k];
            }
        }
    }
}

/* The widest unit that everything is a multiple of: 16, 8, 4 or 2 bytes. */
__device__ __forceinline__ int unit_of(const Source &source, int64_t row_bytes, const char *target)
{
    const uint64_t all =
        uint64_t(source.base) | uint64_t(source.ld) | uint64_t(row_bytes) | uint64_t(target);

    return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 2;
}

/* How push.cu sends all but low-latency rows.  They are cut into tiles, of which a warp sends one
 * at a time.  First come those of one reader: warps are shared out by the readers' shares of the
 * rows, so that all links are busy from the start.  Then come those of any reader that has some
 * left, so that all links end at a time.  Each block tells each reader how many of its tiles it has
 * sent.
 *
 * Nobody waits for a reader that is late but the blocks that begin with it. */

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

    if (lane + 1 < a.n_to && a.to[p].is_low_latency == 0 &&
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
namespace
{

constexpr int kUnits = 8; /* low-latency units of a thread on their way at a time */

/* Where in the window of a reader low-latency rows of rank @p rank lie: two words for each unit. */
__device__ __forceinline__ uint64_t *low_latency_of(const spmm_push_args_t &a, char *window,
                                                    int rank, uint32_t number)
{
    const int64_t place = int64_t(number % 2) * a.n_ranks + rank;

    return (uint64_t *)(window + a.low_latency_offset + place * (2 * SPMM_PUSH_LOW_LATENCY));
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

/* Units [first, last) of one of the blocks that share the low-latency rows of a pair of ranks. */
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

/* Low-latency rows from a peer to the target. */
__device__ void unpack(const spmm_push_args_t &a, const spmm_push_owner_t &from, const Part &part,
                       uint32_t number)
{
    const Units     units(from.count, a.row_bytes, part);
    const uint64_t *word   = low_latency_of(a, a.own, from.rank, number);
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

__device__ void send_low_latency(const spmm_push_args_t &a, const spmm_push_reader_t &to,
                                 const Part &part, uint32_t number)
{
    const Units    units(to.count, a.row_bytes, part);
    const uint32_t width = uint32_t(a.row_bytes / SPMM_PUSH_UNIT);
    const uint64_t align = uint64_t(a.source) | uint64_t(a.ld);
    uint64_t      *word  = low_latency_of(a, a.window[to.rank], a.rank, number);
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

        if (to.is_low_latency) {
            send_low_latency(a, to, {b - to.first_block, to.n_blocks}, number);
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

/* SPDX-License-Identifier: Apache-2.0 */
/** @file peer.cuh
 *  What kernels that talk to other GPUs share: waiting for words of peers, with a limit, and
 *  picking rows.
 */
#ifndef SPMM_PEER_CUH
#define SPMM_PEER_CUH

#include "cuda/dense/rows.cuh"
#include "cuda/dense/words.cuh"
#include "cuda/exchange/peer_args.h"

namespace spmmi
{

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

} // namespace spmmi

#endif /* SPMM_PEER_CUH */

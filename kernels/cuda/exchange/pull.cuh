/* SPDX-License-Identifier: Apache-2.0 */
/** @file pull.cuh
 *  The part of a thread block in one exchange: tell the readers where this rank's rows lie, wait until
 *  the peers have said the same, load their rows over NVLink, tell them that this is done and wait
 *  until all readers are.  A kernel for each of the two barriers would cost about 4 us of its own.
 */
#ifndef SPMM_PULL_CUH
#define SPMM_PULL_CUH

#include "cuda/exchange/peer.cuh"

namespace spmm
{
namespace
{

/* The thread that waits for the peer of its block: of another warp than those that publish. */
constexpr int kLearner = 32;
static_assert(SPMM_PULL_PEERS <= 32 && SPMM_PULL_THREADS > kLearner, "publishers are one warp");

/* Thread t: tell reader t. */
__device__ void publish(const spmm_pull_args_t &a, int t, uint32_t number)
{
    spmm_pull_slot_t *slot = (spmm_pull_slot_t *)a.to[t] + a.rank;

    fence_system(); /* the rows, of earlier kernels, before the word about them */
    store_word(&slot->word[0], number, a.window);
    store_word(&slot->word[1], number, uint32_t(a.offset));
    store_word(&slot->word[2], number, uint32_t(a.offset >> 32));
    store_word(&slot->word[3], number, a.ld);
}

/* Wait for peer t to tell. */
__device__ bool learn(const spmm_pull_args_t &a, int t, uint32_t number, Source *source)
{
    const spmm_pull_source_t &from = a.from[t];
    const spmm_pull_slot_t   *slot = (const spmm_pull_slot_t *)a.own + from.rank;
    uint32_t                  value[SPMM_PULL_WORDS];

    if (!await(a.watch, slot->word, number, from.rank, value)) {
        return false;
    }
    fence_system(); /* the words before the rows */
    const char *window = value[0] == SPMM_PULL_OWN
                             ? from.window
                             : a.shared[int64_t(value[0]) * SPMM_PULL_PEERS + from.rank];

    source->packed = value[3] == 0;
    source->ld     = source->packed ? a.row_bytes : int64_t(value[3]);
    source->base   = window + ((uint64_t(value[2]) << 32) | value[1]) +
                   (source->packed ? from.first * a.row_bytes : 0);
    return true;
}

/* Bring the first row numbers of a part to L1 while the peer is waited for. */
__device__ void touch_rows(const spmm_pull_args_t &a, const spmm_pull_source_t &from,
                           const Part &part)
{
    const int64_t at = from.count * part.index / part.count + threadIdx.x;

    if (a.row != nullptr && at < from.count) {
        const int32_t row = __ldg(a.row + from.begin + at);

        asm volatile("" ::"r"(row));
    }
}

__device__ void fetch(const spmm_pull_args_t &a, const spmm_pull_source_t &from, const Part &part,
                      const Source &source)
{
    gather_aligned(source, part, source.packed ? nullptr : a.row + from.begin, from.count,
                   a.row_bytes, a.target + from.begin * a.row_bytes);
}

/* All blocks have loaded their rows: tell the owners and wait for the readers of ours. */
__device__ void finish(const spmm_pull_args_t &a, uint32_t number)
{
    const int t = int(threadIdx.x);
    uint32_t  ignored[1];

    if (t < a.n_from) {
        spmm_pull_slot_t *slot = (spmm_pull_slot_t *)a.from[t].window + a.rank;

        fence_system(); /* the loads before the word that they are done */
        store_word(&slot->done, number, 0);
    }
    if (t < a.n_to) {
        const spmm_pull_slot_t *slot = (const spmm_pull_slot_t *)a.own + a.to_rank[t];

        (void)await(a.watch, &slot->done, number, a.to_rank[t], ignored);
        fence_system(); /* the word before later writes to the rows */
    }
    __syncthreads();
    if (t == 0) {
        a.state->finished = 0;
        a.state->number   = number;
    }
}

/* Block @p b of a.n_blocks: each fetches from one peer, so that all peers are read at a time. */
__device__ __forceinline__ void pull_block(const spmm_pull_args_t &a, int b)
{
    __shared__ Source source;
    const int         t      = int(threadIdx.x);
    const uint32_t    number = number_after(*(volatile uint32_t *)&a.state->number);
    bool              ok     = t != 0 || !has_failed(a.watch);
    bool              last   = a.n_blocks == 1;
    int               p      = 0;

    if (!__syncthreads_and(ok)) {
        return;
    }
    if (b == 0 && t < a.n_to) {
        publish(a, t, number);
    }
    if (a.n_from > 0) {
        while (p + 1 < a.n_from && b >= a.from[p + 1].first_block) {
            p++;
        }
        const spmm_pull_source_t &from = a.from[p];
        const Part                part = {b - from.first_block, from.n_blocks};

        if (t == kLearner) {
            ok = learn(a, p, number, &source);
        } else {
            touch_rows(a, from, part);
        }
        if (!__syncthreads_and(ok)) {
            return;
        }
        fetch(a, from, part, source);
    }
    if (a.n_blocks > 1) {
        __threadfence();
        __syncthreads();
        if (t == 0) {
            last = atomicAdd(&a.state->finished, 1u) + 1 == uint32_t(a.n_blocks);
            __threadfence();
        }
    }
    if (__syncthreads_or(last)) {
        finish(a, number);
    }
}

} // namespace
} // namespace spmm

#endif /* SPMM_PULL_CUH */

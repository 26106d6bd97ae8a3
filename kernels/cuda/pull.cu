/* SPDX-License-Identifier: Apache-2.0 */
/** @file pull.cu
 *  One exchange in one kernel: tell the readers where this rank's rows lie, wait until the peers
 *  have said the same, load their rows over NVLink, tell them that this is done and wait until all
 *  readers are.  A kernel for each of the two barriers would cost about 4 us of its own.
 *
 *  Words of a slot are 64 bits, written and read whole, half number and half value (as in NCCL's LL
 *  protocol), so that no store has to wait for another.
 */
#include "cuda/pull_args.h"
#include "cuda/rows.cuh"

namespace spmm
{
namespace
{

constexpr int kFlight = 8;  /* loads of a thread on their way at a time */
constexpr int kPatrol = 64; /* polls between two looks at the clock */

/* The thread that waits for the peer of its block: of another warp than those that publish. */
constexpr int kLearner = 32;
static_assert(SPMM_PULL_PEERS <= 32 && SPMM_PULL_THREADS > kLearner, "publishers are one warp");

__device__ __forceinline__ void store_word(uint64_t *to, uint32_t number, uint32_t value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to),
                 "l"((uint64_t(number) << 32) | value)
                 : "memory");
}

__device__ __forceinline__ uint64_t load_word(const uint64_t *from)
{
    uint64_t word;

    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ uint64_t now_ns()
{
    uint64_t time;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

__device__ __forceinline__ bool has_failed(const spmm_pull_args_t &a)
{
    return *(volatile uint32_t *)a.failed != 0;
}

/* The first to give up says why. */
__device__ void give_up(const spmm_pull_args_t &a, int32_t peer)
{
    if (atomicCAS(a.failed, 0u, 1u) == 0u) {
        volatile spmm_pull_report_t *report = a.report;

        report->peer = peer;
        __threadfence_system();
        report->failed = 1;
    }
}

/* Wait until all of kWords words carry @p number.  False: the context has failed, or fails now. */
template <int kWords>
__device__ bool await(const spmm_pull_args_t &a, const uint64_t *word, uint32_t number,
                      int32_t peer, uint32_t (&value)[kWords])
{
    uint64_t start = 0;

    for (int polls = 1;; polls++) {
        uint64_t seen[kWords];
        bool     all = true;

#pragma unroll
        for (int w = 0; w < kWords; w++) { /* all on their way at a time */
            seen[w] = load_word(word + w);
        }
#pragma unroll
        for (int w = 0; w < kWords; w++) {
            all      = all && uint32_t(seen[w] >> 32) == number;
            value[w] = uint32_t(seen[w]);
        }
        if (all) {
            return true;
        }
        if (polls % kPatrol == 0) {
            const uint64_t time = now_ns();

            if (has_failed(a)) {
                return false;
            }
            start = start == 0 ? time : start;
            if (a.timeout_ns != 0 && time - start > a.timeout_ns) {
                give_up(a, peer);
                return false;
            }
        }
    }
}

/** Where the rows of one peer lie. */
struct Source {
    const char *base;
    int64_t     ld; /* bytes */
    bool        packed;
};

/* Thread t: tell reader t. */
__device__ void publish(const spmm_pull_args_t &a, int t, uint32_t number)
{
    spmm_pull_slot_t *slot = (spmm_pull_slot_t *)a.to[t] + a.rank;

    __threadfence_system(); /* the rows, of earlier kernels, before the word about them */
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

    if (!await(a, slot->word, number, from.rank, value)) {
        return false;
    }
    __threadfence_system(); /* the words before the rows */
    const char *window = value[0] == SPMM_PULL_OWN
                             ? from.window
                             : a.shared[int64_t(value[0]) * SPMM_PULL_PEERS + from.rank];

    source->packed = value[3] == 0;
    source->ld     = source->packed ? a.row_bytes : int64_t(value[3]);
    source->base   = window + ((uint64_t(value[2]) << 32) | value[1]) +
                   (source->packed ? from.first * a.row_bytes : 0);
    return true;
}

/* One of the blocks that share the rows of a peer. */
struct Part {
    int32_t index, count;
};

/* Part @p part of the rows of one peer, in units U.  Loads bypass L1, which knows nothing of writes
 * on another GPU. */
template <typename U>
__device__ void gather(const Source &source, const Part &part, const int32_t *row, int64_t n_rows,
                       int64_t row_bytes, char *target)
{
    const int32_t width = int32_t(row_bytes / int64_t(sizeof(U)));
    const int64_t units = n_rows * width;
    /* Parts begin at whole lines of 128 bytes of the target's order. */
    const int64_t line = 128 / int64_t(sizeof(U));
    const int64_t end =
        part.index + 1 == part.count ? units : units * (part.index + 1) / part.count / line * line;
    int64_t       u    = units * part.index / part.count / line * line + threadIdx.x;
    int32_t       r    = int32_t(u / width);
    int32_t       c    = int32_t(u - int64_t(r) * width);
    const int32_t down = int32_t(blockDim.x) / width, right = int32_t(blockDim.x) % width;
    U            *to = (U *)target;

    while (u < end) {
        const char *from[kFlight];
        U           unit[kFlight];

#pragma unroll
        for (int k = 0; k < kFlight; k++) {
            const bool    live = u + int64_t(k) * blockDim.x < end;
            const int32_t at   = !live ? 0 : row == nullptr ? r : __ldg(row + r);

            from[k] = source.base + at * source.ld + int64_t(live ? c : 0) * int64_t(sizeof(U));
            r += down;
            c += right;
            if (c >= width) {
                c -= width;
                r++;
            }
        }
#pragma unroll
        for (int k = 0; k < kFlight; k++) {
            if (u + int64_t(k) * blockDim.x < end) {
                unit[k] = __ldcg((const U *)from[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < kFlight; k++) {
            if (u + int64_t(k) * blockDim.x < end) {
                to[u + int64_t(k) * blockDim.x] = unit[k];
            }
        }
        u += int64_t(kFlight) * blockDim.x;
    }
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

/* In the widest unit that everything is a multiple of. */
__device__ void fetch(const spmm_pull_args_t &a, const spmm_pull_source_t &from, const Part &part,
                      const Source &source)
{
    const int32_t *row    = source.packed ? nullptr : a.row + from.begin;
    char          *target = a.target + from.begin * a.row_bytes;
    const uint64_t all =
        uint64_t(source.base) | uint64_t(source.ld) | uint64_t(a.row_bytes) | uint64_t(target);

    if (all % 16 == 0) {
        gather<uint4>(source, part, row, from.count, a.row_bytes, target);
    } else if (all % 8 == 0) {
        gather<uint2>(source, part, row, from.count, a.row_bytes, target);
    } else if (all % 4 == 0) {
        gather<unsigned>(source, part, row, from.count, a.row_bytes, target);
    } else {
        gather<unsigned short>(source, part, row, from.count, a.row_bytes, target);
    }
}

/* All blocks have loaded their rows: tell the owners and wait for the readers of ours. */
__device__ void finish(const spmm_pull_args_t &a, uint32_t number)
{
    const int t = int(threadIdx.x);
    uint32_t  ignored[1];

    if (t < a.n_from) {
        spmm_pull_slot_t *slot = (spmm_pull_slot_t *)a.from[t].window + a.rank;

        __threadfence_system(); /* the loads before the word that they are done */
        store_word(&slot->done, number, 0);
    }
    if (t < a.n_to) {
        const spmm_pull_slot_t *slot = (const spmm_pull_slot_t *)a.own + a.to_rank[t];

        (void)await(a, &slot->done, number, a.to_rank[t], ignored);
        __threadfence_system(); /* the word before later writes to the rows */
    }
    __syncthreads();
    if (t == 0) {
        a.state->finished = 0;
        a.state->number   = number;
    }
}

/* Each block fetches from one peer, so that all peers are read at a time. */
__global__ void __launch_bounds__(SPMM_PULL_THREADS, 2)
    pull(const __grid_constant__ spmm_pull_args_t a)
{
    __shared__ Source source;
    const int         t      = int(threadIdx.x);
    const uint32_t    number = *(volatile uint32_t *)&a.state->number + 1;
    bool              ok     = t != 0 || !has_failed(a);
    bool              last   = gridDim.x == 1;
    int               p      = 0;

    if (!__syncthreads_and(ok)) {
        return;
    }
    if (blockIdx.x == 0 && t < a.n_to) {
        publish(a, t, number);
    }
    if (a.n_from > 0) {
        while (p + 1 < a.n_from && int(blockIdx.x) >= a.from[p + 1].first_block) {
            p++;
        }
        const spmm_pull_source_t &from = a.from[p];
        const Part                part = {int(blockIdx.x) - from.first_block, from.n_blocks};

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
    if (gridDim.x > 1) {
        __threadfence();
        __syncthreads();
        if (t == 0) {
            last = atomicAdd(&a.state->finished, 1u) + 1 == gridDim.x;
            __threadfence();
        }
    }
    if (__syncthreads_or(last)) {
        finish(a, number);
    }
}

} // namespace

cudaError_t preload_pull()
{
    return preload(pull);
}

} // namespace spmm

extern "C" cudaError_t spmm_cuda_pull(const spmm_pull_args_t *args, cudaStream_t stream)
{
    return spmm::launch(spmm::pull, dim3((unsigned)args->n_blocks), dim3(SPMM_PULL_THREADS), stream,
                        *args);
}

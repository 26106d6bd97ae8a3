/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_vector.cuh
 *  CSR times a single column.  A thread block takes the same piece as in csr_gpu.cuh, kTile entries
 *  at a time: its threads multiply neighbouring entries, then each adds up kItems consecutive
 *  products, and a segmented scan over the block brings a thread what the threads in front of it
 *  have of the row that it ends.  All sums have a fixed order.
 */
#ifndef SPMM_CSR_GPU_VECTOR_CUH
#define SPMM_CSR_GPU_VECTOR_CUH

#include "cuda/csr_gpu/csr_gpu_pack.cuh"

namespace spmmi
{

/** @tparam C  type of the column of C */
template <typename T, typename C> struct CsrVector {
    using Sum                   = typename CsrSum<T>::type;
    static constexpr int kItems = 5; /* odd: a thread's products lie in all banks in turn */
    static constexpr int kTile  = kCsrBlock * kItems;
    static constexpr int kWarps = kCsrBlock / kWarp;

    struct Shared {
        Sum     product[kTile];
        int32_t row[kTile];
        Sum     warp_sum[kWarps];   /* of the row that a warp leaves open */
        bool    warp_ended[kWarps]; /* a row ended in the warp */
        Sum     open;               /* of the row that the tiles so far leave open */
        bool    last;
    };

    const spmm_csr_pieces_t &A;
    const CsrDense<Sum>     &dense;
    Shared                  &shared;
    const int                thread = (int)threadIdx.x;

    __device__ __forceinline__ CsrVector(const spmm_csr_pieces_t &format,
                                         const CsrDense<Sum> &other, Shared &mine)
        : A(format), dense(other), shared(mine)
    {
    }

    __device__ __forceinline__ void store(int32_t row, Sum sum) const
    {
        C *const c = (C *)dense.C + (dense.c_columns ? row : row * dense.ldc);

        sum *= dense.alpha;
        *c = Narrow<C>::from(dense.has_beta ? sum + dense.beta * widen<Sum>(*c) : sum);
    }

    /* Products of the next entries, of which there are @p left, in the order of entries. */
    __device__ __forceinline__ void multiply(uint32_t entry, int left)
    {
        int32_t col[kItems];
        Sum     value[kItems];

#pragma unroll
        for (int i = 0; i < kItems; i++) {
            const int at = i * kCsrBlock + thread;

            col[i] = at < left ? __ldcs(A.col + (entry + at)) : 0; /* row 0 of B is there */
            value[i] =
                at < left ? widen<Sum>(fetch_once((const T *)A.values + (entry + at))) : Sum{};
            shared.row[at] = at < left ? __ldcs(A.row + (entry + at)) : 0;
        }
#pragma unroll
        for (int i = 0; i < kItems; i++) {
            const int at = i * kCsrBlock + thread;
            const Sum b =
                widen<Sum>(fetch<Pack<T, 1>>((const T *)dense.B + col[i] * dense.ldb).at[0]);

            shared.product[at] = at < left ? value[i] * b : Sum{};
        }
    }

    /* Add up the sums of the threads in front of this one since a row last ended there.  Whole
     * blocks take part.
     * @param[in] sum    what the thread leaves open
     * @param[in] ended  a row ended in the thread */
    __device__ __forceinline__ Sum before(Sum sum, bool ended)
    {
        const int lane = thread % kWarp, warp = thread / kWarp;
        Sum       front;

#pragma unroll
        for (int step = 1; step < kWarp; step *= 2) {
            const Sum  other = shift_up(sum, step);
            const bool stops = __shfl_up_sync(kAllLanes, (int)ended, step) != 0;

            if (lane >= step) {
                sum   = ended ? sum : other + sum;
                ended = ended || stops;
            }
        }
        if (lane == kWarp - 1) {
            shared.warp_sum[warp]   = sum;
            shared.warp_ended[warp] = ended;
        }
        front                = shift_up(sum, 1);
        const bool own_front = __shfl_up_sync(kAllLanes, (int)ended, 1) != 0 && lane > 0;

        __syncthreads();
        Sum carry = shared.open;

        for (int w = 0; w < warp; w++) {
            carry = shared.warp_ended[w] ? shared.warp_sum[w] : carry + shared.warp_sum[w];
        }
        front = lane == 0 ? Sum{} : front;
        return own_front ? front : carry + front;
    }

    /* Rows that end among the products; shared.open is then of the row that none of them ends. */
    __device__ __forceinline__ void add_up()
    {
        Sum     sum = {}, head = {};
        int32_t first = 0; /* row that ends first: negative where one does */

#pragma unroll
        for (int i = 0; i < kItems; i++) {
            const int32_t row = shared.row[thread * kItems + i];

            sum += shared.product[thread * kItems + i];
            if (row < 0) {
                if (first < 0) {
                    store(row & INT32_MAX, sum);
                } else {
                    first = row;
                    head  = sum;
                }
                sum = {};
            }
        }
        const Sum front = before(sum, first < 0);

        if (first < 0) {
            store(first & INT32_MAX, front + head);
        }
        __syncthreads(); /* shared.open has been read */
        if (thread == kCsrBlock - 1) {
            shared.open = first < 0 ? sum : front + sum;
        }
        __syncthreads();
    }

    /* The sums of a split row so far; the last thread block of its row to arrive adds them up. */
    __device__ __forceinline__ void combine()
    {
        const int32_t          at      = A.piece[blockIdx.x].split;
        const spmm_csr_split_t split   = A.split[at];
        Sum *const             partial = (Sum *)A.partial;
        using Word                     = typename CsrWord<Sum>::type;

        if (thread == 0) {
            __stcg((Word *)partial + blockIdx.x, *(const Word *)&shared.open);
            __threadfence();
            shared.last = atomicInc(A.arrived + (int64_t)at * A.n_slices,
                                    (unsigned)split.n_pieces - 1) == (unsigned)split.n_pieces - 1;
            __threadfence();
        }
        __syncthreads();
        if (shared.last && thread < kWarp) {
            Sum sum = {};

            for (int p = thread; p < split.n_pieces; p += kWarp) {
                sum += load_pack<Pack<Sum, 1>>(partial + split.piece + p).at[0];
            }
#pragma unroll
            for (int step = kWarp / 2; step > 0; step /= 2) {
                sum += shift_down(sum, step);
            }
            if (thread == 0) {
                store(split.row, sum);
            }
        }
    }

    __device__ __forceinline__ void run(uint32_t entry, int n)
    {
        if (thread == 0) {
            shared.open = {};
        }
        for (int at = 0; at < n; at += kTile) {
            multiply(entry + (unsigned)at, n - at);
            __syncthreads();
            add_up();
        }
        if (blockIdx.x < (unsigned)A.n_partial) {
            combine();
        }
    }

    /** Rows without entries: [from, to) of the list. */
    __device__ __forceinline__ void run_empty(int64_t from, int64_t to) const
    {
        for (int64_t i = from + thread; i < to; i += kCsrBlock) {
            store(__ldcs(A.empty + i), Sum{});
        }
    }
};

} // namespace spmmi

#endif /* SPMM_CSR_GPU_VECTOR_CUH */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file strips.cuh
 *  A in strips of rows times column-major B.  A thread block copies the rows of B that its strip
 *  uses to shared memory, a slice of columns at a time, and turns them on the way: lanes run along
 *  the rows of B in global memory, and shared memory holds them by rows.  Groups of lanes add up
 *  one row of A each.  Sums lie by columns in shared memory, from where they are stored along the
 *  columns of C.  Several thread blocks of a multiprocessor hide each other's accesses.
 */
#ifndef SPMM_STRIPS_CUH
#define SPMM_STRIPS_CUH

#include "cuda/tc/tc_common.cuh"
#include "engine/strips/args.h"

namespace spmmi
{

constexpr int kStripBlock = 256;

/** The dense side, and what one launch covers of it. */
template <typename T> struct StripDense {
    const T *B;
    T       *C;
    int64_t  ldb, ldc;
    T        alpha, beta;
    bool     has_beta; /**< beta != 0: C is read */
    int32_t  n;
    int32_t  slices; /**< of a thread block, at most */
};

/** @tparam kBytes  of a row of B in shared memory: columns of a slice */
template <typename T, int kBytes> struct Strip {
    static constexpr int kWidth  = kBytes / (int)sizeof(T);
    static constexpr int kVector = 16 / (int)sizeof(T);
    static constexpr int kLanes  = kBytes / 16;
    static constexpr int kGroups = kStripBlock / kLanes;
    static constexpr int kLd = SPMM_STRIP_ROWS + 2; /* banks: lanes store neighbouring columns */

    const spmm_strips_args_t &A;
    const StripDense<T>      &dense;
    const spmm_strip_t        strip;
    char *const               tile; /**< [most_cols][kBytes] */
    T *const                  out;  /**< [kWidth][kLd] sums */
    T *const                  value;
    uint16_t *const           index;
    uint16_t *const           ptr;
    const int                 thread = (int)threadIdx.x;

    static __host__ __device__ size_t room(const spmm_strips_args_t &A)
    {
        return (size_t)A.most_cols * kBytes + (size_t)kWidth * kLd * sizeof(T) +
               (size_t)A.most_entries * (sizeof(T) + sizeof(uint16_t)) +
               (SPMM_STRIP_ROWS + 1) * sizeof(uint16_t);
    }

    __device__ __forceinline__ Strip(const spmm_strips_args_t &format, const StripDense<T> &other,
                                     const spmm_strip_t &mine, char *shared)
        : A(format), dense(other), strip(mine), tile(shared),
          out((T *)(shared + format.most_cols * kBytes)), value(out + kWidth * kLd),
          index((uint16_t *)(value + format.most_entries)), ptr(index + format.most_entries)
    {
    }

    /* Rows of B that are 128 bytes apart lie in the same banks: 16 bytes of them are exchanged. */
    static __device__ __forceinline__ int place(int k, int chunk)
    {
        return k * kBytes + ((chunk ^ (k / (128 / kBytes) % kLanes)) * 16);
    }

    /** Start to copy what the strip uses of the columns from @p j on. */
    __device__ __forceinline__ void fetch_b(int j) const
    {
        const uint32_t to = shared_address(tile);
        const int      n0 = thread / 8 % 4;

        for (int k = thread % 8 + thread / kWarp * 8; k < strip.n_cols; k += kStripBlock / 4) {
            const T *from = dense.B + __ldg(A.col + strip.col + k) + (int64_t)(j + n0) * dense.ldb;

#pragma unroll
            for (int n = n0; n < kWidth; n += 4, from += 4 * dense.ldb) {
                cp_async_at<sizeof(T)>(to + place(k, n / kVector) + n % kVector * sizeof(T), from,
                                       j + n < dense.n);
            }
        }
    }

    __device__ __forceinline__ void fetch_entries() const
    {
        for (int e = thread; e < strip.n_entries; e += kStripBlock) {
            cp_async<sizeof(T)>(value + e, (const T *)A.values + strip.entry + e);
        }
        for (int e = thread; e < strip.n_entries; e += kStripBlock) {
            index[e] = __ldg(A.index + strip.entry + e);
        }
        for (int e = thread; e <= strip.n_sums; e += kStripBlock) {
            ptr[e] = __ldg(A.ptr + strip.ptr + e);
        }
    }

    __device__ __forceinline__ void add_up() const
    {
        const int lane = thread % kLanes;

        for (int r = thread / kLanes; r < strip.n_sums; r += kGroups) {
            const int end          = ptr[r + 1];
            T         sum[kVector] = {};

#pragma unroll 4
            for (int e = ptr[r]; e < end; e++) {
                const int4 b = *(const int4 *)(tile + place(index[e], lane));
                const T    a = value[e];

#pragma unroll
                for (int i = 0; i < kVector; i++) {
                    sum[i] = fma(a, ((const T *)&b)[i], sum[i]);
                }
            }
#pragma unroll
            for (int i = 0; i < kVector; i++) {
                out[(lane * kVector + i) * kLd + r] = sum[i];
            }
        }
    }

    __device__ __forceinline__ void store(T sum, int row, int j) const
    {
        const int64_t i = A.row_map == NULL ? row : __ldg(A.row_map + row);
        T *const      c = dense.C + i + j * dense.ldc;

        sum *= dense.alpha;
        *c = dense.has_beta ? fma(dense.beta, *c, sum) : sum;
    }

    /** The sums of a piece so far; the last thread block of its row to arrive adds them up. */
    __device__ __forceinline__ void combine(int j, bool &last) const
    {
        const spmm_strip_split_t split   = A.split[strip.split];
        T *const                 partial = (T *)A.partial + j + thread;
        const bool               mine    = thread < kWidth && j + thread < dense.n;

        if (mine) {
            T sum = {};

            for (int r = 0; r < strip.n_sums; r++) {
                sum += out[thread * kLd + r];
            }
            __stcg(partial + (int64_t)strip.piece * dense.n, sum);
        }
        __threadfence();
        __syncthreads();
        if (thread == 0) {
            uint32_t *const count = A.arrived + (int64_t)strip.split * A.n_slices + j / kWidth;

            last = atomicInc(count, (unsigned)split.n_pieces - 1) == (unsigned)split.n_pieces - 1;
        }
        __syncthreads();
        if (last && mine) {
            T sum = {};

            __threadfence();
#pragma unroll 8
            for (int p = 0; p < split.n_pieces; p++) {
                sum += __ldcg(partial + (int64_t)(split.piece + p) * dense.n);
            }
            store(sum, strip.row, j + thread);
        }
    }

    /* Lanes begin where a sector does. */
    __device__ __forceinline__ void store_all(int j) const
    {
        constexpr int kSector = 32 / (int)sizeof(T);

        for (int n = thread / kWarp; n < kWidth && j + n < dense.n; n += kStripBlock / kWarp) {
            const T *const at   = dense.C + strip.row + (j + n) * dense.ldc;
            const int      past = (int)((uintptr_t)at / sizeof(T) % kSector);

            for (int r = thread % kWarp - past; r < strip.n_sums; r += kWarp) {
                if (r >= 0) {
                    store(out[n * kLd + r], strip.row + r, j + n);
                }
            }
        }
    }

    /** Slices from column @p j to @p end: rows of B are on their way while sums are stored. */
    __device__ __forceinline__ void run(int j, int end, bool &last) const
    {
        fetch_b(j);
        fetch_entries();
        for (; j < end; j += kWidth) {
            cp_async_commit();
            cp_async_wait<0>();
            __syncthreads();
            add_up();
            __syncthreads();
            if (j + kWidth < end) {
                fetch_b(j + kWidth);
            }
            if (strip.split >= 0) {
                combine(j, last);
            } else {
                store_all(j);
            }
        }
    }
};

template <typename T, int kBytes>
__global__ void __launch_bounds__(kStripBlock, 6)
    strips_mm(const __grid_constant__ spmm_strips_args_t A,
              const __grid_constant__ StripDense<T> dense)
{
    extern __shared__ int4 shared[];
    __shared__ bool        last;
    constexpr int          kWidth = Strip<T, kBytes>::kWidth;
    const int              j      = (int)blockIdx.y * dense.slices * kWidth;
    int4                   words[2];

    wait_for_earlier();
    let_next_begin();
    words[0] = __ldg((const int4 *)(A.strip + blockIdx.x));
    words[1] = __ldg((const int4 *)(A.strip + blockIdx.x) + 1);
    Strip<T, kBytes>(A, dense, *(const spmm_strip_t *)words, (char *)shared)
        .run(j, min(j + dense.slices * kWidth, dense.n), last);
}

} // namespace spmmi

#endif /* SPMM_STRIPS_CUH */

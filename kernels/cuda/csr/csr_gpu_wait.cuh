/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_wait.cuh
 *  CSR times dense rows that are on their way, for blocks of few entries: C += alpha A B behind the
 *  kernel that writes C, and behind an exchange on this or another stream, with no event to wait
 *  for.  The kernel is launched early, so that its thread blocks find their rows of A while the one
 *  in front of it runs.  They add up what C gets as soon as the exchange says that B is there, and
 *  touch C when the kernel in front is done.
 *
 *  A warp takes a row of A and a slice of columns, or eight warps a long one; groups of kLanes
 *  lanes deal out its entries, always in the same way.  Nothing is left in L1 of B, which others
 *  write while the kernel runs.
 */
#ifndef SPMM_CSR_GPU_WAIT_CUH
#define SPMM_CSR_GPU_WAIT_CUH

#include "cuda/csr/csr_gpu.cuh"
#include "cuda/dense/words.cuh"

namespace spmmi
{

template <typename T> __device__ __forceinline__ T swap(T x, int mask)
{
    return __shfl_xor_sync(kAllLanes, x, mask);
}
template <typename T> __device__ __forceinline__ Complex<T> swap(Complex<T> x, int mask)
{
    return {swap(x.re, mask), swap(x.im, mask)};
}

/* The whole thread block; the exchange ends, at the latest when it gives up. */
__device__ __forceinline__ void await_rows(const spmm_until_t &until)
{
    if (threadIdx.x == 0) {
        while ((int32_t)(acquire_count(until.word) - until.number) < 0) {
            __nanosleep(20);
        }
    }
    __syncthreads();
}

/** What a warp takes at a time. */
template <typename T, typename C, int kLanes, int kVector> struct CsrWait {
    static constexpr int kUnroll = 4, kTeam = kCsrBlock / kWarp, kGroups = kWarp / kLanes;
    static constexpr int kWidth = kLanes * kVector;
    using Sum                   = typename CsrSum<T>::type;
    using Sums                  = Pack<Sum, kVector>;
    using Read                  = Pack<T, kVector>;
    using Group                 = CsrGroup<T, C, kLanes, kVector, 1, 4, CsrStore::kRows>;

    const spmm_csr_items_t &A;
    const CsrDense<Sum>    &dense;
    const int               warp, group; /**< in the thread block, in the warp */
    int4                    row  = {};   /**< spmm_csr_row_t; no entries: nothing to do */
    int                     j    = 0;    /**< first column of the lane */
    bool                    team = false;
    Sums                    sum  = {};

    __device__ __forceinline__ CsrWait(const spmm_csr_items_t &format, const CsrDense<Sum> &other)
        : A(format), dense(other), warp((int)threadIdx.x / kWarp),
          group((int)threadIdx.x % kWarp / kLanes)
    {
    }

    /** Work number @p step of the thread block. */
    __device__ __forceinline__ void take(const spmm_csr_rows_t &rows, int step)
    {
        const int slices = (dense.n + kWidth - 1) / kWidth, alone = rows.n_long * slices;

        team           = step < alone;
        const int unit = team ? step : alone + (step - alone) * kTeam + warp;

        row = unit < rows.n_rows * slices ? __ldg((const int4 *)rows.row + unit / slices) : int4{};
        j   = unit % slices * kWidth + (int)threadIdx.x % kLanes * kVector;
        sum = {};
        if (threadIdx.x % kWarp == 0 && row.y > 0) {
            prefetch(A.col + (uint32_t)row.x);
            prefetch((const T *)A.values + (uint32_t)row.x);
        }
    }

    /** The entries of the group. */
    __device__ __forceinline__ void add_entries()
    {
        const int   parts = team ? kGroups * kTeam : kGroups;
        const int   mine  = team ? warp * kGroups + group : group;
        const T    *B     = (const T *)dense.B + (j < dense.n ? j : 0);
        const auto *col   = A.col + (uint32_t)row.x;
        const auto *value = (const T *)A.values + (uint32_t)row.x;

        for (int e = mine; e < row.y; e += kUnroll * parts) {
            Read b[kUnroll];
            Sum  a[kUnroll];

#pragma unroll
            for (int k = 0; k < kUnroll; k++) {
                const int at = e + k * parts;

                if (at < row.y) {
                    b[k] = load_pack<Read>(B + __ldg(col + at) * dense.ldb);
                    a[k] = widen<Sum>(fetch_once(value + at));
                }
            }
#pragma unroll
            for (int k = 0; k < kUnroll; k++) {
#pragma unroll
                for (int i = 0; i < kVector && e + k * parts < row.y; i++) {
                    sum.at[i] = fma(a[k], widen<Sum>(b[k].at[i]), sum.at[i]);
                }
            }
        }
    }

    /** Those of all groups, in the first one. */
    __device__ __forceinline__ void join(Sums (&room)[kTeam][kLanes])
    {
#pragma unroll
        for (int step = kLanes; step < kWarp; step *= 2) {
#pragma unroll
            for (int i = 0; i < kVector; i++) {
                sum.at[i] += swap(sum.at[i], step);
            }
        }
        if (!team) { /* the same in all threads of the block */
            return;
        }
        if ((int)threadIdx.x % kWarp < kLanes) {
            room[warp][threadIdx.x % kWarp] = sum;
        }
        __syncthreads();
        for (int w = 1; w < kTeam && (int)threadIdx.x < kLanes; w++) {
            Group::add(sum, room[w][threadIdx.x]);
        }
        __syncthreads();
    }

    /** C is there. */
    __device__ __forceinline__ void store()
    {
        C *const c = (C *)dense.C + row.z * dense.ldc + j;

        if (row.y == 0 || group != 0 || j >= dense.n || (team && warp != 0)) {
            return;
        }
        const auto old = load_pack<Pack<C, kVector>>(c);

#pragma unroll
        for (int i = 0; i < kVector; i++) {
            sum.at[i] = fma(dense.beta, widen<Sum>(old.at[i]), dense.alpha * sum.at[i]);
        }
        Group::put(c, sum, dense.c_stays);
    }
};

template <typename T, typename C, int kLanes, int kVector>
__global__ void __launch_bounds__(kCsrBlock, 3)
    csr_mm_waits(const __grid_constant__ spmm_csr_items_t A,
                 const __grid_constant__ spmm_csr_rows_t  rows,
                 const __grid_constant__ CsrDense<typename CsrSum<T>::type> dense,
                 const __grid_constant__ spmm_until_t                       until)
{
    using Wait = CsrWait<T, C, kLanes, kVector>;
    __shared__ typename Wait::Sums room[Wait::kTeam][kLanes];
    const int slices = (dense.n + Wait::kWidth - 1) / Wait::kWidth, alone = rows.n_long * slices;
    const int steps = alone + (rows.n_rows * slices - alone + Wait::kTeam - 1) / Wait::kTeam;
    Wait      wait(A, dense);

    wait.take(rows, (int)blockIdx.x);
    await_rows(until);
    for (int step = (int)blockIdx.x; step < steps;) {
        wait.add_entries();
        wait.join(room);
        wait_for_earlier();
        wait.store();
        step += (int)gridDim.x;
        wait.take(rows, step < steps ? step : steps);
    }
}

} // namespace spmmi

#endif /* SPMM_CSR_GPU_WAIT_CUH */

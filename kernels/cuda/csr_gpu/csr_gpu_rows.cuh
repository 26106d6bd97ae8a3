/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_rows.cuh
 *  CSR times dense where what a row of C becomes may depend on the entries of this row alone: a
 *  group of lanes takes a whole row and adds its entries in their order.  Rows of more than twice
 *  SPMM_CSR_CHAIN entries are several pieces, whose sums a second kernel adds.  Lanes share out
 *  columns, never entries, so that n, alignment and the width of accesses do not show in the bits;
 *  every product is part of an fma.
 */
#ifndef SPMM_CSR_GPU_ROWS_CUH
#define SPMM_CSR_GPU_ROWS_CUH

#include "cuda/csr_gpu/csr_gpu.cuh"

namespace spmmi
{

/** One group of a thread block, for one slice of columns. */
template <typename T, typename C, int kLanes, int kVector, int kLoads>
struct CsrRows : CsrGroup<T, C, kLanes, kVector, kLoads, 4, CsrStore::kRows> {
    using Group = CsrGroup<T, C, kLanes, kVector, kLoads, 4, CsrStore::kRows>;
    using Sum   = typename Group::Sum;
    using Group::A, Group::dense, Group::id, Group::lane;
    using Group::Group;

    /** The piece of this group. */
    __device__ __forceinline__ void run()
    {
        const unsigned       at    = blockIdx.x * Group::kGroups + (unsigned)id;
        const bool           any   = at < (unsigned)A.n_pieces;
        const int2           words = any ? __ldg((const int2 *)(A.piece + at)) : int2{};
        uint32_t             entry = (uint32_t)words.x;
        int                  left = words.y, most = left;
        typename Group::Tile tile = this->load_tile(entry, left);

        for (int step = kLanes; step < kWarp; step *= 2) { /* lanes of a warp stay together */
            most = max(most, __shfl_xor_sync(kAllLanes, most, step));
        }
        for (; most > 0; most -= kLanes, entry += kLanes, left -= kLanes) {
            const auto next = this->load_tile(entry + kLanes, left - kLanes);

#pragma unroll 1
            for (int from = 0; from < kLanes && from < most; from += 4) {
                this->batch(tile, from, left - from, 0);
            }
            tile = next;
        }
        if (at < (unsigned)A.n_partial) {
            this->put_partial((Sum *)A.partial + (int64_t)at * dense.n);
        } else if (any) {
            this->store(__ldg(A.row + ((uint32_t)words.x + (unsigned)words.y - 1)) & INT32_MAX);
        }
    }

    /** Split row number @p at, from the sums of its pieces. */
    __device__ __forceinline__ void add_up(int at)
    {
        const spmm_csr_split_t split = A.split[at];

        if (id < SPMM_CSR_CHAINS) {
            this->add_partial((const Sum *)A.partial + (int64_t)split.piece * dense.n,
                              split.n_pieces, SPMM_CSR_CHAINS);
        }
        this->leave_sums();
        __syncthreads();
        if (id == 0) {
            for (int g = 1; g < min(SPMM_CSR_CHAINS, split.n_pieces); g++) {
                this->take_sums(g * kLanes + lane);
            }
            this->store(split.row);
        }
    }
};

template <typename T, typename C, int kLanes, int kVector, int kLoads, int kBlocks>
__global__ void __launch_bounds__(kCsrBlock, resident_blocks(kCsrBlock, kBlocks))
    csr_mm_rows(const __grid_constant__ spmm_csr_pieces_t A,
                const __grid_constant__ CsrDense<typename CsrSum<T>::type> dense)
{
    using Rows = CsrRows<T, C, kLanes, kVector, kLoads>;
    __shared__ typename Rows::Shared shared;
    const int                        slice = dense.first + (int)blockIdx.y * Rows::kWidth;

    follow(dense);
    Rows(A, dense, shared, slice).run();
    if (dense.share > 0) {
        const int64_t from = (int64_t)blockIdx.x * dense.share;

        Rows(A, dense, shared, slice).run_empty(from, least(from + dense.share, A.n_empty));
    }
}

/** Split rows, one for each thread block along x. */
template <typename T, typename C, int kVector>
__global__ void __launch_bounds__(kCsrBlock)
    csr_mm_splits(const __grid_constant__ spmm_csr_pieces_t A,
                  const __grid_constant__ CsrDense<typename CsrSum<T>::type> dense)
{
    using Rows = CsrRows<T, C, kCsrBlock / SPMM_CSR_CHAINS, kVector, 1>;
    __shared__ typename Rows::Shared shared;

    follow(dense);
    Rows(A, dense, shared, dense.first + (int)blockIdx.y * Rows::kWidth).add_up((int)blockIdx.x);
}

} // namespace spmmi

#endif /* SPMM_CSR_GPU_ROWS_CUH */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_tile.cuh
 *  Column-major C: sums of consecutive rows wait in shared memory until a thread block has all of
 *  them, and lanes then run along the columns.
 */
#ifndef SPMM_CSR_GPU_TILE_CUH
#define SPMM_CSR_GPU_TILE_CUH

#include "cuda/csr_gpu/csr_gpu_pack.cuh"

namespace spmmi
{

/** One sum to a shared address. */
__device__ __forceinline__ void put_shared(uint32_t at, float x)
{
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory");
}
__device__ __forceinline__ void put_shared(uint32_t at, double x)
{
    asm volatile("st.shared.f64 [%0], %1;" ::"r"(at), "d"(x) : "memory");
}
__device__ __forceinline__ void put_shared(uint32_t at, Complex<float> x)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x.re), "f"(x.im) : "memory");
}
__device__ __forceinline__ void put_shared(uint32_t at, Complex<double> x)
{
    asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(at), "d"(x.re), "d"(x.im) : "memory");
}

/** Rows of C of a thread block, by columns.  Columns that the lanes of a group put at a time stand
 *  beside each other, and ld is odd, so that these lanes meet in no bank. */
template <typename Sum, int kLanes, int kVector> struct CsrTile {
    Sum     *at;        /**< [columns of the slice][ld] in shared memory */
    int      ld, first; /**< first row of C */
    uint32_t mine;      /**< shared address of the lane's first column in row 0 of C, if it were
                             there */

    CsrTile() = default; /* on devices, too */
    __device__ __forceinline__ CsrTile(Sum *room, int rows, int from, int lane)
        : at(room), ld(rows + 1), first(from),
          mine(shared_address(room) + (uint32_t)(lane * ld - first) * (uint32_t)sizeof(Sum))
    {
        keep(mine); /* or each row that ends would compute it again */
    }

    /** Element @p k of the lane, of row @p row of C. */
    __device__ __forceinline__ void put(int32_t row, int k, const Sum &x) const
    {
        put_shared(mine + (uint32_t)(k * kLanes * ld + row) * (uint32_t)sizeof(Sum), x);
    }

    /** Where column @p j of the slice stands. */
    static __device__ __forceinline__ int place(unsigned j)
    {
        return (int)((j / (kVector * kLanes) * kVector + j % kVector) * kLanes +
                     j / kVector % kLanes);
    }

    /** Clear @p columns where no row will come. */
    __device__ __forceinline__ void clear(int columns) const
    {
        for (int k = (int)threadIdx.x; k < columns * ld; k += kCsrBlock) {
            at[k] = {};
        }
        __syncthreads();
    }

    /** What a lane stores of a column, rows r, r + kWarp, ... up to @p rows, the first at @p c and
     *  from @p from: all under way at once. */
    template <int kSteps, bool kBeta, typename C>
    static __device__ __forceinline__ void store_column(const CsrDense<Sum> &dense, C *c,
                                                        const Sum *from, int r, int rows)
    {
        Sum x[kSteps];

#pragma unroll
        for (int k = 0; k < kSteps; k++) {
            if ((unsigned)(r + k * kWarp) < (unsigned)rows) {
                x[k] = from[k * kWarp];
            }
        }
#pragma unroll
        for (int k = 0; k < kSteps; k++) {
            if ((unsigned)(r + k * kWarp) < (unsigned)rows) {
                x[k] *= dense.alpha;
                if constexpr (kBeta) {
                    x[k] += dense.beta * widen<Sum>(c[k * kWarp]);
                }
                c[k * kWarp] = Narrow<C>::from(x[k]);
            }
        }
    }

    template <int kSteps, bool kBeta, typename C>
    __device__ __forceinline__ void store_columns(const CsrDense<Sum> &dense, int j, int columns,
                                                  int rows) const
    {
        constexpr int kWarps = kCsrBlock / kWarp;
        const int     lane = (int)threadIdx.x % kWarp, most = min(columns, dense.n - j);
        int           n = (int)threadIdx.x / kWarp;
        C            *c = (C *)dense.C + (j + n) * dense.ldc + first + lane;

        for (; n < most; n += kWarps, c += kWarps * dense.ldc) {
            store_column<kSteps, kBeta>(dense, c, at + place((unsigned)n) * ld + lane, lane, rows);
        }
    }

    /** alpha times @p rows rows, plus beta C, to columns [j, j + columns) of C. */
    template <typename C>
    __device__ __forceinline__ void store(const CsrDense<Sum> &dense, int j, int columns,
                                          int rows) const
    {
        constexpr int kSteps = SPMM_CSR_TILE / kWarp;

        __syncthreads();
        if (dense.has_beta) {
            store_columns<kSteps, true, C>(dense, j, columns, rows);
        } else if (rows <= SPMM_CSR_TILE / 4) {
            store_columns<kSteps / 4, false, C>(dense, j, columns, rows);
        } else if (rows <= SPMM_CSR_TILE / 2) {
            store_columns<kSteps / 2, false, C>(dense, j, columns, rows);
        } else {
            store_columns<kSteps, false, C>(dense, j, columns, rows);
        }
    }
};

/** Of kernels without tiles, which were measured with the registers that the compiler gives them
 *  beside these; nobody reads them. */
struct CsrNoTile {
    void *at;
    int   ld, first;
};

/** A piece of consecutive rows, whose C is stored by columns, or a part of a row. */
template <typename C, class Group> __device__ __forceinline__ void run_tile(Group group, int slice)
{
    extern __shared__ int4 room[];
    const int4             words = __ldg((const int4 *)(group.A.piece + blockIdx.x));
    const bool             whole = words.z < 0;

    group.tile = {(typename Group::Sum *)room, group.A.tile_rows, words.w & INT32_MAX, group.lane};
    if (whole && words.w < 0) {
        group.tile.clear(Group::kWidth);
    }
    group.run(CsrPart(group.A, words.x, words.y));
    if (whole) {
        group.tile.template store<C>(group.dense, slice, Group::kWidth, -words.z);
    }
}

} // namespace spmmi

#endif /* SPMM_CSR_GPU_TILE_CUH */

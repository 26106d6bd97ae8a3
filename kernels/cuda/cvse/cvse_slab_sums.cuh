/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_slab_sums.cuh  The sums of a warp of cvse_slab.cuh, a window of 8 rows by the columns
 *  of the slab, and their way to C.
 */
#ifndef SPMM_CVSE_SLAB_SUMS_CUH
#define SPMM_CVSE_SLAB_SUMS_CUH

#include "cuda/cvse/cvse_format.cuh"

namespace spmmi
{

/** Lane 4 g + t holds rows 2 t and 2 t + 1 of columns 16 i + g and 16 i + 8 + g. */
template <typename Half, typename Out, int kCols> struct CvseSlabSums {
    using Format                 = Cvse<Half, Out, 1>;
    static constexpr int kMma    = kCols / 16; /* for a block */
    static constexpr int kUnits  = kCols / 8;  /* of 8 columns, in a row */
    static constexpr int kStride = kCols + 4;  /* of a row of sums: no two lanes share a bank */
    static constexpr int kRoom   = 8 * kStride;
    static constexpr int kLine   = 16 / (int)sizeof(Out);

    const Format            &A;
    const spmm_tc_mm_args_t &args;
    const int                lane, first; /* first: column */
    float *const             room;        /* [8, kStride] */
    float                    sum[kMma][4];

    __device__ __forceinline__ CvseSlabSums(const Format &format, const spmm_tc_mm_args_t &mm,
                                            float *shared)
        : A(format), args(mm), lane((int)threadIdx.x % kWarp), first((int)blockIdx.y * kCols),
          room(shared)
    {
    }

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < 4 * kMma; k++) {
            (&sum[0][0])[k] = 0.0f;
        }
    }

    /* All sums to the room, a line of lanes for each, and back, added up. */
    __device__ __forceinline__ void leave() const
    {
#pragma unroll
        for (int k = 0; k < 4 * kMma; k++) {
            room[k * kWarp + lane] = (&sum[0][0])[k];
        }
    }
    __device__ __forceinline__ void take(const float *from)
    {
#pragma unroll
        for (int k = 0; k < 4 * kMma; k++) {
            (&sum[0][0])[k] += from[k * kWarp + lane];
        }
    }

    __device__ __forceinline__ bool is_finite() const
    {
        float bad = 0.0f;

#pragma unroll
        for (int k = 0; k < 4 * kMma; k++) {
            bad = taint((&sum[0][0])[k], bad);
        }
        return __all_sync(0xffffffffu, bad == 0.0f);
    }

    /* Row @p i of A from column @p j on; NULL: it is not there. */
    __device__ __forceinline__ Out *at(int64_t i, int64_t j) const
    {
        if (i >= A.n_rows || j >= args.x.n) {
            return NULL;
        }
        return (Out *)args.x.C +
               (args.row_map == NULL ? i : (int64_t)__ldg(args.row_map + i)) * args.x.ldc + j;
    }

    __device__ __forceinline__ void store_unit(int64_t i, int64_t j, const float *x) const
    {
        Out *const c = at(i, j);

        if (c != NULL) {
#pragma unroll
            for (int e = 0; e < 8; e += kLine) {
                store_line<kLine>(args, c + e, x + e);
            }
        }
    }

    /* Through shared memory to lanes that have 8 columns of a row. */
    __device__ __forceinline__ void store_sums(int window) const
    {
        const int g = lane / 4, t = lane % 4;

#pragma unroll
        for (int i = 0; i < kMma; i++) {
            float *const to = room + 2 * t * kStride + 16 * i + g;

            to[0] = sum[i][0], to[kStride] = sum[i][1];
            to[8] = sum[i][2], to[kStride + 8] = sum[i][3];
        }
        __syncwarp();
#pragma unroll
        for (int unit = lane; unit < 8 * kUnits; unit += kWarp) {
            store_unit((int64_t)window * 8 + unit / kUnits, first + unit % kUnits * 8,
                       room + unit / kUnits * kStride + unit % kUnits * 8);
        }
    }

    /* Where 8 columns of a row stand in the room: no eight rows share a bank. */
    __device__ __forceinline__ static int unit_at(int row, int unit)
    {
        return (row * kUnits + (unit ^ (kCols == 64 ? row : row / 2 % 4))) * 16;
    }

    /* The same where C is of 16 bits and beta is 0: results are rounded first and turned on the
     * way. */
    __device__ __forceinline__ void store_rounded(int window) const
    {
        const float alpha = (float)args.x.alpha.re;

#pragma unroll
        for (int i = 0; i < kMma; i += 2) {
            uint32_t x[4];

#pragma unroll
            for (int k = 0; k < 4; k++) {
                const float *const from    = &sum[i + k / 2][k % 2 * 2];
                const Out          pair[2] = {Narrow<Out>::from(alpha * from[0]),
                                              Narrow<Out>::from(alpha * from[1])};

                x[k] = *(const uint32_t *)pair;
            }
            store_matrices(shared_address(room) + (uint32_t)unit_at(lane % 8, 2 * i + lane / 8), x);
        }
        __syncwarp();
#pragma unroll
        for (int unit = lane; unit < 8 * kUnits; unit += kWarp) {
            Out *const c = at((int64_t)window * 8 + unit / kUnits, first + unit % kUnits * 8);

            if (c != NULL) {
                __stcs((int4 *)c,
                       *(const int4 *)((const char *)room + unit_at(unit / kUnits, unit % kUnits)));
            }
        }
    }

    __device__ __forceinline__ void store(int window) const
    {
        if (!is_finite()) {
            repair_tile(A, args, window, first, kCols);
        } else if (sizeof(Out) == 2 && args.x.beta.re == 0.0) {
            store_rounded(window);
        } else {
            store_sums(window);
        }
        __syncwarp();
    }
};

} // namespace spmmi

#endif /* SPMM_CVSE_SLAB_SUMS_CUH */

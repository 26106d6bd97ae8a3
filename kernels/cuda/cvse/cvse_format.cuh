/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_format.cuh  CVSE on the device, and what a warp holds of it at a time. */
#ifndef SPMM_CVSE_FORMAT_CUH
#define SPMM_CVSE_FORMAT_CUH

#include "cuda/dense/first.cuh"
#include "cuda/windows/tc_common.cuh"
#include "engine/cvse/args.h"

namespace spmmi
{

constexpr int kCvseK      = SPMM_CVSE_BLOCK;
constexpr int kCvseNarrow = 32; /* columns of the narrowest slice */
constexpr int kCvseRing   = 4;  /* blocks whose lists and values are in shared memory */

/** The format on the device; kTiles tiles of 8 rows make a window. */
template <typename Half, typename Element, int kTiles> struct Cvse {
    using T                      = float;
    using In                     = Half;
    using Out                    = Element;
    static constexpr int kHeight = kTiles * 8;

    int32_t         n_rows, n_windows;
    const int32_t  *window_ptr, *col;
    const uint16_t *bits;
    const Half     *values;

    __device__ float exact(int32_t window, int32_t row, const Half *B, int64_t ldb, int64_t j) const
    {
        float sum = 0.0f;

        for (int64_t block = window_ptr[window]; block < window_ptr[window + 1]; block++) {
            for (uint32_t left = bits[block * kHeight + row]; left != 0; left &= left - 1) {
                const int     p = __ffs((int)left) - 1;
                const int32_t c = col[block * kCvseK + spmmi_cvse_col_at(p)];
                const Half    a =
                    values[block * (kCvseK * kHeight) + spmmi_cvse_value_at(kHeight, row, p)];

                sum = fma(widen<float>(a), widen<float>(B[c * ldb + j]), sum);
            }
        }
        return sum;
    }
};

/** The same, for kernels that read rows of B 16 bytes at a time where n ends within an access. */
template <typename Half, typename Element, int kTiles>
struct CvseEdged : Cvse<Half, Element, kTiles> {
    int32_t last_col; /**< last row of B, behind which there may be nothing */
};

/** alpha x + beta C, to kLine elements of C at once. */
template <int kLine, typename Out>
__device__ __forceinline__ void store_line(const spmm_tc_mm_args_t &args, Out *c, const float *x)
{
    const float      alpha = (float)args.x.alpha.re, beta = (float)args.x.beta.re;
    Pack<Out, kLine> y = {};

    if (args.x.beta.re != 0.0) {
        y = *(const Pack<Out, kLine> *)c;
    }
#pragma unroll
    for (int e = 0; e < kLine; e++) {
        const float product = alpha * x[e];

        y.at[e] = Narrow<Out>::from(args.x.beta.re == 0.0 ? product
                                                          : product + beta * widen<float>(y.at[e]));
    }
    if constexpr (sizeof y == 8) {
        __stcs((int2 *)c, *(const int2 *)&y);
    } else {
        __stcs((int4 *)c, *(const int4 *)&y);
    }
}

/** The same to the first @p some of them, fewer than all. */
template <int kLine, typename Out>
__device__ __forceinline__ void store_first_of(const spmm_tc_mm_args_t &args, Out *c,
                                               const float *x, int some)
{
    const float      alpha = (float)args.x.alpha.re, beta = (float)args.x.beta.re;
    Pack<Out, kLine> y = {};

    if (args.x.beta.re != 0.0) {
        y = load_first<kLine>(c, some);
    }
#pragma unroll
    for (int e = 0; e < kLine; e++) {
        const float product = alpha * x[e];

        y.at[e] = Narrow<Out>::from(args.x.beta.re == 0.0 ? product
                                                          : product + beta * widen<float>(y.at[e]));
    }
    store_first(c, y, some);
}

/** Blocks that a warp is about to multiply. */
template <typename Half, int kTiles> struct alignas(16) CvseRing {
    Half    values[kCvseRing][kCvseK * 8 * kTiles];
    int32_t col[kCvseRing][kCvseK];
};

} // namespace spmmi

#endif /* SPMM_CVSE_FORMAT_CUH */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_format.cuh  BitTCF on the device, and what a warp holds of it at a time. */
#ifndef SPMM_BITTCF_FORMAT_CUH
#define SPMM_BITTCF_FORMAT_CUH

#include "cuda/tc/tc_common.cuh"
#include "engine/bittcf/args.h"

namespace spmmi
{

constexpr int kSide  = SPMM_BITTCF_SIDE;
constexpr int kGroup = 4; /* blocks of one asynchronous copy */
static_assert(kGroup <= SPMM_TC_PAD, "a copy of lists may reach behind the last block");
constexpr int kRing = 2 * kGroup; /* blocks whose lists are in shared memory */

/** The format on the device; kTiles tiles of 8 rows share the columns of a block. */
template <typename Element, int kTiles> struct Bittcf {
    using T                      = Element;
    using In                     = Element;
    using Out                    = Element;
    static constexpr int kHeight = kTiles * kSide;

    int32_t         n_rows, last_col; /* last row of B */
    const int32_t  *window_ptr, *value_ptr;
    const int32_t  *col; /* a place without a column repeats the one before it */
    const uint64_t *bits;
    const T        *values;

    __device__ T exact(int32_t window, int32_t row, const T *B, int64_t ldb, int64_t j) const
    {
        const int tile = row / kSide, shift = row % kSide * kSide;
        T         sum = {};

        for (int64_t block = window_ptr[window]; block < window_ptr[window + 1]; block++) {
            int64_t at = value_ptr[block];

            for (int k = 0; k < tile; k++) {
                at += __popcll(bits[block * kTiles + k]);
            }
            const uint64_t word = bits[block * kTiles + tile];

            at += __popcll(word & ((1ull << shift) - 1));
            for (uint32_t left = (uint32_t)(word >> shift) & 0xffu; left != 0; left &= left - 1) {
                const int32_t c = col[block * kSide + __ffs((int)left) - 1];

                sum = fma(values[at++], B[c * ldb + j], sum);
            }
        }
        return sum;
    }
};

/** How lanes read B.  Stores to column-major C want registers, masks and edges take time: each has
 *  kernels of its own. */
enum class BittcfAccess {
    kWide,   /**< rows, 16 bytes at a time, in slices that divide n */
    kMasked, /**< the same, and nothing behind the last column */
    kEdge,   /**< the same where n ends within an access, whose other columns are not stored */
    kTurned, /**< as kWide, into column-major C */
    kTurnedMasked, /**< as kMasked, into column-major C */
    kTurnedEdge,   /**< as kEdge, into column-major C */
    kNarrow,       /**< rows, element by element, for any alignment and width; into either C */
    kColumns       /**< column-major B as it lies: condensed columns are often neighbours */
};

constexpr bool has_edge(BittcfAccess access)
{
    return access == BittcfAccess::kEdge || access == BittcfAccess::kTurnedEdge;
}
constexpr bool is_masked(BittcfAccess access)
{
    return access == BittcfAccess::kMasked || access == BittcfAccess::kTurnedMasked ||
           has_edge(access);
}
constexpr bool is_wide(BittcfAccess access)
{
    return access < BittcfAccess::kNarrow;
}
/** Whether C may be column-major. */
constexpr bool knows_columns(BittcfAccess access)
{
    return access >= BittcfAccess::kTurned;
}

/** Whether B was turned by a kernel of the same product, which waited before it let this one begin:
 *  lists of A may be read before that ends. */
constexpr bool is_turned(BittcfAccess access)
{
    return knows_columns(access) && is_wide(access);
}

/** Lists of the blocks a warp is about to multiply. */
template <int kTiles> struct alignas(16) BittcfLists {
    int32_t  col[kRing][kSide];
    uint64_t bits[kRing][kTiles];
};

/** What a lane holds of one block: 16 bytes of two rows of B, kLoads times, and two entries of each
 *  tile of A. */
template <typename Element, int kTiles, int kLoads> struct BittcfTile {
    using T                     = typename RealOf<Element>::type;
    static constexpr int kElems = 16 / (int)sizeof(T);
    Pack<T, kElems>      b[2][kLoads];
    Element              a[kTiles][2];
};

/** An operand in two parts of TF32, as split_tf32() makes them. */
template <int kNumber> struct Split {
    uint32_t hi[kNumber], lo[kNumber];

    /** Pairs of real and imaginary part times i. */
    __device__ __forceinline__ Split turned() const
    {
        Split to;

#pragma unroll
        for (int k = 0; k < kNumber; k += 2) {
            to.hi[k]     = hi[k + 1] ^ kSign;
            to.lo[k]     = lo[k + 1] ^ kSign;
            to.hi[k + 1] = hi[k];
            to.lo[k + 1] = lo[k];
        }
        return to;
    }

    static constexpr uint32_t kSign = 0x80000000u;
};

template <typename T> __device__ __forceinline__ T load_value(const T *from)
{
    return __ldg(from);
}
__device__ __forceinline__ Complex<float> load_value(const Complex<float> *from)
{
    const float2 v = __ldg((const float2 *)from);

    return {v.x, v.y};
}
__device__ __forceinline__ Complex<double> load_value(const Complex<double> *from)
{
    const double2 v = __ldg((const double2 *)from);

    return {v.x, v.y};
}

__device__ __forceinline__ void load_16(Pack<float, 4> &to, const void *from)
{
    const float4 v = __ldg((const float4 *)from);

    to = {{v.x, v.y, v.z, v.w}};
}
__device__ __forceinline__ void load_16(Pack<double, 2> &to, const void *from)
{
    const double2 v = __ldg((const double2 *)from);

    to = {{v.x, v.y}};
}

/** Four or two words from lane 8 t + g, which loaded them, to lane 4 g + t, which multiplies
 *  them. */
template <typename T, int kElems>
__device__ __forceinline__ Pack<T, kElems> to_fragment(const Pack<T, kElems> &x)
{
    const int       lane = (int)threadIdx.x % kWarp, from = lane % 4 * 8 + lane / 4;
    Pack<T, kElems> to;

#pragma unroll
    for (int e = 0; e < kElems; e++) {
        to.at[e] = __shfl_sync(0xffffffffu, x.at[e], from);
    }
    return to;
}

/** The way back. */
template <typename T, int kElems>
__device__ __forceinline__ Pack<T, kElems> from_fragment(const Pack<T, kElems> &x)
{
    const int       lane = (int)threadIdx.x % kWarp, from = lane % 8 * 4 + lane / 8;
    Pack<T, kElems> to;

#pragma unroll
    for (int e = 0; e < kElems; e++) {
        to.at[e] = __shfl_sync(0xffffffffu, x.at[e], from);
    }
    return to;
}

} // namespace spmmi

#endif /* SPMM_BITTCF_FORMAT_CUH */

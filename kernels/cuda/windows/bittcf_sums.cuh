/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_sums.cuh
 *  What a lane sums up: the products of one block after the other, by tensor cores.
 */
#ifndef SPMM_BITTCF_SUMS_CUH
#define SPMM_BITTCF_SUMS_CUH

#include "cuda/windows/tc_common.cuh"
#include "engine/windows/bittcf_args.h"

namespace spmmi
{

/* BitTCF on the device, and what a warp holds of it at a time. */

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

template <typename Element, spmm_compute_t kCompute, int kTiles, int kLoads, bool kWide>
struct BittcfSums {
    using T                     = typename RealOf<Element>::type;
    static constexpr int kElems = 16 / (int)sizeof(T);
    static constexpr int kHalf  = kElems / 2; /* mma of one load */
    using Tile                  = BittcfTile<Element, kTiles, kLoads>;
    using Wide                  = Pack<T, kElems>;

    T sum[kTiles][kLoads][kHalf][4] = {};

    static __device__ __forceinline__ Wide fragment(const Wide &x)
    {
        return kWide ? to_fragment(x) : x;
    }

    __device__ __forceinline__ void multiply(const BittcfTile<double, kTiles, kLoads> &x)
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            const Wide   low = fragment(x.b[0][load]), high = fragment(x.b[1][load]);
            const double b[4] = {low.at[0], low.at[1], high.at[0], high.at[1]};

#pragma unroll
            for (int tile = 0; tile < kTiles; tile++) {
                mma_f64_m16n8k8(sum[tile][load][0], b, x.a[tile]);
            }
        }
    }

    /* Complex: the two columns of an mma are real and imaginary part of one of B.  Turned by i,
     * they are the operand of the imaginary parts of A: four real products in two mma. */
    __device__ __forceinline__ void multiply(const BittcfTile<Complex<double>, kTiles, kLoads> &x)
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            const Wide   low = fragment(x.b[0][load]), high = fragment(x.b[1][load]);
            const double b[4]      = {low.at[0], low.at[1], high.at[0], high.at[1]};
            const double turned[4] = {-low.at[1], low.at[0], -high.at[1], high.at[0]};

#pragma unroll
            for (int tile = 0; tile < kTiles; tile++) {
                const Complex<double>(&a)[2] = x.a[tile];
                const double re[2] = {a[0].re, a[1].re}, im[2] = {a[0].im, a[1].im};

                mma_f64_m16n8k8(sum[tile][load][0], b, re);
                mma_f64_m16n8k8(sum[tile][load][0], turned, im);
            }
        }
    }

    /* TF32: operands rounded, sums in the tensor core.  32F: each operand in two parts, and the
     * three products that count, least first, in a fragment of the block's own: tensor cores cut
     * off bits when they add, which long rows would feel, so the running sums are added in FP32. */
    __device__ __forceinline__ void multiply(const BittcfTile<float, kTiles, kLoads> &x)
    {
        Split<2> a[kTiles];

#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            split_tf32(x.a[k / 2][k % 2], a[k / 2].hi[k % 2], a[k / 2].lo[k % 2]);
        }
#pragma unroll
        for (int k = 0; k < kLoads * kHalf; k++) {
            const Split<4> b = operand(x, k / kHalf, k % kHalf);

#pragma unroll
            for (int tile = 0; tile < kTiles; tile++) {
                float(&to)[4] = sum[tile][k / kHalf][k % kHalf];

                if constexpr (kCompute == SPMM_COMPUTE_32F_FAST_TF32) {
                    mma_tf32_m16n8k8(to, b.hi, a[tile].hi);
                } else {
                    float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};

                    mma_tf32_m16n8k8(part, b.lo, a[tile].hi);
                    mma_tf32_m16n8k8(part, b.hi, a[tile].lo);
                    mma_tf32_m16n8k8(part, b.hi, a[tile].hi);
                    add(to, part);
                }
            }
        }
    }

    __device__ __forceinline__ void multiply(const BittcfTile<Complex<float>, kTiles, kLoads> &x)
    {
        Split<2> re[kTiles], im[kTiles];

#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            split_tf32(x.a[k / 2][k % 2].re, re[k / 2].hi[k % 2], re[k / 2].lo[k % 2]);
            split_tf32(x.a[k / 2][k % 2].im, im[k / 2].hi[k % 2], im[k / 2].lo[k % 2]);
        }
#pragma unroll
        for (int k = 0; k < kLoads * kHalf; k++) {
            const Split<4> b = operand(x, k / kHalf, k % kHalf), turned = b.turned();

#pragma unroll
            for (int tile = 0; tile < kTiles; tile++) {
                float(&to)[4] = sum[tile][k / kHalf][k % kHalf];

                if constexpr (kCompute == SPMM_COMPUTE_32F_FAST_TF32) {
                    mma_tf32_m16n8k8(to, b.hi, re[tile].hi);
                    mma_tf32_m16n8k8(to, turned.hi, im[tile].hi);
                } else {
                    float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};

                    mma_tf32_m16n8k8(part, b.lo, re[tile].hi);
                    mma_tf32_m16n8k8(part, turned.lo, im[tile].hi);
                    mma_tf32_m16n8k8(part, b.hi, re[tile].lo);
                    mma_tf32_m16n8k8(part, turned.hi, im[tile].lo);
                    mma_tf32_m16n8k8(part, b.hi, re[tile].hi);
                    mma_tf32_m16n8k8(part, turned.hi, im[tile].hi);
                    add(to, part);
                }
            }
        }
    }

    static __device__ __forceinline__ void add(float (&to)[4], const float (&x)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            to[k] += x[k];
        }
    }

    /* The m16 side of one mma: a pair of columns of two rows of B. */
    static __device__ __forceinline__ Split<4> operand(const Tile &x, int load, int half)
    {
        const Wide b[2] = {fragment(x.b[0][load]), fragment(x.b[1][load])};
        Split<4>   to;

#pragma unroll
        for (int k = 0; k < 4; k++) {
            split_tf32(b[k / 2].at[2 * half + k % 2], to.hi[k], to.lo[k]);
        }
        return to;
    }

    /* Row i of the pair that a lane has of a tile, the columns of a load. */
    __device__ __forceinline__ Wide sums_of(int tile, int load, int i) const
    {
        Wide x;

#pragma unroll
        for (int e = 0; e < kElems; e++) {
            x.at[e] = sum[tile][load][e / 2][2 * (e % 2) + i];
        }
        return x;
    }

    __device__ __forceinline__ bool is_finite() const
    {
        T bad = 0;

#pragma unroll
        for (int k = 0; k < kTiles * kLoads * kHalf * 4; k++) {
            bad = taint(
                sum[k / (kLoads * kHalf * 4)][k / (kHalf * 4) % kLoads][k / 4 % kHalf][k % 4], bad);
        }
        return __all_sync(0xffffffffu, bad == (T)0);
    }
};

} // namespace spmmi

#endif /* SPMM_BITTCF_SUMS_CUH */

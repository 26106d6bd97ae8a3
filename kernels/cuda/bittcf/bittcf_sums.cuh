/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_sums.cuh
 *  What a lane sums up: the products of one block after the other, by tensor cores.
 */
#ifndef SPMM_BITTCF_SUMS_CUH
#define SPMM_BITTCF_SUMS_CUH

#include "cuda/bittcf/bittcf_format.cuh"

namespace spmmi
{

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

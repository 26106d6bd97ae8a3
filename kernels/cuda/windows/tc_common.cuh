/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_common.cuh
 *  What the tensor-core kernels share: mma instructions, TF32 arithmetic, asynchronous copies, the
 *  sum of split windows and the repair of windows that padding made wrong.
 *
 *  A format takes part as a functor F:
 *      using T                          type of sums
 *      using In, Out                    elements of A and B, and of C
 *      static constexpr int kHeight     rows of a window
 *      int32_t n_rows
 *      T exact(window, row, B, ldb, j)  sum over the stored entries of a row, column j of B
 */
#ifndef SPMM_TC_COMMON_CUH
#define SPMM_TC_COMMON_CUH

#include <type_traits>

#include "cuda/dense/rows.cuh"
#include "engine/windows/tc_args.h"

namespace spmmi
{

/* --- Instructions.  Fragments as in the PTX ISA, "Matrix fragments for mma": lane = 4 g + t.
 * --- */

/** FP16 or BF16, sums in FP32. */
template <typename Half>
__device__ __forceinline__ void mma_half_m16n8k16(float (&d)[4], const uint32_t (&a)[4],
                                                  uint32_t b0, uint32_t b1)
{
    if constexpr (std::is_same_v<Half, __half>) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
}

/** A of 16x32 in 2:4 sparsity, FP16 or BF16; @p e as spmmi_bcsr_meta() says. */
template <typename Half>
__device__ __forceinline__ void mma_sparse_m16n8k32(float (&d)[4], const uint32_t (&a)[4],
                                                    const uint32_t (&b)[4], uint32_t e)
{
    if constexpr (std::is_same_v<Half, __half>) {
        asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),
              "r"(b[3]), "r"(e));
    } else {
        asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),
              "r"(b[3]), "r"(e));
    }
}

__device__ __forceinline__ void mma_tf32_m16n8k4(float (&d)[4], const uint32_t (&a)[2], uint32_t b)
{
    asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
}

__device__ __forceinline__ void mma_tf32_m16n8k8(float (&d)[4], const uint32_t (&a)[4],
                                                 const uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** A 16x8 (k 8) by 8x8: one instruction from sm_90 on, four m8n8k4 before. */
__device__ __forceinline__ void mma_f64_m16n8k8(double (&d)[4], const double (&a)[4],
                                                const double (&b)[2])
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                : "+d"(d[2 * half]), "+d"(d[2 * half + 1])
                : "d"(a[2 * k + half]), "d"(b[k]));
        }
    }
#endif
}

/** The nearest TF32 number; its bits are valid FP32. */
__device__ __forceinline__ uint32_t to_tf32(float x)
{
    uint32_t bits;

#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x)); /* one instruction, rna is three */
#else
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
#endif
    return bits;
}

/** x = hi + lo, hi in TF32 and lo exact in FP32: the tensor core drops what of lo lies below
 *  2^-21 |x|.  Where hi overflows lo is not finite, and the repair of non-finite windows takes
 *  over. */
__device__ __forceinline__ void split_tf32(float x, uint32_t &hi, uint32_t &lo)
{
    hi = to_tf32(x);
    lo = __float_as_uint(x - __uint_as_float(hi));
}

/** 32 bits of a shared address, for ld.shared with offsets that are added at run time. */
__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/** Keeps a value in its register: the compiler would compute it again wherever it is used. */
template <typename P> __device__ __forceinline__ void keep(P *&p)
{
    asm volatile("" : "+l"(p));
}
__device__ __forceinline__ void keep(uint32_t &x)
{
    asm volatile("" : "+r"(x));
}

template <typename V> __device__ __forceinline__ V load_shared(uint32_t address);
template <> __device__ __forceinline__ int32_t     load_shared<int32_t>(uint32_t address)
{
    int32_t v;

    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}
template <> __device__ __forceinline__ int4 load_shared<int4>(uint32_t address)
{
    int4 v;

    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}
template <> __device__ __forceinline__ uint2 load_shared<uint2>(uint32_t address)
{
    uint2 v;

    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "r"(address)
                 : "memory");
    return v;
}

/** Four 8x8 matrices of 16 bits, transposed: lane l gives the address of row l % 8 of number l /
 *  8. */
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
}

/** The reverse: word k of all lanes is a matrix, the rows of which, once it is turned, go to what
 *  lanes 8 k to 8 k + 7 name. */
__device__ __forceinline__ void store_matrices(uint32_t address, const uint32_t (&v)[4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
        "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
        : "memory");
#endif
}

/** The same without turning: as the sums of an mma lie. */
__device__ __forceinline__ void store_lines(uint32_t address, const uint32_t (&v)[4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
#endif
}

__device__ __forceinline__ void store_shared(uint32_t address, const uint32_t (&v)[4])
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v[0]), "r"(v[1]),
                 "r"(v[2]), "r"(v[3])
                 : "memory");
}

/** Start copying kBytes (4, 8 or 16, aligned) to a shared address; zeros where not @p valid, and @p
 *  from is not read then. */
template <int kBytes>
__device__ __forceinline__ void cp_async_at(uint32_t at, const void *from, bool valid = true)
{
    const int bytes = valid ? kBytes : 0;

    if constexpr (kBytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                     "r"(bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from),
                     "n"(kBytes), "r"(bytes)
                     : "memory");
    }
}

template <int kBytes>
__device__ __forceinline__ void cp_async(void *to, const void *from, bool valid = true)
{
    cp_async_at<kBytes>(shared_address(to), from, valid);
}

__device__ __forceinline__ void cp_async_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/** Wait until at most kPending groups of this thread are under way. */
template <int kPending> __device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/* --- Rows of C. --- */

template <typename T>
__device__ __forceinline__ T *row_of_c(const spmm_tc_mm_args_t &args, int64_t i)
{
    return (T *)args.x.C +
           (args.row_map == NULL ? i : (int64_t)__ldg(args.row_map + i)) * args.x.ldc;
}

/** Element (i, j) of C, row- or column-major, i a row of A. */
template <typename T>
__device__ __forceinline__ T *at_c(const spmm_tc_mm_args_t &args, int64_t i, int64_t j)
{
    const int64_t row = args.row_map == NULL ? i : (int64_t)__ldg(args.row_map + i);

    return (T *)args.x.C +
           (args.x.layout != SPMM_LAYOUT_ROW ? row + j * args.x.ldc : row * args.x.ldc + j);
}

/** Row @p row of a window times column j of B, row- or column-major. */
template <class F>
__device__ __forceinline__ typename F::T exact(const F &format, const spmm_tc_mm_args_t &args,
                                               int32_t window, int32_t row, int64_t j)
{
    const bool        by_row = args.x.layout == SPMM_LAYOUT_ROW;
    const auto *const column = (const typename F::In *)args.x.B + (by_row ? j : j * args.x.ldb);

    return format.exact(window, row, column, by_row ? args.x.ldb : 1, 0);
}

template <typename Out, typename T>
__device__ __forceinline__ void store_c(const spmm_tc_mm_args_t &args, Out *c, T sum)
{
    const T product = Factor<T>::of(args.x.alpha) * sum;

    *c = Narrow<Out>::from(
        is_zero(args.x.beta) ? product : product + Factor<T>::of(args.x.beta) * widen<T>(*c));
}

/** 0 when all is finite, else NaN: adding it up over sums costs one instruction each. */
template <typename T> __device__ __forceinline__ T taint(T x, T so_far)
{
    return fma(x, (T)0, so_far);
}

template <typename T> __device__ __forceinline__ bool is_finite(T x)
{
    return taint(x, (T)0) == (T)0;
}
template <typename T> __device__ __forceinline__ bool is_finite(Complex<T> x)
{
    return is_finite(x.re) && is_finite(x.im);
}

/** Padding multiplies entries that A does not store, zeros, by rows of B, which makes NaN of Inf;
 *  and the parts of a split FP32 number may overflow where it does not.  So a warp that finds a sum
 *  that is not finite computes its tile again, from the stored entries alone, and stores that. */
template <class F>
__device__ __forceinline__ void repair_tile(const F &format, const spmm_tc_mm_args_t &args,
                                            int32_t window, int64_t j0, int width)
{
    const int64_t first = (int64_t)window * F::kHeight;
    const int     lane  = (int)threadIdx.x % kWarp;

    for (int row = 0; row < F::kHeight && first + row < format.n_rows; row++) {
        for (int64_t j = j0 + lane; j < j0 + width && j < args.x.n; j += kWarp) {
            store_c(args, at_c<typename F::Out>(args, first + row, j),
                    exact(format, args, window, row, j));
        }
    }
}

/* --- Windows in several work items. --- */

constexpr int kFinishWarps = 8;

/** One thread block adds up one row of a split window, 32 columns: each warp a run of work items,
 *  then the runs, always in the same order.  It lives by loads under way, so the rare exact() must
 *  not take the registers of half the warps. */
template <class F>
__global__ void __launch_bounds__(kFinishWarps *kWarp, resident_blocks(kFinishWarps *kWarp, 8))
    finish_splits(F format, spmm_tc_work_t work, spmm_tc_mm_args_t args)
{
    using T = typename F::T;
    __shared__ T          run[kFinishWarps][kWarp];
    const spmm_tc_split_t split = work.split[blockIdx.x / F::kHeight];
    const int             row   = (int)(blockIdx.x % F::kHeight);
    const int             lane = (int)threadIdx.x % kWarp, warp = (int)threadIdx.x / kWarp;
    const int64_t         i    = (int64_t)split.window * F::kHeight + row;
    const int             from = (int)((int64_t)split.n_items * warp / kFinishWarps);
    const int             to   = (int)((int64_t)split.n_items * (warp + 1) / kFinishWarps);

    wait_for_earlier();
    let_next_begin();
    if (i >= format.n_rows) {
        return;
    }
    for (int64_t j0 = (int64_t)blockIdx.y * kWarp; j0 < args.x.n;
         j0 += (int64_t)gridDim.y * kWarp) {
        const int64_t  j    = j0 + lane;
        const int64_t  step = (int64_t)F::kHeight * args.x.n;
        const T *const part =
            (const T *)work.partial + ((int64_t)split.item * F::kHeight + row) * args.x.n + j;
        T sum = {};

        if (j < args.x.n) {
#pragma unroll 8
            for (int p = from; p < to; p++) {
                sum += part[p * step];
            }
        }
        __syncthreads(); /* run may still be read for the last columns */
        run[warp][lane] = sum;
        __syncthreads();
        if (warp == 0 && j < args.x.n) {
#pragma unroll
            for (int k = 1; k < kFinishWarps; k++) {
                sum += run[k][lane];
            }
            if (!is_finite(sum)) {
                sum = exact(format, args, split.window, row, j);
            }
            store_c(args, at_c<typename F::Out>(args, i, j), sum);
        }
    }
}

template <class F>
cudaError_t launch_finish(const F &format, const spmm_tc_work_t &work,
                          const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    if (work.n_splits == 0) {
        return cudaSuccess;
    }
    /* Splits are fewer than work items / 2 and long: the product stays far below the limit of x. */
    const dim3 grid((unsigned)(work.n_splits * F::kHeight),
                    (unsigned)least(ceil_div(args.x.n, kWarp), kMaxGridYZ));

    return launch_early(0, finish_splits<F>, grid, dim3(kFinishWarps * kWarp), stream, format, work,
                        args);
}

} // namespace spmmi

#endif /* SPMM_TC_COMMON_CUH */

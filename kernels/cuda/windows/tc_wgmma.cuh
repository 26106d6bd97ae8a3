/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_wgmma.cuh
 *  Products of four warps together (wgmma), which capability 9.0 has and no other: both sides in
 *  shared memory, sums in registers.  Without SPMM_HAS_WGMMA, which code for another architecture
 *  lacks, a kernel must not run.
 */
#ifndef SPMM_TC_WGMMA_CUH
#define SPMM_TC_WGMMA_CUH

#include "cuda/windows/tc_common.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define SPMM_HAS_WGMMA
#endif

namespace spmmi
{

/** A kernel that ends at once without it is left out of code for other architectures. */
#ifdef SPMM_HAS_WGMMA
constexpr bool kHasWgmma = true;
#else
constexpr bool kHasWgmma = false;
#endif

/** Rows of 64 elements of 16 bits, 128 bytes each at multiples of 1024, eight by eight, as a box of
 *  a tensor map has them: the words of 16 bytes turned by the number of the row.  16 columns on is
 *  2 more. */
__device__ __forceinline__ uint64_t wgmma_side(uint32_t address)
{
    const uint64_t eight_rows = 1024 >> 4, turned = (uint64_t)1 << 62;

    return turned | eight_rows << 32 | (uint64_t)1 << 16 | (address & 0x3ffff) >> 4;
}

/** Registers of each of four warps from here on: those that fetch leave theirs to those that
 *  multiply. */
template <int kCount> __device__ __forceinline__ void keep_registers()
{
#ifdef SPMM_HAS_WGMMA
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}
template <int kCount> __device__ __forceinline__ void take_registers()
{
#ifdef SPMM_HAS_WGMMA
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}

/** What was written to registers and shared memory counts for the products that follow. */
__device__ __forceinline__ void wgmma_begin()
{
#ifdef SPMM_HAS_WGMMA
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/** A group ends. */
__device__ __forceinline__ void wgmma_commit()
{
#ifdef SPMM_HAS_WGMMA
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/** Wait until at most kPending groups are under way. */
template <int kPending> __device__ __forceinline__ void wgmma_wait()
{
#ifdef SPMM_HAS_WGMMA
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#endif
}

/** The same for all groups; nothing is done with their sums before. */
template <int kSums> __device__ __forceinline__ void wgmma_finish(float (&d)[kSums])
{
    wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < kSums; i++) {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}

/* clang-format off */
#define SPMM_WGMMA(type)                                                                           \
    asm volatile("{\n"                                                                             \
        ".reg .pred more;\n"                                                                       \
        "setp.ne.b32 more, %66, 0;\n"                                                              \
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " "                           \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, " \
        "%64, %65, more, 1, 1, 0, 0;\n"                                                            \
        "}\n" :                                                                                    \
          "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]) ,\
          "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]) ,\
          "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]) ,\
          "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]) ,\
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]) ,\
          "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]) ,\
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]) ,\
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]) ,\
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]) ,\
          "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]) ,\
          "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])         : "l"(a), "l"(b), "r"(more))
/* clang-format on */

/** d = or, with @p more, += 64 rows by 128, 16 columns of each.  Lane 4 g + t of warp w has
 *  row 16 w + g + 8 h and column 8 j + 2 t + e at d[4 j + 2 h + e]. */
template <typename Half>
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], uint64_t a, uint64_t b, int more)
{
#ifdef SPMM_HAS_WGMMA
    if constexpr (std::is_same_v<Half, __half>) {
        SPMM_WGMMA("f16");
    } else {
        SPMM_WGMMA("bf16");
    }
#else
    __trap();
#endif
}

#undef SPMM_WGMMA

} // namespace spmmi

#endif /* SPMM_TC_WGMMA_CUH */

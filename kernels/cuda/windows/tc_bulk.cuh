/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_bulk.cuh
 *  Boxes of a matrix that are copied to shared memory by a tensor map, on devices of capability
 *  9.0, and the barriers that say when they have arrived.  Barriers are shared addresses.
 */
#ifndef SPMM_TC_BULK_CUH
#define SPMM_TC_BULK_CUH

#include <cuda.h>

#include "cuda/windows/tc_common.cuh"

namespace spmmi
{

/** A barrier that passes a phase when @p count threads have arrived, and the bytes they expect. */
__device__ __forceinline__ void barrier_init(uint32_t barrier, int count)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
#endif
}

/** Copies see what this thread has written to shared memory, barriers too. */
__device__ __forceinline__ void show_to_copies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}

/** Arrive, and expect that many bytes more. */
__device__ __forceinline__ void barrier_expect(uint32_t barrier, int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
#endif
}

/** Wait until the phase of this @p parity has passed: the first is 0, and before it 1 has. */
__device__ __forceinline__ void barrier_wait(uint32_t barrier, int parity)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("{\n"
                 ".reg .pred there;\n"
                 "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 there, [%0], %1;\n"
                 "@there bra DONE;\n"
                 "bra AGAIN;\n"
                 "DONE:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
#endif
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap &map)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

/** Start copying the box whose first element is in that row and column to the shared address @p to;
 *  @p barrier counts its bytes. */
__device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap &map, int row, int column,
                                         uint32_t barrier)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
#endif
}

/** Start copying @p bytes, a multiple of 16 at such addresses, to the shared address @p to. */
__device__ __forceinline__ void copy_bytes(uint32_t to, const void *from, int bytes,
                                           uint32_t barrier)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
                 : "memory");
#endif
}

/** A place of a ring of stages, and how many times all of it were used. */
struct Turn {
    int stage = 0, parity = 0;

    __device__ __forceinline__ void next(int stages)
    {
        stage++;
        if (stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/** The driver's function that makes a tensor map; NULL: there is none. */
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder()
{
    static decltype(&cuTensorMapEncodeTiled) const encoder = [] {
        void                           *found = NULL;
        cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
        const cudaError_t code = cudaGetDriverEntryPointByVersion(
            "cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
        const cudaError_t code =
            cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif

        return (decltype(&cuTensorMapEncodeTiled))(code == cudaSuccess ? found : NULL);
    }();

    return encoder;
}

/** How the 16-byte words of a box lie in shared memory: row by row, those of 64 or 128 bytes turned
 *  by the number of the row or not. */
enum class Words { kStraight, kTurned64, kTurned128 };

/** Of a row-major matrix of elements of 2, 4 or 8 bytes in boxes; zeros behind its edges.
 *  @return false: there is no such map */
inline bool make_map(const void *from, int size, int64_t rows, int64_t columns, int64_t ld,
                     int box_rows, int box_columns, Words words, CUtensorMap *map)
{
    const cuuint64_t extent[2] = {(cuuint64_t)columns, (cuuint64_t)rows};
    const cuuint64_t stride[1] = {(cuuint64_t)ld * (cuuint64_t)size};
    const cuuint32_t box[2]    = {(cuuint32_t)box_columns, (cuuint32_t)box_rows};
    const cuuint32_t step[2]   = {1, 1};
    const auto       encode    = tensor_map_encoder();

    return encode != NULL && encode(map,
                                    size == 2   ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                    : size == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                : CU_TENSOR_MAP_DATA_TYPE_UINT64,
                                    2, (void *)(uintptr_t)from, extent, stride, box, step,
                                    CU_TENSOR_MAP_INTERLEAVE_NONE,
                                    words == Words::kStraight    ? CU_TENSOR_MAP_SWIZZLE_NONE
                                    : words == Words::kTurned128 ? CU_TENSOR_MAP_SWIZZLE_128B
                                                                 : CU_TENSOR_MAP_SWIZZLE_64B,
                                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/** The same of 16-bit elements in boxes of 32 or 64 columns, whose words are turned. */
inline bool make_box_map(const void *from, int64_t rows, int64_t columns, int64_t ld, int box_rows,
                         int box_columns, CUtensorMap *map)
{
    return make_map(from, 2, rows, columns, ld, box_rows, box_columns,
                    box_columns == 64 ? Words::kTurned128 : Words::kTurned64, map);
}

} // namespace spmmi

#endif /* SPMM_TC_BULK_CUH */

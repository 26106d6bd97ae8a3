/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_slab.cuh
 *  CVSE where windows share most rows of B, as those of pruned weights do: a thread block keeps 32
 *  or 64 columns of all of B in shared memory and multiplies windows of 8 rows with them.
 *
 *  - One warp asks for B by a tensor map, 128 rows at a time, and is done.  The others read the
 *    lists of their first window meanwhile, and multiply a batch of blocks when the last row of B
 *    that it names has arrived.
 *  - A tile of B^T, the m16 side of mma.m16n8k16, is one ldmatrix of rows wherever they stand.
 *    All those of two blocks are under way before their first mma.
 *  - Sums go through shared memory to lanes that have 8 columns of a row.
 */
#ifndef SPMM_CVSE_SLAB_CUH
#define SPMM_CVSE_SLAB_CUH

#include <cuda.h>

#include "cuda/cvse/cvse_format.cuh"

namespace spmmi
{

__device__ __forceinline__ uint32_t in_shared(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Of four 8x8 matrices the rows that lanes name, transposed. */
__device__ __forceinline__ void load_transposed(uint32_t (&to)[4], uint32_t row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

/** What a launch of the kernel needs beside the product. */
struct CvseSlabWork {
    int32_t n_rows; /**< of B, up to a multiple of SPMM_CVSE_SLAB_ROWS */
    int32_t rounds; /**< windows of a warp */
};

template <typename Half, typename Out, int kCols> struct CvseSlab {
    using Format                 = Cvse<Half, Out, 1>;
    static constexpr int kParts  = kCols / 16; /* mma for a block */
    static constexpr int kRow    = kCols * (int)sizeof(Half);
    static constexpr int kChunk  = SPMM_CVSE_SLAB_ROWS;
    static constexpr int kBatch  = 4;         /* blocks whose lists a lane holds */
    static constexpr int kStride = kCols + 4; /* of a row of sums: no two lanes share a bank */
    static constexpr int kLine   = 16 / (int)sizeof(Out);

    const Format            &A;
    const spmm_tc_mm_args_t &args;
    const CvseSlabWork       work;
    const int                lane, warp, n_warps, first; /* first column */
    char *const              slab;                       /* [n_rows] and a row of zeros */
    uint64_t *const          arrived;                    /* a barrier for each chunk of rows */
    float *const             room;                       /* of this warp: [8, kStride] */
    int32_t                  col[kBatch];
    uint2                    a[kBatch];
    int                      window;    /* of this warp, the next */
    int2                     blocks;    /* its first, and behind its last */
    int                      ready = 0; /* chunks that are known to have arrived */
    float                    sum[kParts][4];

    __device__ __forceinline__ CvseSlab(const Format &format, const spmm_tc_mm_args_t &mm,
                                        const CvseSlabWork &w, char *shared)
        : A(format), args(mm), work(w), lane((int)threadIdx.x % kWarp),
          warp((int)threadIdx.x / kWarp), n_warps((int)blockDim.x / kWarp - 1),
          first((int)blockIdx.x * kCols),
          slab(shared + (SPMM_CVSE_SLAB_ALIGN - in_shared(shared) % SPMM_CVSE_SLAB_ALIGN) %
                            SPMM_CVSE_SLAB_ALIGN),
          arrived((uint64_t *)(slab + (size_t)w.n_rows * kRow + SPMM_CVSE_SLAB_ZEROS)),
          room((float *)(arrived + SPMM_CVSE_SLAB_CHUNKS) + warp * 8 * kStride)
    {
    }

    __device__ __forceinline__ void ask_for_b(const CUtensorMap &map) const
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        const int n_chunks = work.n_rows / kChunk;

        for (int k = 0; k < n_chunks; k++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_shared(arrived + k))
                         : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        for (int k = 0; k < n_chunks; k++) {
            const uint32_t bar = in_shared(arrived + k);

            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar),
                         "r"(kChunk * kRow)
                         : "memory");
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
                "bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(in_shared(slab) + k * kChunk * kRow),
                "l"(&map), "r"(first), "r"(k * kChunk), "r"(bar)
                : "memory");
        }
#endif
    }

    __device__ __forceinline__ void wait_for_chunk(int k) const
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        asm volatile("{\n"
                     ".reg .pred there;\n"
                     "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 there, [%0], 0;\n"
                     "@there bra DONE;\n"
                     "bra AGAIN;\n"
                     "DONE:\n"
                     "}" ::"r"(in_shared(arrived + k))
                     : "memory");
#endif
    }

    __device__ __forceinline__ int2 blocks_of(int window) const
    {
        return window < A.n_windows
                   ? make_int2(__ldg(A.window_ptr + window), __ldg(A.window_ptr + window + 1))
                   : make_int2(0, 0);
    }

    /* Lists and values of a batch.  Row k of the mma is place k / 2 + 4 (k % 2) of a half block,
     * and lane l names row l % 8 of half l / 16 to ldmatrix. */
    __device__ __forceinline__ void read(int begin, int end)
    {
        const int at = lane % 8 / 2 * 4 + lane % 2 + lane / 16 * 2;

#pragma unroll
        for (int k = 0; k < kBatch; k++) {
            const int64_t block = begin + k;

            col[k] = SPMM_TC_NO_COLUMN;
            a[k]   = make_uint2(0, 0);
            if (block < end) {
                col[k] = __ldg(A.col + block * kCvseK + at);
                a[k]   = __ldg((const uint2 *)(A.values + block * (kCvseK * 8)) + lane);
            }
        }
    }

    /* The swizzle of the tensor map: 16-byte words of a row by the row's number. */
    __device__ __forceinline__ static int turn(int row)
    {
        return kCols == 64 ? row % 8 : row / 2 % 4;
    }

    /* Sums of an FP32 C are rounded to nearest from block to block, as those of CvseRows. */
    __device__ __forceinline__ void add(float (&to)[4], const uint32_t (&b)[4], uint2 x) const
    {
        if constexpr (std::is_same_v<Out, float>) {
            float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};

            mma_half_m16n8k16<Half>(part, b, x.x, x.y);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                to[k] += part[k];
            }
        } else {
            mma_half_m16n8k16<Half>(to, b, x.x, x.y);
        }
    }

    /* The batch of blocks [begin, end) that was read; reads [next, next_end) meanwhile. */
    __device__ __forceinline__ void multiply(int begin, int end, int next, int next_end)
    {
        uint32_t row[kBatch], swap[kBatch];
        uint2    x[kBatch];
        int      last = -1;

#pragma unroll
        for (int k = 0; k < kBatch; k++) {
            const int at = col[k] >= 0 ? col[k] : work.n_rows;

            last    = max(last, col[k]);
            row[k]  = in_shared(slab) + at * kRow;
            swap[k] = (uint32_t)(turn(at) ^ lane / 8 % 2);
            x[k]    = a[k];
        }
        read(next, next_end);
        last = __reduce_max_sync(0xffffffffu, last) / kChunk;
        for (; ready <= last; ready++) {
            wait_for_chunk(ready);
        }
#pragma unroll
        for (int k = 0; k < kBatch; k += 2) {
            uint32_t b[2][kParts][4];

            if (begin + k >= end) {
                break;
            }
#pragma unroll
            for (int e = 0; e < 2 * kParts; e++) {
                const int i = e % kParts, h = e / kParts;

                load_transposed(b[h][i], row[k + h] + ((swap[k + h] ^ (uint32_t)(2 * i)) << 4));
            }
#pragma unroll
            for (int e = 0; e < 2 * kParts; e++) {
                add(sum[e % kParts], b[e / kParts][e % kParts], x[k + e / kParts]);
            }
        }
    }

    __device__ __forceinline__ bool is_finite() const
    {
        float bad = 0.0f;

#pragma unroll
        for (int k = 0; k < 4 * kParts; k++) {
            bad = taint((&sum[0][0])[k], bad);
        }
        return __all_sync(0xffffffffu, bad == 0.0f);
    }

    __device__ __forceinline__ void store_line(Out *c, const float *x) const
    {
        struct alignas(16) Line {
            Out at[kLine];
        } y               = {};
        const float alpha = (float)args.x.alpha.re, beta = (float)args.x.beta.re;

        if (args.x.beta.re != 0.0) {
            y = *(const Line *)c;
        }
#pragma unroll
        for (int e = 0; e < kLine; e++) {
            const float product = alpha * x[e];

            y.at[e] = Narrow<Out>::from(
                args.x.beta.re == 0.0 ? product : product + beta * widen<float>(y.at[e]));
        }
        __stcs((int4 *)c, *(const int4 *)&y);
    }

    __device__ __forceinline__ void store(int window) const
    {
        constexpr int kUnits = kCols / 8; /* of 8 columns in a row */
        const int     g = lane / 4, t = lane % 4;

#pragma unroll
        for (int i = 0; i < kParts; i++) {
            float *const to = room + 2 * t * kStride + 16 * i + g;

            to[0] = sum[i][0], to[kStride] = sum[i][1];
            to[8] = sum[i][2], to[kStride + 8] = sum[i][3];
        }
        __syncwarp();
#pragma unroll
        for (int unit = lane; unit < 8 * kUnits; unit += kWarp) {
            const float *const x   = room + unit / kUnits * kStride + unit % kUnits * 8;
            const int64_t      row = (int64_t)window * 8 + unit / kUnits;
            const int64_t      j   = first + unit % kUnits * 8;

            if (row < A.n_rows && j < args.x.n) {
                const int64_t to = args.row_map == NULL ? row : __ldg(args.row_map + row);
                Out *const    c  = (Out *)args.x.C + to * args.x.ldc + j;

#pragma unroll
                for (int e = 0; e < 8; e += kLine) {
                    store_line(c + e, x + e);
                }
            }
        }
        __syncwarp();
    }

    __device__ __forceinline__ void begin()
    {
        window = (int)blockIdx.y * n_warps * work.rounds + warp;
        blocks = blocks_of(window);
        read(blocks.x, blocks.y);
    }

    __device__ __forceinline__ void run()
    {
        for (int round = 0; round < work.rounds; round++, window += n_warps) {
            const bool more = round + 1 < work.rounds;
            const int2 next = more ? blocks_of(window + n_warps) : make_int2(0, 0);

#pragma unroll
            for (int k = 0; k < 4 * kParts; k++) {
                (&sum[0][0])[k] = 0.0f;
            }
            for (int b = blocks.x; b < blocks.y; b += kBatch) {
                const bool here = b + kBatch < blocks.y;

                multiply(b, blocks.y, here ? b + kBatch : next.x, here ? blocks.y : next.y);
            }
            if (blocks.x >= blocks.y) {
                read(next.x, next.y);
            }
            blocks = next;
            if (window >= A.n_windows) {
                continue;
            }
            if (is_finite()) {
                store(window);
            } else {
                repair_tile(A, args, window, first, kCols);
            }
        }
        for (int n_chunks = work.n_rows / kChunk; ready < n_chunks; ready++) {
            wait_for_chunk(ready); /* nothing may arrive behind the end */
        }
    }
};

template <typename Half, typename Out, int kCols>
__global__ void __launch_bounds__((SPMM_CVSE_SLAB_WARPS + 1) * kWarp, 1)
    cvse_slab_mm(const __grid_constant__ CUtensorMap map,
                 const __grid_constant__ Cvse<Half, Out, 1> A,
                 const __grid_constant__ spmm_tc_mm_args_t  args,
                 const __grid_constant__ CvseSlabWork       work)
{
    extern __shared__ char     shared[];
    CvseSlab<Half, Out, kCols> block(A, args, work, shared);

    const bool multiplies = block.warp < block.n_warps;

    if (multiplies) {
        block.begin();
    } else {
        if (block.lane == 0) {
            block.ask_for_b(map);
        }
        __syncwarp();
        ((int *)(block.slab + (size_t)work.n_rows * block.kRow))[block.lane] = 0;
    }
    __syncthreads(); /* the barriers and the row of zeros are there */
    if (multiplies) {
        block.run();
    }
}

} // namespace spmmi

#endif /* SPMM_CVSE_SLAB_CUH */

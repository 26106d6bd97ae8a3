/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder.cu  The steps of the ladder.  Fragments are read by ldmatrix, which SMaT does by
 *  32-bit loads; C goes to memory from registers, in all steps alike. */
#include "cuda/tc/tc_common.cuh"
#include "ladder_mm.h"

namespace
{

constexpr unsigned kAll = 0xffffffffu;

template <int kWidth> struct Stage {
    __half   a[LADDER_ROWS * kWidth];
    __half   b[LADDER_COLUMNS * kWidth]; /* by columns */
    uint32_t meta[LADDER_META];
};

/** Tile @p t of a list of A and the 8 columns of B that it meets. */
template <int kWidth, bool kSparse>
__device__ void load(const ladder_tiles_t &A, const __half *Bt, int64_t ldb, int t,
                     Stage<kWidth> &stage)
{
    constexpr int kParts = kWidth / 8; /* words of 16 bytes in a column of B's tile */
    const int     lane   = threadIdx.x;
    const int     col    = kSparse ? A.sparse_col[t] : A.dense_col[t];

    if constexpr (kSparse) {
        spmmi::cp_async<16>(stage.a + 8 * lane, A.packed + (int64_t)t * LADDER_PACKED + 8 * lane);
        if (lane < LADDER_META / 4) {
            spmmi::cp_async<16>(stage.meta + 4 * lane,
                                A.meta + (int64_t)t * LADDER_META + 4 * lane);
        }
    } else {
#pragma unroll
        for (int k = lane; k < 2 * kWidth; k += 32) {
            spmmi::cp_async<16>(stage.a + 8 * k,
                                A.dense + (int64_t)t * (LADDER_ROWS * kWidth) + 8 * k);
        }
    }
    if (lane < LADDER_COLUMNS * kParts) {
        spmmi::cp_async<16>(stage.b + 8 * lane,
                            Bt + lane / kParts * ldb + (int64_t)col * kWidth + lane % kParts * 8);
    }
}

__device__ void ldmatrix4(const void *at, uint32_t r[4])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(spmmi::shared_address(at))
                 : "memory");
}

__device__ void ldmatrix2(const void *at, uint32_t r[2])
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];\n"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(spmmi::shared_address(at))
                 : "memory");
}

template <int kWidth, bool kSparse>
__device__ void multiply(const Stage<kWidth> &stage, float (&c)[4])
{
    const int lane = threadIdx.x;
    const int row = lane % 16, right = lane / 16 * 8; /* of A, for ldmatrix */
    const int below = lane % 8 * kWidth + lane / 8 % (kWidth / 8) * 8;
    uint32_t  a[4], b[4];

    if constexpr (kWidth == LADDER_ROWS) {
        ldmatrix4(stage.a + row * kWidth + right, a);
        ldmatrix2(stage.b + below, b);
        spmmi::mma_half_m16n8k16<__half>(c, a, b[0], b[1]);
    } else {
        ldmatrix4(stage.b + below, b);
        if constexpr (kSparse) {
            ldmatrix4(stage.a + row * 16 + right, a);
            spmmi::mma_sparse_m16n8k32<__half>(c, a, b, stage.meta[lane / 4 * 2 + lane % 2]);
        } else {
            ldmatrix4(stage.a + row * kWidth + right, a);
            spmmi::mma_half_m16n8k16<__half>(c, a, b[0], b[1]);
            ldmatrix4(stage.a + row * kWidth + 16 + right, a);
            spmmi::mma_half_m16n8k16<__half>(c, a, b[2], b[3]);
        }
    }
}

/** All tiles of a list in tile row @p row, the next one on its way while one is multiplied. */
template <int kWidth, bool kSparse>
__device__ void pipeline(const ladder_tiles_t &A, const __half *Bt, int64_t ldb, int row,
                         Stage<kWidth> stage[2], float (&c)[4])
{
    const int32_t *ptr   = kSparse ? A.sparse_ptr : A.dense_ptr;
    const int      first = ptr[row], last = ptr[row + 1];

#pragma unroll
    for (int k = 0; k < 2; k++) {
        if (first + k < last) {
            load<kWidth, kSparse>(A, Bt, ldb, first + k, stage[k]);
        }
        spmmi::cp_async_commit();
    }
    for (int t = first; t < last; t++) {
        Stage<kWidth> &now = stage[(t - first) % 2];

        spmmi::cp_async_wait<1>();
        __syncwarp(kAll);
        multiply<kWidth, kSparse>(now, c);
        __syncwarp(kAll);
        if (t + 2 < last) {
            load<kWidth, kSparse>(A, Bt, ldb, t + 2, now);
        }
        spmmi::cp_async_commit();
    }
    spmmi::cp_async_wait<0>();
    __syncwarp(kAll);
}

template <int kWidth>
__global__ void __launch_bounds__(32)
    ladder_kernel(ladder_tiles_t A, const __half *Bt, int64_t ldb, __half *C, int64_t n)
{
    __shared__ __align__(16) Stage<kWidth> stage[2];

    const int     lane = threadIdx.x;
    const int     row  = blockIdx.y;
    const int64_t n0   = (int64_t)blockIdx.x * LADDER_COLUMNS;
    float         c[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    Bt += n0 * ldb;
    pipeline<kWidth, false>(A, Bt, ldb, row, stage, c);
    if constexpr (kWidth == LADDER_WIDE) {
        pipeline<kWidth, true>(A, Bt, ldb, row, stage, c);
    }
    C += ((int64_t)row * LADDER_ROWS + lane / 4) * n + n0 + lane % 4 * 2;
    *(__half2 *)C           = __floats2half2_rn(c[0], c[1]);
    *(__half2 *)(C + 8 * n) = __floats2half2_rn(c[2], c[3]);
}

} // namespace

extern "C" cudaError_t ladder_mm(ladder_step_t step, const ladder_tiles_t *A, const void *Bt,
                                 int64_t ldb, void *C, int64_t n, cudaStream_t stream)
{
    const dim3 grid((unsigned)(n / LADDER_COLUMNS), (unsigned)A->n_tile_rows);

    if (n % LADDER_COLUMNS != 0 || A->n_tile_rows > 65535 || A->width != ladder_width(step)) {
        return cudaErrorInvalidValue;
    }
    if (n > 0 && A->n_tile_rows > 0) {
        auto *const kernel =
            step == LADDER_OBT ? ladder_kernel<LADDER_ROWS> : ladder_kernel<LADDER_WIDE>;

        kernel<<<grid, 32, 0, stream>>>(*A, (const __half *)Bt, ldb, (__half *)C, n);
    }
    return cudaGetLastError();
}

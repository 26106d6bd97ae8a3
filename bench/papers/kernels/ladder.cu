/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder.cu  The steps of the ladder.  Fragments are read by ldmatrix, which SMaT does by
 *  32-bit loads; C goes to memory from registers, in all steps alike. */
#include "cuda/windows/tc_common.cuh"
#include "ladder.h"

namespace
{

constexpr unsigned kAll = 0xffffffffu;

/** How tiles come to shared memory, and which are looked for. */
enum class Copy { Plain, Async, Pipeline };
enum class Walk { Map, List, Separate };

template <int kWidth> struct Stage {
    __half   a[LADDER_ROWS * kWidth];
    __half   b[LADDER_COLUMNS * kWidth]; /* by columns */
    uint32_t meta[kWidth / 2];
};

struct Tile {
    int  col, at;
    bool sp24;
};

template <bool kAsync> __device__ void copy16(void *to, const void *from)
{
    if constexpr (kAsync) {
        spmmi::cp_async<16>(to, from);
    } else {
        *(int4 *)to = *(const int4 *)from;
    }
}

/** A tile of A and the 8 columns of B that it meets. */
template <int kWidth, bool kAsync>
__device__ void load(const ladder_tiles_t &A, const __half *Bt, int64_t ldb, Tile tile,
                     Stage<kWidth> &stage)
{
    constexpr int kParts = kWidth / 8; /* words of 16 bytes in a column of B's tile */
    constexpr int kMeta  = kWidth / 2;
    const int     lane   = threadIdx.x;

    if (tile.sp24) {
        if (lane < kWidth) {
            copy16<kAsync>(stage.a + 8 * lane,
                           A.packed + (int64_t)tile.at * (8 * kWidth) + 8 * lane);
        }
        if (lane < kMeta / 4) {
            copy16<kAsync>(stage.meta + 4 * lane, A.meta + (int64_t)tile.at * kMeta + 4 * lane);
        }
    } else {
#pragma unroll
        for (int k = lane; k < 2 * kWidth; k += 32) {
            copy16<kAsync>(stage.a + 8 * k,
                           A.dense + (int64_t)tile.at * (LADDER_ROWS * kWidth) + 8 * k);
        }
    }
    if (lane < LADDER_COLUMNS * kParts) {
        copy16<kAsync>(stage.b + 8 * lane,
                       Bt + lane / kParts * ldb + (int64_t)tile.col * kWidth + lane % kParts * 8);
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

/** Lanes 4 g give the metadata of rows g and g + 8 (selector 0). */
__device__ void mma_sparse_m16n8k16(float (&c)[4], const uint32_t a[2], const uint32_t b[2],
                                    uint32_t meta)
{
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x0;\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(meta));
}

template <int kWidth> __device__ void multiply(const Stage<kWidth> &stage, bool sp24, float (&c)[4])
{
    const int lane = threadIdx.x;
    const int row = lane % 16, right = lane / 16 * 8; /* of A, for ldmatrix */
    const int below = lane % 8 * kWidth + lane / 8 % (kWidth / 8) * 8;
    uint32_t  a[4], b[4];

    if constexpr (kWidth == LADDER_ROWS) {
        ldmatrix2(stage.b + below, b);
        if (sp24) {
            ldmatrix2(stage.a + row * 8, a);
            mma_sparse_m16n8k16(c, a, b, stage.meta[lane / 4]);
        } else {
            ldmatrix4(stage.a + row * kWidth + right, a);
            spmmi::mma_half_m16n8k16<__half>(c, a, b[0], b[1]);
        }
    } else {
        ldmatrix4(stage.b + below, b);
        if (sp24) {
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

/** One stage, filled and used in turn. */
template <int kWidth, bool kAsync>
__device__ void step(const ladder_tiles_t &A, const __half *Bt, int64_t ldb, Tile tile,
                     Stage<kWidth> &stage, float (&c)[4])
{
    load<kWidth, kAsync>(A, Bt, ldb, tile, stage);
    if constexpr (kAsync) {
        spmmi::cp_async_commit();
        spmmi::cp_async_wait<0>();
    }
    __syncwarp(kAll);
    multiply<kWidth>(stage, tile.sp24, c);
    __syncwarp(kAll);
}

/** All tiles from @p first on, the next one on its way while one is multiplied.
 *  @p tile_of: of a number. */
template <int kWidth, class TileOf>
__device__ void pipeline(const ladder_tiles_t &A, const __half *Bt, int64_t ldb, int first,
                         int last, Stage<kWidth> stage[2], float (&c)[4], TileOf tile_of)
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        if (first + k < last) {
            load<kWidth, true>(A, Bt, ldb, tile_of(first + k), stage[k]);
        }
        spmmi::cp_async_commit();
    }
    for (int t = first; t < last; t++) {
        Stage<kWidth> &now = stage[(t - first) % 2];

        spmmi::cp_async_wait<1>();
        __syncwarp(kAll);
        multiply<kWidth>(now, tile_of(t).sp24, c);
        __syncwarp(kAll);
        if (t + 2 < last) {
            load<kWidth, true>(A, Bt, ldb, tile_of(t + 2), now);
        }
        spmmi::cp_async_commit();
    }
    spmmi::cp_async_wait<0>();
    __syncwarp(kAll);
}

__device__ void store(const float (&c)[4], int lane, int64_t row, int64_t column, __half *C,
                      int64_t n)
{
    C += (row + lane / 4) * n + column + lane % 4 * 2;
    *(__half2 *)C           = __floats2half2_rn(c[0], c[1]);
    *(__half2 *)(C + 8 * n) = __floats2half2_rn(c[2], c[3]);
}

/** @tparam kSparse  has A 2:4 tiles? */
template <int kWidth, bool kSparse, Copy kCopy, Walk kWalk>
__global__ void __launch_bounds__(32)
    ladder_kernel(ladder_tiles_t A, const __half *Bt, int64_t ldb, __half *C, int64_t n)
{
    __shared__ __align__(16) Stage<kWidth> stage[kCopy == Copy::Pipeline ? 2 : 1];

    const int     row  = blockIdx.y;
    const int64_t n0   = (int64_t)blockIdx.x * LADDER_COLUMNS;
    float         c[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    /* Where tiles are of one kind nothing asks. */
    const auto any = [&](int t) {
        const ladder_listed_t one = A.list[t];

        return Tile{one.col, one.at / 2, kSparse && one.at % 2 != 0};
    };
    const auto dense  = [&](int t) { return Tile{A.dense_col[t], t, false}; };
    const auto sparse = [&](int t) { return Tile{A.sparse_col[t], t, true}; };

    Bt += n0 * ldb;
    if constexpr (kWalk == Walk::Map) {
        for (int col = 0; col < A.n_tile_cols; col++) {
            const int t = A.map[(int64_t)row * A.n_tile_cols + col];

            if (t >= 0) {
                step<kWidth, kCopy == Copy::Async>(A, Bt, ldb, any(t), stage[0], c);
            }
        }
    } else if constexpr (kWalk == Walk::Separate) {
        pipeline<kWidth>(A, Bt, ldb, A.dense_ptr[row], A.dense_ptr[row + 1], stage, c, dense);
        pipeline<kWidth>(A, Bt, ldb, A.sparse_ptr[row], A.sparse_ptr[row + 1], stage, c, sparse);
    } else if constexpr (kCopy == Copy::Pipeline) {
        pipeline<kWidth>(A, Bt, ldb, A.ptr[row], A.ptr[row + 1], stage, c, any);
    } else {
        for (int t = A.ptr[row]; t < A.ptr[row + 1]; t++) {
            step<kWidth, kCopy == Copy::Async>(A, Bt, ldb, any(t), stage[0], c);
        }
    }
    store(c, threadIdx.x, (int64_t)row * LADDER_ROWS, n0, C, n);
}

/* --- mmaOBT_tiled: a thread block has a square of tiles of C, a warp each. --- */

constexpr int kSide   = LADDER_BLOCK * LADDER_ROWS; /* rows and columns of a square of A */
constexpr int kAcross = LADDER_BLOCK * LADDER_COLUMNS;
constexpr int kWarps  = LADDER_BLOCK * LADDER_BLOCK;

struct Square {
    __half a[kSide * kSide]; /* tile by tile */
    __half b[kAcross * kSide];
};

__device__ void load(const ladder_tiles_t &A, const __half *Bt, int64_t ldb, int t, Square &to)
{
    constexpr int kParts = kSide / 8;

    for (int k = threadIdx.x; k < kSide * kSide / 8; k += kWarps * 32) {
        spmmi::cp_async<16>(to.a + 8 * k, A.dense + (int64_t)t * (kSide * kSide) + 8 * k);
    }
    for (int k = threadIdx.x; k < kAcross * kParts; k += kWarps * 32) {
        spmmi::cp_async<16>(to.b + 8 * k, Bt + k / kParts * ldb + (int64_t)A.dense_col[t] * kSide +
                                              k % kParts * 8);
    }
}

__global__ void __launch_bounds__(kWarps * 32)
    tiled_kernel(ladder_tiles_t A, const __half *Bt, int64_t ldb, __half *C, int64_t n)
{
    __shared__ __align__(16) Square stage[2];

    const int     lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int     down = warp / LADDER_BLOCK, across = warp % LADDER_BLOCK;
    const int     first = A.dense_ptr[blockIdx.y], last = A.dense_ptr[blockIdx.y + 1];
    const int64_t n0   = (int64_t)blockIdx.x * kAcross;
    float         c[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    Bt += n0 * ldb;
    for (int k = 0; k < 2; k++) {
        if (first + k < last) {
            load(A, Bt, ldb, first + k, stage[k]);
        }
        spmmi::cp_async_commit();
    }
    for (int t = first; t < last; t++) {
        Square &now = stage[(t - first) % 2];

        spmmi::cp_async_wait<1>();
        __syncthreads();
#pragma unroll
        for (int k = 0; k < LADDER_BLOCK; k++) {
            uint32_t a[4], b[2];

            ldmatrix4(now.a + (down * LADDER_BLOCK + k) * LADDER_ROWS * LADDER_ROWS +
                          lane % 16 * LADDER_ROWS + lane / 16 * 8,
                      a);
            ldmatrix2(now.b + (across * LADDER_COLUMNS + lane % 8) * kSide + k * LADDER_ROWS +
                          lane / 8 % 2 * 8,
                      b);
            spmmi::mma_half_m16n8k16<__half>(c, a, b[0], b[1]);
        }
        __syncthreads();
        if (t + 2 < last) {
            load(A, Bt, ldb, t + 2, now);
        }
        spmmi::cp_async_commit();
    }
    spmmi::cp_async_wait<0>();
    store(c, lane, (int64_t)blockIdx.y * kSide + down * LADDER_ROWS, n0 + across * LADDER_COLUMNS,
          C, n);
}

} // namespace

extern "C" cudaError_t ladder_mm(ladder_step_t step, const ladder_tiles_t *A, const void *Bt,
                                 int64_t ldb, void *C, int64_t n, cudaStream_t stream)
{
    using Kernel = void (*)(ladder_tiles_t, const __half *, int64_t, __half *, int64_t);

    constexpr Kernel kernels[LADDER_STEPS] = {
        ladder_kernel<16, false, Copy::Plain, Walk::Map>,
        ladder_kernel<16, false, Copy::Plain, Walk::List>,
        ladder_kernel<16, false, Copy::Async, Walk::List>,
        ladder_kernel<16, false, Copy::Pipeline, Walk::List>,
        ladder_kernel<16, true, Copy::Plain, Walk::Map>,
        ladder_kernel<32, true, Copy::Plain, Walk::Map>,
        ladder_kernel<16, true, Copy::Pipeline, Walk::List>,
        ladder_kernel<32, true, Copy::Pipeline, Walk::List>,
        ladder_kernel<32, true, Copy::Pipeline, Walk::Separate>,
        tiled_kernel,
    };
    const bool tiled = step == LADDER_OBT_TILED;
    const int  width = tiled ? kAcross : LADDER_COLUMNS;
    const dim3 grid((unsigned)(n / width), (unsigned)A->n_tile_rows);

    if (n % width != 0 || A->n_tile_rows > 65535) {
        return cudaErrorInvalidValue;
    }
    if (n > 0 && A->n_tile_rows > 0) {
        kernels[step]<<<grid, tiled ? kWarps * 32 : 32, 0, stream>>>(*A, (const __half *)Bt, ldb,
                                                                     (__half *)C, n);
    }
    return cudaGetLastError();
}

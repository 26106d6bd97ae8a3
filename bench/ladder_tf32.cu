/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_tf32.cu  The kernel: a warp for 16 x 8 of C, two stages, a loop for each list. */
#include "ladder_tf32.h"

namespace
{

constexpr int kPitch = LADDER_WIDE + 4; /* of B's columns: lanes are in different banks */

struct Stage {
    float    a[TF32_DENSE * TF32_VALUES];
    float    b[LADDER_COLUMNS * kPitch];
    uint32_t meta[TF32_SPARSE * LADDER_META];
};

__device__ void copy16(void *to, const void *from)
{
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}

__device__ void mma(float c[4], const float4 &a, float b0, float b1)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(__float_as_uint(a.x)), "r"(__float_as_uint(a.y)), "r"(__float_as_uint(a.z)),
                   "r"(__float_as_uint(a.w)), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

/** Lanes 4 g and 4 g + 1 give the metadata (selector 0). */
__device__ void mma_sp(float c[4], const float4 &a, const float b[4], uint32_t meta)
{
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(__float_as_uint(a.x)), "r"(__float_as_uint(a.y)), "r"(__float_as_uint(a.z)),
                   "r"(__float_as_uint(a.w)), "r"(__float_as_uint(b[0])),
                   "r"(__float_as_uint(b[1])), "r"(__float_as_uint(b[2])),
                   "r"(__float_as_uint(b[3])), "r"(meta));
}

template <bool kSparse>
__device__ void load(const ladder_tf32_t &A, const float *Bt, int64_t ldb, int t, Stage &stage)
{
    constexpr int kParts = kSparse ? TF32_SPARSE : TF32_DENSE;
    const int     lane   = threadIdx.x;
    const float  *from   = (kSparse ? A.sparse : A.dense) + (int64_t)t * (kParts * TF32_VALUES);
    const int64_t col    = (kSparse ? A.sparse_col : A.dense_col)[t];

#pragma unroll
    for (int k = 0; k < kParts; k++) {
        copy16(stage.a + k * TF32_VALUES + 4 * lane, from + k * TF32_VALUES + 4 * lane);
    }
    if (kSparse && lane < TF32_SPARSE * LADDER_META / 4) {
        copy16(stage.meta + 4 * lane, A.meta + (int64_t)t * (TF32_SPARSE * LADDER_META) + 4 * lane);
    }
#pragma unroll
    for (int k = lane; k < LADDER_COLUMNS * LADDER_WIDE / 4; k += 32) {
        copy16(stage.b + k / 8 * kPitch + k % 8 * 4,
               Bt + k / 8 * ldb + col * LADDER_WIDE + k % 8 * 4);
    }
}

template <bool kSparse> __device__ void multiply(const Stage &stage, float c[4])
{
    const int    lane = threadIdx.x, g = lane / 4, t = lane % 4;
    const float *b = stage.b + g * kPitch;

    if constexpr (kSparse) {
#pragma unroll
        for (int k = 0; k < TF32_SPARSE; k++) {
            float part[4];

#pragma unroll
            for (int i = 0; i < 4; i++) {
                part[i] = b[ladder_tf32_column(16 * k + 4 * i + t)];
            }
            mma_sp(c, *(const float4 *)(stage.a + k * TF32_VALUES + 4 * lane), part,
                   stage.meta[k * LADDER_META + 2 * g + t % 2]);
        }
    } else {
#pragma unroll
        for (int k = 0; k < TF32_DENSE; k++) {
            mma(c, *(const float4 *)(stage.a + k * TF32_VALUES + 4 * lane), b[8 * k + t],
                b[8 * k + t + 4]);
        }
    }
}

template <bool kSparse>
__device__ void pipeline(const ladder_tf32_t &A, const float *Bt, int64_t ldb, int first, int last,
                         Stage stage[2], float c[4])
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        if (first + k < last) {
            load<kSparse>(A, Bt, ldb, first + k, stage[k]);
        }
        asm volatile("cp.async.commit_group;\n" ::: "memory");
    }
    for (int t = first; t < last; t++) {
        Stage &now = stage[(t - first) % 2];

        asm volatile("cp.async.wait_group 1;\n" ::: "memory");
        __syncwarp();
        multiply<kSparse>(now, c);
        __syncwarp();
        if (t + 2 < last) {
            load<kSparse>(A, Bt, ldb, t + 2, now);
        }
        asm volatile("cp.async.commit_group;\n" ::: "memory");
    }
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
    __syncwarp();
}

__global__ void __launch_bounds__(32)
    tf32_kernel(ladder_tf32_t A, const float *Bt, int64_t ldb, float *C, int64_t n)
{
    __shared__ __align__(16) Stage stage[2];

    const int     lane = threadIdx.x, row = blockIdx.y;
    const int64_t n0   = (int64_t)blockIdx.x * LADDER_COLUMNS;
    float         c[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    Bt += n0 * ldb;
    pipeline<false>(A, Bt, ldb, A.dense_ptr[row], A.dense_ptr[row + 1], stage, c);
    pipeline<true>(A, Bt, ldb, A.sparse_ptr[row], A.sparse_ptr[row + 1], stage, c);
    C += ((int64_t)row * LADDER_ROWS + lane / 4) * n + n0 + lane % 4 * 2;
    *(float2 *)C           = make_float2(c[0], c[1]);
    *(float2 *)(C + 8 * n) = make_float2(c[2], c[3]);
}

} // namespace

extern "C" cudaError_t ladder_tf32_mm(const ladder_tf32_t *A, const float *Bt, int64_t ldb,
                                      float *C, int64_t n, cudaStream_t stream)
{
    const dim3 grid((unsigned)(n / LADDER_COLUMNS), (unsigned)A->n_tile_rows);

    if (n % LADDER_COLUMNS != 0 || A->n_tile_rows > 65535) {
        return cudaErrorInvalidValue;
    }
    if (n > 0 && A->n_tile_rows > 0) {
        tf32_kernel<<<grid, 32, 0, stream>>>(*A, Bt, ldb, C, n);
    }
    return cudaGetLastError();
}

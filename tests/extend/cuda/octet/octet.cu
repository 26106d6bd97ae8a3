/* SPDX-License-Identifier: Apache-2.0 */
/** @file octet.cu
 *  The kernel of octet: a warp multiplies a window of A by 8 columns of B, block by block, with
 *  mma.m8n8k4.  Lane 4 g + t holds entry (g, t) of a block of A, column g of row t of B, and
 *  columns 2 t and 2 t + 1 of row g of C (PTX ISA, "Matrix fragments for mma.m8n8k4").
 */
#include "cuda/octet/octet.h"
#include "cuda/windows/tc_common.cuh"

namespace spmmi
{
namespace
{

constexpr int kColumns = 8; /* of C, for a warp */

/** A on the device, as tc_common.cuh asks of a format. */
struct Octet {
    using T                      = double;
    using In                     = double;
    using Out                    = double;
    static constexpr int kHeight = SPMM_OCTET_ROWS;
    static constexpr int kWidth  = SPMM_OCTET_COLS;

    int32_t             n_rows;
    spmm_octet_arrays_t a;

    /** Entry r * kWidth + c of a block; 0 where none is stored. */
    __device__ double entry(int64_t block, int place) const
    {
        const uint32_t bits = a.bits[block], bit = 1u << place;

        return (bits & bit) == 0 ? 0.0 : a.values[a.value_ptr[block] + __popc(bits & (bit - 1))];
    }
    /** The sum over the stored entries of a row alone, where padding made NaN of Inf. */
    __device__ double exact(int32_t window, int32_t row, const double *B, int64_t ldb,
                            int64_t j) const
    {
        double sum = 0;

        for (int64_t block = a.block_ptr[window]; block < a.block_ptr[window + 1]; block++) {
            for (int p = row * kWidth; p < (row + 1) * kWidth; p++) {
                if (a.bits[block] >> p & 1) {
                    sum =
                        fma(entry(block, p), B[a.col[block * kWidth + p % kWidth] * ldb + j], sum);
                }
            }
        }
        return sum;
    }
};

__device__ __forceinline__ void mma_f64_m8n8k4(double (&d)[2], double a, double b)
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(d[0]), "+d"(d[1])
        : "d"(a), "d"(b));
}

/** Columns j0 to j0 + 7 of a window's rows of C. */
__device__ __forceinline__ void multiply(const Octet &f, const spmm_tc_mm_args_t &args,
                                         int32_t window, int64_t j0)
{
    const int     lane = (int)threadIdx.x, g = lane / Octet::kWidth, t = lane % Octet::kWidth;
    const int64_t row    = (int64_t)window * Octet::kHeight + g;
    const double *B      = (const double *)args.x.B + j0 + g;
    double        sum[2] = {0, 0};

    for (int64_t block = f.a.block_ptr[window]; block < f.a.block_ptr[window + 1]; block++) {
        const int64_t col  = f.a.col[block * Octet::kWidth + t];
        const bool    none = col == SPMM_TC_NO_COLUMN || j0 + g >= args.x.n;

        mma_f64_m8n8k4(sum, f.entry(block, lane), none ? 0.0 : B[col * args.x.ldb]);
    }
    if (__any_sync(0xffffffffu, taint(sum[0], taint(sum[1], 0.0)) != 0.0)) {
        repair_tile(f, args, window, j0, kColumns);
        return;
    }
    for (int64_t k = 0; k < 2 && row < f.n_rows && j0 + 2 * t + k < args.x.n; k++) {
        store_c(args, row_of_c<double>(args, row) + j0 + 2 * t + k, sum[k]);
    }
}

/** A thread block, of one warp, for each window. */
__global__ void __launch_bounds__(kWarp) octet_mm(Octet f, spmm_tc_mm_args_t args)
{
    const int64_t step = (int64_t)gridDim.y * kColumns;

    for (int64_t j0 = (int64_t)blockIdx.y * kColumns; j0 < args.x.n; j0 += step) {
        multiply(f, args, (int32_t)blockIdx.x, j0);
    }
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_octet_preload(void)
{
    return spmmi::preload(spmmi::octet_mm);
}

extern "C" cudaError_t spmmi_cuda_octet_mm(const spmm_octet_arrays_t *A,
                                           const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    using namespace spmmi;
    const int64_t slices = least(ceil_div(args->x.n, kColumns), kMaxGridYZ);
    const dim3    grid((unsigned)A->n_windows, (unsigned)slices);

    return A->n_windows == 0 || args->x.n == 0
               ? cudaSuccess
               : launch(octet_mm, grid, dim3(kWarp), stream, Octet{A->n_rows, *A}, *args);
}

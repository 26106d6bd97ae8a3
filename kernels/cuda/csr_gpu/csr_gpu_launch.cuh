/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_launch.cuh
 *  The CSR kernel, and which of its instances runs a product.  The .cu files instantiate this for
 *  their types, so that they compile side by side.
 */
#ifndef SPMM_CSR_GPU_LAUNCH_CUH
#define SPMM_CSR_GPU_LAUNCH_CUH

#include <algorithm>

#include "cuda/csr_gpu/csr_gpu.cuh"

namespace spmmi
{

/** @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <typename T, typename C, int kLanes, int kVector, int kLoads, int kUnroll, int kBlocks>
__global__ void __launch_bounds__(kCsrBlock, kBlocks)
    csr_mm(const __grid_constant__ spmm_csr_pieces_t A,
           const __grid_constant__ CsrDense<typename CsrSum<T>::type> dense)
{
    using Group = CsrGroup<T, C, kLanes, kVector, kLoads, kUnroll>;
    __shared__ typename Group::Shared shared;
    const int                         slice = dense.first + (int)blockIdx.y * Group::kWidth;

    if (blockIdx.x < (unsigned)A.n_pieces) {
        const int2 words = __ldg((const int2 *)(A.piece + blockIdx.x));

        Group(A, dense, shared, slice).run(words.x, words.y);
    }
    if (dense.share > 0) {
        const int64_t from = (int64_t)blockIdx.x * dense.share;

        Group(A, dense, shared, slice).run_empty(from, least(from + dense.share, A.n_empty));
    }
}

/** The kernels for A and B of type T and C of type C. */
template <typename T, typename C> struct CsrKernels {
    using Sum    = typename CsrSum<T>::type;
    using Kernel = void (*)(spmm_csr_pieces_t, CsrDense<Sum>);

    struct Choice {
        Kernel  kernel;
        int64_t width; /**< columns of a slice */
    };

    static constexpr int     kVector     = 16 / (int)sizeof(T);
    static constexpr int     kEmptyShare = 256;      /**< most empty rows of a thread block */
    static constexpr int64_t kSliceBytes = 48000000; /**< of B that L2 serves at its full rate */
    static constexpr int     kNumber     = 4;

    /* Accesses of 16 bytes, narrow to wide.  Several rows of B under way per group, and registers
     * for 40 warps on a multiprocessor; sums of 16-bit types and of FP64 take more. */
    static const Choice *wide()
    {
        constexpr int kBlocks = sizeof(T) == 4 ? 5 : 4;

        static const Choice choices[kNumber] = {
            {csr_mm<T, C, 4, kVector, 1, 4, kBlocks>, 4 * kVector},
            {csr_mm<T, C, 8, kVector, 1, 4, kBlocks>, 8 * kVector},
            {csr_mm<T, C, 16, kVector, 1, 4, kBlocks>, 16 * kVector},
            {csr_mm<T, C, 32, kVector, 1, 4, kBlocks>, 32 * kVector},
        };

        return choices;
    }

    /* One element at a time, for any alignment and any n. */
    static const Choice *narrow()
    {
        static const Choice choices[kNumber] = {
            {csr_mm<T, C, 4, 1, 1, 4, 5>, 4},
            {csr_mm<T, C, 8, 1, 1, 4, 5>, 8},
            {csr_mm<T, C, 32, 1, 1, 4, 5>, 32},
            {csr_mm < T, C, 32, 1, 4, 4, sizeof(T) >= 8 ? 3 : 4 >, 128},
        };

        return choices;
    }

    static bool is_aligned(const spmm_operands_t &x)
    {
        return fits(x.B, 16) && fits(x.C, 16) && fits(x.n, kVector) &&
               fits(x.ldb * (int64_t)sizeof(T), 16) && fits(x.ldc * (int64_t)sizeof(C), 16) &&
               (uint64_t)x.ldb * sizeof(T) <= UINT32_MAX;
    }

    /* The narrowest that takes all columns at once, or the widest.  Where the rows of B in use do
     * not fit into L2 but slices of them do, slices: each reads A again, which is little beside B.
     * Their rows have 128 bytes at least. */
    static const Choice &best(const spmm_csr_pieces_t &A, const spmm_operands_t &x)
    {
        const bool    aligned = is_aligned(x);
        const Choice *list    = aligned ? wide() : narrow();
        const int64_t row     = A.used_cols * (int64_t)sizeof(T);
        int           take    = kNumber - 1;

        while (take > 0 && list[take - 1].width >= x.n) {
            take--;
        }
        for (int k = take - 1; aligned && k > 0 && row * list[take].width > kSliceBytes; k--) {
            if (row * list[k].width <= kSliceBytes) {
                return list[k];
            }
        }
        return list[take];
    }

    static cudaError_t launch(const spmm_csr_pieces_t &A, const spmm_operands_t &x,
                              cudaStream_t stream)
    {
        const Choice &choice = best(A, x);
        const int64_t blocks = std::max<int64_t>(A.n_pieces, ceil_div(A.n_empty, kEmptyShare));
        const int64_t step   = choice.width * kMaxGridYZ;
        CsrDense<Sum> dense  = {x.B,
                                x.C,
                                x.ldb,
                                x.ldc,
                                (uint32_t)(x.ldb * (int64_t)sizeof(T)),
                                Factor<Sum>::of(x.alpha),
                                Factor<Sum>::of(x.beta),
                                !is_zero(x.beta),
                                (int32_t)x.n,
                                0,
                                0};
        cudaError_t   code   = x.n > INT32_MAX ? cudaErrorInvalidValue : cudaSuccess;

        for (int64_t j = 0; j < x.n && blocks > 0 && code == cudaSuccess; j += step) {
            const int64_t slices = std::min(ceil_div(x.n - j, choice.width), kMaxGridYZ);

            dense.first = (int32_t)j;
            dense.share = (int32_t)ceil_div(A.n_empty, blocks);
            code        = spmmi::launch(choice.kernel, dim3((unsigned)blocks, (unsigned)slices),
                                        dim3(kCsrBlock), stream, A, dense);
        }
        return code;
    }

    static cudaError_t load()
    {
        cudaError_t code = cudaSuccess;

        for (int k = 0; k < kNumber && code == cudaSuccess; k++) {
            code = preload(wide()[k].kernel, narrow()[k].kernel);
        }
        return code;
    }
};

/** The product. */
template <typename T, typename C>
cudaError_t csr_product(const spmm_csr_pieces_t &A, const spmm_operands_t &x, cudaStream_t stream)
{
    return CsrKernels<T, C>::launch(A, x, stream);
}

/** Load the kernels of one pair of types. */
template <typename T, typename C> cudaError_t csr_preload()
{
    return CsrKernels<T, C>::load();
}

} // namespace spmmi

/** What CMake makes one .cu of for each line of instances.cmake, so that they compile side by
 *  side. */
#define SPMM_INSTANCE(T, C)                                                                        \
    template cudaError_t spmmi::csr_product<T, C>(const spmm_csr_pieces_t &,                       \
                                                  const spmm_operands_t &, cudaStream_t);          \
    template cudaError_t spmmi::csr_preload<T, C>();

#endif /* SPMM_CSR_GPU_LAUNCH_CUH */

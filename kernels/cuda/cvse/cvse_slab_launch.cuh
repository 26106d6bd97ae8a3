/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_slab_launch.cuh  When and how the kernels with B in shared memory run a product. */
#ifndef SPMM_CVSE_SLAB_LAUNCH_CUH
#define SPMM_CVSE_SLAB_LAUNCH_CUH

#include "cuda/cvse/cvse_slab.cuh"

namespace spmmi
{

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

/** The kernels of one pair of types. */
template <typename Half, typename Out> struct CvseSlabKernels {
    using Format = Cvse<Half, Out, 1>;

    /* Columns of a slab in boxes of rows, turned as CvseSlab::turn() says. */
    static bool make_map(const spmm_cvse_slab_t &slab, const spmm_tc_mm_args_t &args,
                         CUtensorMap *map)
    {
        const cuuint64_t size[2]   = {(cuuint64_t)args.x.n, (cuuint64_t)slab.n_cols};
        const cuuint64_t stride[1] = {(cuuint64_t)args.x.ldb * sizeof(Half)};
        const cuuint32_t box[2]    = {(cuuint32_t)slab.columns, SPMM_CVSE_SLAB_ROWS};
        const cuuint32_t step[2]   = {1, 1};
        const auto       encode    = tensor_map_encoder();

        return encode != NULL &&
               encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, (void *)(uintptr_t)args.x.B, size,
                      stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                      slab.columns == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
    }

    /* @return false: another kernel is to be taken */
    static bool can_run(const spmm_cvse_slab_t &slab, const spmm_tc_mm_args_t &args,
                        CUtensorMap *map)
    {
        bool       waits = false;
        const bool suits =
            slab.columns > 0 &&
            spmmi_cvse_slab_bytes(slab.columns, slab.n_warps, slab.n_cols) <= SPMM_CVSE_SLAB_ROOM &&
            args.x.n % 8 == 0 && fits(args.x.B, 16) && fits(args.x.C, 16) &&
            fits(args.x.ldb * (int64_t)sizeof(Half), 16) &&
            fits(args.x.ldc * (int64_t)sizeof(Out), 16);

        return suits &&
               waits_itself((const void *)cvse_slab_mm<Half, Out, 64>, &waits) == cudaSuccess &&
               waits && make_map(slab, args, map);
    }

    /* One wave of thread blocks where the windows are enough for it. */
    static cudaError_t launch(const CUtensorMap &map, const Format &A, const spmm_cvse_slab_t &slab,
                              const spmm_tc_mm_args_t &args, int n_sm, cudaStream_t stream)
    {
        const auto kernel =
            slab.columns == 64 ? cvse_slab_mm<Half, Out, 64> : cvse_slab_mm<Half, Out, 32>;
        const spmm_cvse_slab_work_t share =
            spmmi_cvse_slab_work(slab.columns, slab.n_warps, A.n_windows, args.x.n, n_sm);
        const CvseSlabWork work = {spmmi_cvse_slab_rows(slab.n_cols), share.rounds, share.team};

        return launch_with(spmmi_cvse_slab_bytes(slab.columns, slab.n_warps, slab.n_cols), kernel,
                           dim3((unsigned)share.blocks, (unsigned)share.slabs),
                           dim3((unsigned)(slab.n_warps + 1) * kWarp), stream, map, A, args, work);
    }

    static cudaError_t preload()
    {
        const cudaError_t code =
            spmmi::preload(cvse_slab_mm<Half, Out, 64>, cvse_slab_mm<Half, Out, 32>);

        (void)tensor_map_encoder();
        return code != cudaSuccess
                   ? code
                   : allow_shared(cvse_slab_mm<Half, Out, 64>, cvse_slab_mm<Half, Out, 32>);
    }
};

} // namespace spmmi

#endif /* SPMM_CVSE_SLAB_LAUNCH_CUH */

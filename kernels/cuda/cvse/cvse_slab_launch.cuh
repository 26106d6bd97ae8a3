/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_slab_launch.cuh  When and how the kernels with B in shared memory run a product. */
#ifndef SPMM_CVSE_SLAB_LAUNCH_CUH
#define SPMM_CVSE_SLAB_LAUNCH_CUH

#include "cuda/cvse/cvse_slab.cuh"

namespace spmmi
{

/** The kernels of one pair of types. */
template <typename Half, typename Out> struct CvseSlabKernels {
    using Format = Cvse<Half, Out, 1>;

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
               waits &&
               make_box_map(args.x.B, slab.n_cols, args.x.n, args.x.ldb, SPMM_CVSE_SLAB_ROWS,
                            slab.columns, map);
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

/* SPDX-License-Identifier: Apache-2.0 */
/** @file probe.cu  The loading of all kernels that are no engine's. */
#include "cuda/dense/rows.cuh"
#include "cuda/sddmm/sddmm.h"

extern "C" cudaError_t spmmi_cuda_probe(void)
{
    cudaError_t (*const all[])() = {spmm::preload_rows,
                                    spmm::preload_add,
                                    spmm::preload_store,
                                    spmm::preload_values,
                                    spmm::preload_push,
                                    spmmi_cuda_sddmm_tasks_preload,
                                    spmmi_cuda_sddmm_tiles_preload,
                                    spmmi_cuda_sddmm_batches_preload,
                                    spmmi_cuda_sddmm_panels_preload,
                                    spmmi_cuda_softmax_preload};
    cudaError_t code             = cudaSuccess;

    for (auto *const load : all) {
        code = code == cudaSuccess ? load() : code;
    }
    return code;
}

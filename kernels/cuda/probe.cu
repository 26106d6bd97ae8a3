/* SPDX-License-Identifier: Apache-2.0 */
/** @file probe.cu  The loading of all kernels that are no engine's. */
#include "cuda/attention/attention.h"
#include "cuda/dense/rows.cuh"
#include "cuda/sddmm/sddmm.h"

extern "C" cudaError_t spmmi_cuda_probe(void)
{
    cudaError_t (*const all[])() = {spmmi::preload_rows,
                                    spmmi::preload_add,
                                    spmmi::preload_store,
                                    spmmi::preload_values,
                                    spmmi::preload_round,
                                    spmmi::preload_push,
                                    spmmi::preload_wait,
                                    spmmi_cuda_sddmm_tasks_preload,
                                    spmmi_cuda_sddmm_tiles_preload,
                                    spmmi_cuda_sddmm_rectangles_preload,
                                    spmmi_cuda_sddmm_squares_preload,
                                    spmmi_cuda_sddmm_sweeps_preload,
                                    spmmi_cuda_softmax_preload,
                                    spmmi_cuda_attention_rows_preload,
                                    spmmi_cuda_attention_windows_preload,
                                    spmmi_cuda_attention_gradient_preload};
    cudaError_t code             = cudaSuccess;

    for (auto *const load : all) {
        code = code == cudaSuccess ? load() : code;
    }
    return code;
}

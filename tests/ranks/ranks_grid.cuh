/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranks_grid.cuh  What both kernels of ranks_grid.h need. */
#ifndef SPMM_RANKS_GRID_CUH
#define SPMM_RANKS_GRID_CUH

#include <cuda_runtime.h>

#include "ranks_grid.h"

namespace ranks_grid
{

template <typename Args>
cudaError_t launch(void (*kernel)(const Args *), int threads, const Args *args, int n, Args *copy,
                   cudaStream_t stream)
{
    const Args *on_device  = copy;
    void       *parameters = &on_device;
    int         blocks     = 0;

    for (int r = 0; r < n; r++) {
        blocks += args[r].n_blocks;
    }
    const cudaError_t code =
        cudaMemcpyAsync(copy, args, size_t(n) * sizeof *args, cudaMemcpyHostToDevice, stream);

    return code != cudaSuccess
               ? code
               : cudaLaunchCooperativeKernel((const void *)kernel, dim3(unsigned(blocks)),
                                             dim3(unsigned(threads)), &parameters, 0, stream);
}

template <typename Args>
cudaError_t resident(void (*kernel)(const Args *), int threads, int *blocks)
{
    int         device = 0, n_sm = 0, each = 0;
    cudaError_t code = cudaGetDevice(&device);

    if (code == cudaSuccess) {
        code = cudaDeviceGetAttribute(&n_sm, cudaDevAttrMultiProcessorCount, device);
    }
    if (code == cudaSuccess) {
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0);
    }
    *blocks = n_sm * each;
    return code;
}

cudaError_t resident_push(int *blocks);
cudaError_t resident_pull(int *blocks);

} // namespace ranks_grid

#endif /* SPMM_RANKS_GRID_CUH */

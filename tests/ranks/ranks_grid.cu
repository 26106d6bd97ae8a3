/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/exchange/push.cuh"
#include "ranks_grid.h"

/* In this namespace gpu_sanitize.sh looks for reads of what nobody has written. */
namespace spmmi
{
namespace
{

__global__ void __launch_bounds__(SPMM_PUSH_THREADS, 2) push_ranks(const spmm_push_args_t *args)
{
    int b = int(blockIdx.x);

    while (b >= args->n_blocks) {
        b -= args->n_blocks;
        args++;
    }
    push_block(*args, b);
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t ranks_grid_push(const spmm_push_args_t *args, int n, spmm_push_args_t *copy,
                                       cudaStream_t stream)
{
    void *parameters = &copy;
    int   blocks     = 0;

    for (int r = 0; r < n; r++) {
        blocks += args[r].n_blocks;
    }
    const cudaError_t code =
        cudaMemcpyAsync(copy, args, size_t(n) * sizeof *args, cudaMemcpyHostToDevice, stream);

    return code != cudaSuccess
               ? code
               : cudaLaunchCooperativeKernel((const void *)spmmi::push_ranks,
                                             dim3(unsigned(blocks)), dim3(SPMM_PUSH_THREADS),
                                             &parameters, 0, stream);
}

extern "C" cudaError_t ranks_grid_blocks(int *blocks)
{
    int         device = 0, n_sm = 0, each = 0;
    cudaError_t code = cudaGetDevice(&device);

    if (code == cudaSuccess) {
        code = cudaDeviceGetAttribute(&n_sm, cudaDevAttrMultiProcessorCount, device);
    }
    if (code == cudaSuccess) {
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, spmmi::push_ranks,
                                                             SPMM_PUSH_THREADS, 0);
    }
    *blocks = n_sm * each;
    return code == cudaSuccess ? cudaGetLastError() : code;
}

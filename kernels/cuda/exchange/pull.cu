/* SPDX-License-Identifier: Apache-2.0 */
/** @file pull.cu  One exchange in one kernel, pull.cuh. */
#include "cuda/exchange/pull.cuh"

namespace spmm
{
namespace
{

__global__ void __launch_bounds__(SPMM_PULL_THREADS, 2)
    pull(const __grid_constant__ spmm_pull_args_t a)
{
    pull_block(a, int(blockIdx.x));
}

} // namespace

cudaError_t preload_pull()
{
    return preload(pull);
}

} // namespace spmm

extern "C" cudaError_t spmmi_cuda_pull(const spmm_pull_args_t *args, cudaStream_t stream)
{
    return spmm::launch(spmm::pull, dim3((unsigned)args->n_blocks), dim3(SPMM_PULL_THREADS), stream,
                        *args);
}

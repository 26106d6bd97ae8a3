/* SPDX-License-Identifier: Apache-2.0 */
/** @file push.cu  One exchange in one kernel, push.cuh. */
#include "cuda/exchange/push.cuh"

namespace spmmi
{
namespace
{

__global__ void __launch_bounds__(SPMM_PUSH_THREADS, 2)
    push(const __grid_constant__ spmm_push_args_t a)
{
    let_next_begin(); /* it is launched when all in front of it has ended */
    push_block(a, int(blockIdx.x));
}

} // namespace

cudaError_t preload_push()
{
    return preload(push);
}

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_push_lets_begin(bool *lets)
{
    return spmmi::waits_itself((const void *)spmmi::push, lets);
}

extern "C" cudaError_t spmmi_cuda_push(const spmm_push_args_t *args, cudaStream_t stream)
{
    return spmmi::launch(spmmi::push, dim3((unsigned)args->n_blocks), dim3(SPMM_PUSH_THREADS),
                         stream, *args);
}

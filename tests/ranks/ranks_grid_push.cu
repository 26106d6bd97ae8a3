/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/exchange/push.cuh"
#include "ranks_grid.cuh"

/* In this namespace gpu_sanitize.sh looks for reads of what nobody has written. */
namespace spmm
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
} // namespace spmm

extern "C" cudaError_t ranks_grid_push(const spmm_push_args_t *args, int n, spmm_push_args_t *copy,
                                       cudaStream_t stream)
{
    return ranks_grid::launch(spmm::push_ranks, SPMM_PUSH_THREADS, args, n, copy, stream);
}

cudaError_t ranks_grid::resident_push(int *blocks)
{
    return ranks_grid::resident(spmm::push_ranks, SPMM_PUSH_THREADS, blocks);
}

extern "C" cudaError_t ranks_grid_blocks(int *blocks)
{
    int               pull = 0;
    const cudaError_t code = ranks_grid::resident_push(blocks);

    if (code != cudaSuccess) {
        return code;
    }
    if (ranks_grid::resident_pull(&pull) == cudaSuccess && pull < *blocks) {
        *blocks = pull;
    }
    return cudaGetLastError();
}

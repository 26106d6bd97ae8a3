/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/exchange/pull.cuh"
#include "ranks_grid.cuh"

/* In this namespace gpu_sanitize.sh looks for reads of what nobody has written. */
namespace spmm
{
namespace
{

__global__ void __launch_bounds__(SPMM_PULL_THREADS, 2) pull_ranks(const spmm_pull_args_t *args)
{
    int b = int(blockIdx.x);

    while (b >= args->n_blocks) {
        b -= args->n_blocks;
        args++;
    }
    pull_block(*args, b);
}

} // namespace
} // namespace spmm

extern "C" cudaError_t ranks_grid_pull(const spmm_pull_args_t *args, int n, spmm_pull_args_t *copy,
                                       cudaStream_t stream)
{
    return ranks_grid::launch(spmm::pull_ranks, SPMM_PULL_THREADS, args, n, copy, stream);
}

cudaError_t ranks_grid::resident_pull(int *blocks)
{
    return ranks_grid::resident(spmm::pull_ranks, SPMM_PULL_THREADS, blocks);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/exchange/pull.cuh"

extern "C" void emulated_pull(const void *args, int b);

extern "C" void emulated_pull(const void *args, int b)
{
    spmm::pull_block(*(const spmm_pull_args_t *)args, b);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/exchange/push.cuh"

extern "C" void emulated_push(const void *args, int b);

extern "C" void emulated_push(const void *args, int b)
{
    spmmi::push_block(*(const spmm_push_args_t *)args, b);
}

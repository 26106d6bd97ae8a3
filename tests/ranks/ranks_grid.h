/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranks_grid.h  All ranks' part of an exchange in one grid, whose blocks are at work
 *  together. */
#ifndef SPMM_RANKS_GRID_H
#define SPMM_RANKS_GRID_H

#include <cuda_runtime_api.h>

#include "cuda/exchange/push_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @p args: [n] on the host; @p copy: room for them on the device.
 *  cudaErrorCooperativeLaunchTooLarge where the blocks are too many. */
cudaError_t ranks_grid_push(const spmm_push_args_t *args, int n, spmm_push_args_t *copy,
                            cudaStream_t stream);

/** Blocks of it that the device holds. */
cudaError_t ranks_grid_blocks(int *blocks);

#ifdef __cplusplus
}
#endif

#endif /* SPMM_RANKS_GRID_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file panel.h  Launchers of the kernels on panels, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_PANEL_H
#define SPMM_CUDA_PANEL_H

#include <cuda_runtime_api.h>

#include "engine/panel/args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_panel_preload(void);

/** C = alpha * A * B + beta * C on tensor cores.  Entries that A does not store take no part, also
 *  where B holds Inf or NaN.  Results have the same bits from run to run.  The arrays of A are
 *  device memory.
 *  @param[in] n_sm  multiprocessors of the device */
cudaError_t spmmi_cuda_panel_mm(const spmm_panel_arrays_t *A, int n_sm,
                                const spmm_tc_mm_args_t *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_PANEL_H */

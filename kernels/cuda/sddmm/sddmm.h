/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.h  Launchers of SDDMM and of the softmax of rows, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_SDDMM_H
#define SPMM_CUDA_SDDMM_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "engine/sddmm/args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels of a file on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_sddmm_tasks_preload(void);
cudaError_t spmmi_cuda_sddmm_tiles_preload(void);
cudaError_t spmmi_cuda_sddmm_rectangles_preload(void);
cudaError_t spmmi_cuda_sddmm_squares_preload(void);
cudaError_t spmmi_cuda_sddmm_sweeps_preload(void);
cudaError_t spmmi_cuda_softmax_preload(void);

/** Dot products of rows of X and Y at the entries of a mask, device memory; all of its places are
 *  written, nothing else.  The same bits from run to run. */
cudaError_t spmmi_cuda_sddmm_tasks(const spmm_sddmm_tasks_t *mask, const spmm_sddmm_args_t *args,
                                   cudaStream_t stream);
/** The same on tensor cores, X and Y of FP32, FP16 or BF16. */
cudaError_t spmmi_cuda_sddmm_tiles(const spmm_sddmm_tiles_t *mask, const spmm_sddmm_args_t *args,
                                   cudaStream_t stream);
/** The same for rectangles, X and Y of all types.  Where spmmi_sddmm_holds_rectangles(), rows of
 *  X and Y begin at multiples of 16 bytes and there is no row_map, from shared memory. */
cudaError_t spmmi_cuda_sddmm_rectangles(const spmm_sddmm_rectangles_t *mask,
                                        const spmm_sddmm_args_t *args, cudaStream_t stream);
/** The same for squares, on tensor cores, X and Y of FP16 or BF16. */
cudaError_t spmmi_cuda_sddmm_squares(const spmm_sddmm_squares_t *mask,
                                     const spmm_sddmm_args_t *args, cudaStream_t stream);
/** The faster way to do so on devices of capability 9.0, where rows begin at multiples of 16 bytes
 *  and K is a multiple of 8, which the caller sees to.
 *  @return cudaErrorNotSupported: not for this device, these types, so many columns, this beta or
 *          this order of S, and nothing is enqueued */
cudaError_t spmmi_cuda_sddmm_sweeps(const spmm_sddmm_squares_t *mask, const spmm_sddmm_args_t *args,
                                    cudaStream_t stream);
/** Does this build have code for that? */
bool        spmmi_cuda_sddmm_sweeps_built(void);
cudaError_t spmmi_cuda_row_softmax(const spmm_softmax_args_t *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_SDDMM_H */

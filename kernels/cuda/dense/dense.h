/* SPDX-License-Identifier: Apache-2.0 */
/** @file dense.h
 *  Launchers of engine dense.  They enqueue on @p stream of the current device, allocate nothing
 *  and return the launch error; empty shapes are success.
 */
#ifndef SPMM_CUDA_DENSE_H
#define SPMM_CUDA_DENSE_H

#include <cuda_runtime_api.h>

#include "engine/dense/args.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t spmmi_cuda_dense_preload(void);

/** Put the values of the entries, in the order of CSR, into their places. */
cudaError_t spmmi_cuda_dense_scatter(const spmm_dense_args_t *A, const void *values,
                                     cudaStream_t stream);

/** Mark the groups of columns of B that hold Inf or NaN. */
cudaError_t spmmi_cuda_dense_mark(const spmm_dense_args_t *A, const spmm_operands_t *x,
                                  spmm_dense_marks_t marks, cudaStream_t stream);

/** Elements of C = alpha A B that are not finite, of marked columns, are computed again from the
 *  entries alone.  x->beta must be 0. */
cudaError_t spmmi_cuda_dense_repair(const spmm_dense_args_t *A, const spmm_operands_t *x,
                                    spmm_dense_marks_t marks, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_DENSE_H */

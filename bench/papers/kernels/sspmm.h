/* SPDX-License-Identifier: Apache-2.0 */
/** @file sspmm.h  The kernels of SSpMM (paper 001, algorithm 2) and of its ablation. */
#ifndef SSPMM_H
#define SSPMM_H

#include <cuda_runtime_api.h>

#include "engine/cvse/args.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    SSPMM_ALL,        /**< Transpose Mapping and Register Shuffle */
    SSPMM_NO_TMS,     /**< A on the m16 side: with V = 8 half of each mma has no work */
    SSPMM_NO_RSM,     /**< rows of B by shared memory to fragments of WMMA, C the same way back */
    SSPMM_ONE_BUFFER, /**< vectors and columns copied when they are needed */
    SSPMM_NO_SHARED,  /**< vectors and columns straight to registers */
    SSPMM_SCHEMES
} sspmm_scheme_t;

/** C = A * B in FP16, sums in FP32.
 *  @param[in] row_map  [n_rows] row of C of each row, negative: none; NULL: the identity
 *  @param[in] n        a multiple of 8 */
cudaError_t sspmm_mm(sspmm_scheme_t scheme, const spmm_cvse_arrays_t *A, const int32_t *row_map,
                     const void *B, void *C, int64_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SSPMM_H */

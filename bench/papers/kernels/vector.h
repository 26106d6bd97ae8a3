/* SPDX-License-Identifier: Apache-2.0 */
/** @file vector.h  The SpMM kernels of vectorSparse (paper 004, section 5). */
#ifndef VECTOR_H
#define VECTOR_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    VECTOR_OCTET,        /**< section 5.3: mma.m8n8k4 on octets of lanes, B straight to registers */
    VECTOR_OCTET_MIXED,  /**< the same without the fence between loads and mma (section 5.4) */
    VECTOR_OCTET_WHOLE,  /**< the last vectors as a whole tile, zeros behind them */
    VECTOR_OCTET_DIRECT, /**< sums stored as they are, 2 bytes at a time */
    VECTOR_OCTET_FOUR,   /**< thread blocks of four warps, each with a tile of its own */
    VECTOR_WARP,         /**< section 5.2: wmma.m8n32k16, B by shared memory */
    VECTOR_SUBWARP,      /**< section 5.1: CUDA cores, 8 lanes for a window */
    VECTOR_TILINGS
} vector_tiling_t;

/** Column vector sparse encoding (section 4.2): FP16 on the device. */
typedef struct {
    const int32_t *window_ptr; /**< [n_windows + 1] first vector of each V rows */
    const int32_t *col;        /**< [vectors] */
    const void    *values;     /**< [vectors x V] */
    int32_t        n_rows, n_windows;
} vector_matrix_t;

/** C = A * B in FP16, sums in FP32.
 *  @param[in] v  rows of a vector: 2, 4 or 8
 *  @param[in] n  a multiple of 32 */
cudaError_t vector_mm(vector_tiling_t tiling, int v, const vector_matrix_t *A, const void *B,
                      void *C, int64_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* VECTOR_H */

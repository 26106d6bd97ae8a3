/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_tf32.h
 *  OBTS_large_separate in TF32, a trial.  mma.sp takes one of two columns there, not two of four, so that a
 *  2:4 tile is not one of its tiles.  But columns 0 and 1, 2 and 3, 1 and 2 of each four are three pairs
 *  of which any two of the four columns take two different ones: with rows of B named twice, 32 columns
 *  are three m16n8k16, where a dense tile is four m16n8k8 of the same cost.
 */
#ifndef LADDER_TF32_H
#define LADDER_TF32_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "ladder.h"

enum {
    TF32_DENSE  = 4,  /**< mma of a dense tile */
    TF32_SPARSE = 3,  /**< mma.sp of a 2:4 one */
    TF32_VALUES = 128 /**< of A for one of either */
};

/** Tiles of 16 x 32 in two lists; FP32 values as lanes take them: four for each, by mma. */
typedef struct {
    int32_t        n_tile_rows;
    const int32_t *dense_ptr, *dense_col; /**< by tile row; in tiles */
    const float   *dense;                 /**< [TF32_DENSE * TF32_VALUES] of each */
    const int32_t *sparse_ptr, *sparse_col;
    const float   *sparse; /**< [TF32_SPARSE * TF32_VALUES] of each */
    const uint32_t
        *meta; /**< [TF32_SPARSE * LADDER_META] of each: word 2 g + h for rows g and g + 8
                                 (upper half), pairs 4 h to 4 h + 3, four bits each */
} ladder_tf32_t;

/** Which of 32 columns is column @p k, 0 to 47, of the three mma.sp. */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline int32_t
    ladder_tf32_column(int32_t k)
{
    const int32_t pair = k / 2, part = pair % 3;

    return pair / 3 * 4 + (part == 0 ? 0 : part == 1 ? 2 : 1) + k % 2;
}

#ifdef __cplusplus
extern "C" {
#endif

/** C = A * B in FP32, TF32 products.
 *  @param[in]  Bt  [n x ldb] B by columns, as of ladder_mm(), values that TF32 holds
 *  @param[out] C   [n_tile_rows * 16 x n], row-major
 *  @param[in]  n   a multiple of 8 */
cudaError_t ladder_tf32_mm(const ladder_tf32_t *A, const float *Bt, int64_t ldb, float *C,
                           int64_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* LADDER_TF32_H */

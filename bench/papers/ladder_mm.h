/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_mm.h  The kernels. */
#ifndef LADDER_MM_H
#define LADDER_MM_H

#include <cuda_runtime_api.h>

#include "ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

/** C = A * B in FP16, sums in FP32.
 *  @param[in]  Bt  [n x ldb] B by columns; ldb covers whole tiles of A, in which what B does
 *                  not have is finite
 *  @param[out] C   [n_tile_rows * 16 x n], row-major
 *  @param[in]  n   a multiple of 8 */
cudaError_t ladder_mm(ladder_step_t step, const ladder_tiles_t *A, const void *Bt, int64_t ldb,
                      void *C, int64_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* LADDER_MM_H */

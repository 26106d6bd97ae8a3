/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_case.h  A product of bench_ladder, and whoever computes it. */
#ifndef LADDER_CASE_H
#define LADDER_CASE_H

#include <cuda_runtime_api.h>

#include "block.h"
#include "device/device_cuda.h"
#include "ladder_tiles.h"

/** C = A * B in FP16, A a block whose rows and columns fill whole tiles of any contender. */
typedef struct {
    bench_operands_t o;
    ladder_tiles_t   tiles[LADDER_FORMS]; /**< device arrays */
    void            *Bt;                  /**< [n x n_cols] B by columns, device memory */
} ladder_case_t;

/** One line of the table for each matrix and width: an engine of the library, Blocked-ELL of
 *  cuSPARSE, or a step. */
typedef struct {
    const char              *name;
    const spmm_engine_ops_t *engine; /**< NULL: no engine */
    int32_t                  bell;   /**< rows and columns of a block of Blocked-ELL; 0: the step */
    ladder_step_t            step;
} ladder_contender_t;

/** A line of it. */
typedef struct {
    const char *name;
    double      seconds, error; /**< error: of the worst sum over that of its magnitudes */
} ladder_result_t;

/** Draw B and C of @p n columns of c->o.block.  Close them also after a failure. */
spmm_status_t ladder_open_operands(ladder_case_t *c, const spmm_device_t *device,
                                   const spmm_csr_t *block, int64_t n);
void          ladder_close_operands(ladder_case_t *c);

enum { LADDER_ARRAYS = 10 };

/** Device copies of the tiles; owned[] are to be released, also after a failure. */
spmm_status_t ladder_upload(const spmm_device_t *device, const ladder_host_t *h,
                            void *owned[LADDER_ARRAYS], ladder_tiles_t *tiles);

/** Median of @p iterations products, of fewer where they take long, and the error against the FP64
 *  product.  SPMM_ERR_UNSUPPORTED: cannot take the case, the sentence says why. */
spmm_status_t ladder_compete(const ladder_contender_t *who, const ladder_case_t *c,
                             int64_t iterations, ladder_result_t *result);

#endif /* LADDER_CASE_H */

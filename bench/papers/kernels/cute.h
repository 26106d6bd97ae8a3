/* SPDX-License-Identifier: Apache-2.0 */
/** @file cute.h  The kernel of cuTeSpMM (paper 000, sections 3.3 and 5, algorithm 1). */
#ifndef CUTE_H
#define CUTE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "engine/windows/hrpb_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The kernel: as published, and with one thing else.  All but CUTE_PAPER have 16 rows in a
 *  panel. */
typedef enum {
    CUTE_PAPER,
    CUTE_TN_8,       /**< a warp has 8 columns of C and not 32 */
    CUTE_NOT_UNROLL, /**< the brick columns of a block in a loop */
    CUTE_ONE_WARP,   /**< thread blocks of one warp, whatever N is */
    CUTE_TWO_STAGES, /**< the next block copied asynchronously meanwhile */
    CUTE_KERNELS
} cute_kernel_t;

/** A in HRPB, and the virtual panels. */
typedef struct {
    spmm_hrpb_arrays_t A;
    cute_kernel_t      kernel;
    spmm_tc_work_t     work; /**< work items are of panels; partial for ordered sums */
    bool atomic; /**< sums of cut panels by atomics; else in the order of the work items */
} cute_work_t;

/** Thread blocks of a product with @p n columns that a multiprocessor holds at a time. */
cudaError_t cute_resident(cute_kernel_t kernel, int32_t panel_rows, int64_t n, int *thread_blocks);

/** C = A * B in TF32. @param[in] n  a multiple of 32 */
cudaError_t cute_mm(const cute_work_t *work, const float *B, float *C, int64_t n,
                    cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* CUTE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_args.h  What kernels of tensor-core formats share: the work and the dense side. */
#ifndef SPMM_ENGINE_WINDOWS_TC_ARGS_H
#define SPMM_ENGINE_WINDOWS_TC_ARGS_H

#include "kernel_args.h"
#include "operands.h"

/* Tensor-core formats: flat arrays, offsets of 32 bits.  docs/reference/formats.md draws them. */
enum {
    SPMM_TC_NO_COLUMN = -1, /**< pads lists of columns: no row of B belongs to it */
    SPMM_TC_PAD       = 4,  /**< blocks that kernels may read behind the last one */
    SPMM_TC_FEW       = 4   /**< work items for each multiprocessor that leave it idle */
};

/** A work item of a CUDA kernel: consecutive blocks of one window.  A window of few blocks
 *  is one work item, empty windows too; a long one is several, so that no row keeps one warp busy
 *  while the others have finished. */
typedef struct {
    int32_t window;
    int32_t block, n_blocks; /**< first block, and how many */
    int32_t start; /**< where its values start: value_ptr or size_ptr of the first block, if any */
} spmm_tc_item_t;

/** A window that is several work items. */
typedef struct {
    int32_t window, item, n_items;
} spmm_tc_split_t;

/** All work items, the longest first.  Those of split windows: work item p of them leaves its sums
 *  in partial [p, height, n], and a second kernel adds them up in the order of the work items, so
 *  that results do not depend on timing.  Then whole windows that all warps of a thread block
 *  share. Then whole windows for one warp each. */
typedef struct {
    int32_t                n_items, n_partial; /**< all, and those of split windows */
    int32_t                n_team;             /**< n_partial and those for a thread block */
    int32_t                n_splits;
    int32_t                n_sm;  /**< multiprocessors of the device */
    const spmm_tc_item_t  *item;  /**< [n_items], 16-byte aligned */
    const spmm_tc_split_t *split; /**< [n_splits] */
    void *partial;                /**< [n_partial * height * n] of FP64 for FP64 data, else FP32 */
} spmm_tc_work_t;

/** The dense side of a product with a tensor-core format. */
typedef struct {
    spmm_operands_t x;       /**< row-major */
    const int32_t  *row_map; /**< [n_rows] row of C of each row of A, NULL: the identity */
    spmm_compute_t  compute; /**< 64F, 32F or 32F_FAST_TF32 */
    int             threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_tc_mm_args_t;

#endif /* SPMM_ENGINE_WINDOWS_TC_ARGS_H */

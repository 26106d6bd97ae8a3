/* SPDX-License-Identifier: Apache-2.0 */
/** @file acc.h  The kernel of Acc-SpMM (paper 002, sections 3.3 to 3.5, algorithm 2). */
#ifndef ACC_H
#define ACC_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "engine/windows/bittcf_args.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ACC_MOST = 32 }; /* TC blocks of a thread block (section 3.5) */

/** Consecutive TC blocks of one window. */
typedef struct {
    int32_t window, first, n;
    int32_t
        part; /**< 0: the whole window; else one of several, and in order which of all, from 1 */
} acc_item_t;

/** Parts of a window, for sums in their order. */
typedef struct {
    int32_t window, first, n;
} acc_split_t;

/** What else than the paper's a kernel does that does the rest of it. */
typedef enum {
    ACC_PAPER,
    ACC_NO_SHARED, /**< the list of columns is read where it is needed, not from shared memory */
    ACC_K4         /**< two mma.m16n8k4 for one m16n8k8 */
} acc_form_t;

/** What a kernel does of the paper. */
typedef struct {
    bool       bits;     /**< BitTCF; else ME-TCF, whose places are bytes (DTC-SpMM) */
    bool       hints;    /**< .ca for B, .wt for C; else the compiler's choice */
    bool       pipeline; /**< two buffers of A and B; else A, then B, then mma (figure 5 a) */
    acc_form_t form;
} acc_choice_t;

/** A in BitTCF, or ME-TCF; work items dealt out to thread blocks. */
typedef struct {
    spmm_bittcf_arrays_t A;
    const uint8_t       *place;     /**< [nnz] of ME-TCF: 8 r + c of each value */
    const int32_t       *row_map;   /**< NULL: the identity */
    const int32_t       *block_ptr; /**< [n_thread_blocks + 1] first work item of a thread block */
    const acc_item_t    *item;
    int32_t              n_thread_blocks;
    bool                 atomic;  /**< parts add to C, all of which is zeroed for them */
    float               *partial; /**< [parts x 8 x n], in order; else NULL */
    const acc_split_t   *split;
    int32_t              n_splits, c_rows;
} acc_work_t;

/** C = A * B in TF32. @param[in] n  a multiple of 16 */
cudaError_t acc_mm(acc_choice_t choice, const acc_work_t *work, const float *B, float *C, int64_t n,
                   cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* ACC_H */

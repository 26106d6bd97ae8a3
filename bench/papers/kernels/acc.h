/* SPDX-License-Identifier: Apache-2.0 */
/** @file acc.h  The kernel of Acc-SpMM (paper 002, sections 3.3 to 3.5, algorithm 2). */
#ifndef ACC_H
#define ACC_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "engine/bittcf/args.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ACC_MOST = 32 }; /* TC blocks of a thread block (section 3.5) */

/** Consecutive TC blocks of one window. */
typedef struct {
    int32_t window, first, n;
    int32_t atomic; /**< 1: others add to its rows of C, too */
} acc_piece_t;

/** What a kernel does of the paper. */
typedef struct {
    bool bits;     /**< BitTCF; else ME-TCF, whose places are bytes (DTC-SpMM) */
    bool hints;    /**< .ca for B, .wt for C; else the compiler's choice */
    bool pipeline; /**< two buffers of A and B; else A, then B, then mma (figure 5 a) */
} acc_choice_t;

/** A in BitTCF, or ME-TCF; pieces dealt out to thread blocks. */
typedef struct {
    spmm_bittcf_arrays_t A;
    const uint8_t       *place;     /**< [nnz] of ME-TCF: 8 r + c of each value */
    const int32_t       *row_map;   /**< NULL: the identity */
    const int32_t       *block_ptr; /**< [n_thread_blocks + 1] first piece of a thread block */
    const acc_piece_t   *piece;
    int32_t              n_thread_blocks;
    bool                 balanced; /**< are there pieces with atomic? */
    int32_t              c_rows;   /**< all of C is zeroed for these */
} acc_work_t;

/** C = A * B in TF32. @param[in] n  a multiple of 16 */
cudaError_t acc_mm(acc_choice_t choice, const acc_work_t *work, const float *B, float *C, int64_t n,
                   cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* ACC_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_mm.h  A tensor-core format as CPU code walks it, and its product by decoding. */
#ifndef SPMM_CPU_TC_MM_H
#define SPMM_CPU_TC_MM_H

#include "cpu/cpu_kernels.h"
#include "engine/windows/tc_args.h"

/** An entry of a tensor-core format: its row in the window, its row of B, and where its value
 *  stands among those of the block. */
typedef struct {
    int32_t row, col, at;
} spmm_tc_entry_t;

enum {
    SPMM_TC_MAX_HEIGHT  = 32,  /**< rows of a window */
    SPMM_TC_MAX_ENTRIES = 512, /**< of a block */
    SPMM_TC_MAX_RUNS    = 128  /**< of a block */
};

/** A tensor-core format as CPU code walks it: windows of blocks, blocks of entries. */
typedef struct {
    int32_t        n_rows, n_windows;
    int32_t        height;    /**< rows of a window */
    const int32_t *block_ptr; /**< [n_windows + 1] */
    const void    *arrays;    /**< borrowed, of the format: what decode() reads */
    const void    *values;    /**< base of what decode() points to */
    const int32_t *starts;    /**< [blocks + 1] spmm_tc_item_t.start of each block; NULL: 0 */
    /** The entries of a block in storage order, which is ascending in column for each row.
     *  @param[out] entry   [SPMM_TC_MAX_ENTRIES]
     *  @param[out] offset  bytes from the base to the values of the block
     *  @return their number */
    int32_t (*decode)(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset);
    int32_t n_runs; /**< of a block: a multiple of height */
    /** The same without columns, of formats whose values follow each other: in storage order,
     *  entries next to each other in their row of CSR are a run.  Run k is of row k % height and
     *  may be empty.
     *  @param[out] length  [n_runs]
     *  @return bytes from the base to the first value */
    size_t (*runs)(const void *arrays, int64_t block, uint8_t *length);
} spmm_tc_view_t;

/** C = alpha * A * B + beta * C by decoding: only stored entries are multiplied, in the order of
 *  CSR.  16-bit data sum in FP32 and C is rounded once. */
void spmmi_cpu_tc_mm(const spmm_tc_view_t *A, const spmm_tc_mm_args_t *args);

/** FP32 to the nearest TF32 number, ties away from zero: cvt.rna.tf32.f32 of PTX. */
float spmmi_cpu_tf32_round(float x);

#endif /* SPMM_CPU_TC_MM_H */

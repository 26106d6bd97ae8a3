/* SPDX-License-Identifier: Apache-2.0 */
/** @file hrpb_format.h
 *  Hierarchical row-panel blocking (cuTeSpMM, section 3.2): the active columns of a panel of TM
 *  rows in blocks of TK = 16, a block in bricks of 16x4, a brick's places in one 64-bit word.
 *
 *  Where the paper leaves a choice, this was chosen:
 *  - Inside packedBlocks (figure 4 gives members, not their order): the metadata of a block stand
 *    first, at fixed offsets, and the values last, since only they vary in length.  Blocks start at
 *    multiples of 16 bytes, so that 16-byte asynchronous copies can fetch them.
 *  - colPtr and rows count at most 8 bricks: bytes instead of figure 4's 32-bit words.
 *  - patterns has room for all bricks of a block (figure 4) but is filled like rows, by the number
 *    of the active brick (algorithm 1, line 32); the rest is 0.
 *  - Bit r * 4 + c of a pattern is row r, column c of the brick: the order of its values, and lane
 *    l of a warp finds its two places of m16n8k4's A at bits l and l + 32.
 *  - sizePtr counts 16 bytes, so that 32 bits reach 32 GiB.
 *  - activeCols [blocks * TK] is one array of all blocks (figure 5; algorithm 1 reads it from the
 *    block); where a panel's columns end before its last block does: SPMM_TC_NO_COLUMN.
 *  - Rows past the end of the last panel have no entries: ceil(M / TM) panels.
 *  Every entry of the CSR block is stored, explicit zeros too: new values may be anything.
 */
#ifndef SPMM_ENGINE_FORMAT_HRPB_H
#define SPMM_ENGINE_FORMAT_HRPB_H

#include "cpu/windows/tc_mm.h"
#include "engine/windows/hrpb_args.h"
#include "engine/windows/windows.h"

typedef struct {
    int32_t        n_rows, n_panels, n_blocks;
    int32_t        panel_rows; /**< TM: 16 or 32 */
    int32_t       *block_ptr;  /**< as in spmm_hrpb_arrays_t; all owned */
    int32_t       *size_ptr;
    int32_t       *col;
    unsigned char *packed;    /**< FP32 values */
    int32_t       *entry_ptr; /**< [n_panels + 1] entries of the rows before each panel */
} spmm_hrpb_t;

/** Convert @p block, which must be of type 32F; its row map is not taken along.  Deterministic.
 *  @param[in] tall        windows of SPMM_WINDOWS_TALL rows of @p block; NULL: condense here
 *  @param[in] panel_rows  16 or 32
 *  @param[in] threads     as in spmmi_windows_create() */
spmm_status_t spmmi_hrpb_create(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, int32_t panel_rows, int threads,
                                spmm_hrpb_t *format);
void          spmmi_hrpb_free(void *format);

/** New values in the order of CSR. */
void spmmi_hrpb_refill(void *format, const void *values, int threads);

/** The arrays as kernels take them; borrowed. */
spmm_hrpb_arrays_t spmmi_hrpb_arrays(const spmm_hrpb_t *format);
/** @p arrays as CPU code walks them, which must outlive the view. */
spmm_tc_view_t spmmi_hrpb_view(const void *arrays);
/** Bytes held. */
size_t spmmi_hrpb_held(const void *format);

/** Bytes of the arrays, values included, against CSR with indices of 32 bits. */
typedef struct {
    size_t csr;  /**< 4 (M + 1 + 2 nnz) */
    size_t hrpb; /**< blockedRowPtr, sizePtr, activeCols and packedBlocks */
} spmm_hrpb_bytes_t;

spmm_hrpb_bytes_t spmmi_hrpb_bytes(const spmm_hrpb_t *format);

#endif /* SPMM_ENGINE_FORMAT_HRPB_H */

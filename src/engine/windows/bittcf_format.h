/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_format.h
 *  BitTCF (Acc-SpMM, section 3.3): the active columns of every 8 rows in TC blocks of 8, the
 *  places of a block's entries in one 64-bit word.  Windows of 16 and 32 rows are a choice of this
 *  library: their blocks stack 2 or 4 such tiles over one list of columns, so that a row of B is
 *  fetched once for all of them.
 *
 *  Every entry of the CSR block is stored, explicit zeros too: new values of the same pattern may
 *  be anything.  Columns that fill up the last block of a window are SPMM_TC_NO_COLUMN, so that no
 *  kernel has a reason to read B there.
 */
#ifndef SPMM_ENGINE_FORMAT_BITTCF_H
#define SPMM_ENGINE_FORMAT_BITTCF_H

#include "cpu/windows/tc_mm.h"
#include "engine/windows/bittcf_args.h"
#include "engine/windows/windows.h"

typedef struct {
    int32_t     n_rows, n_cols, n_windows, n_blocks;
    int32_t     tiles;      /**< of 8 rows in a window: 1 as in the paper, 2 or 4 */
    spmm_type_t type;       /**< 32F or 64F, real or complex */
    int32_t    *window_ptr; /**< as in spmm_bittcf_arrays_t; all owned */
    int32_t    *value_ptr;
    int32_t    *col;
    uint64_t   *bits;
    void       *values;
    int32_t    *entry_ptr; /**< [n_windows + 1] entries of the rows before each window */
} spmm_bittcf_t;

/** Convert @p block, which must be of type 32F or 64F, real or complex; its row map is not taken
 *  along.  Deterministic.
 *  @param[in] tall     windows of SPMM_WINDOWS_TALL rows of @p block; NULL: condense here
 *  @param[in] tiles    of 8 rows in a window: 1, 2 or 4
 *  @param[in] threads  as in spmmi_windows_create() */
spmm_status_t spmmi_bittcf_create(spmm_env_t *env, const spmm_csr_t *block,
                                  const spmm_windows_t *tall, int32_t tiles, int threads,
                                  spmm_bittcf_t *format);
void          spmmi_bittcf_free(void *format);

/** New values in the order of CSR. */
void spmmi_bittcf_refill(void *format, const void *values, int threads);

/** The arrays as kernels take them; borrowed. */
spmm_bittcf_arrays_t spmmi_bittcf_arrays(const spmm_bittcf_t *format);
/** @p arrays as CPU code walks them, which must outlive the view. */
spmm_tc_view_t spmmi_bittcf_view(const void *arrays);
/** Bytes that formats spend on where the entries are, as figure 12 of Acc-SpMM compares them;
 *  values come on top, the same in each.  All with indices of 32 bits and windows of 8 rows.  The
 *  paper gives the formula of BitTCF; the others count the arrays of those formats. */
typedef struct {
    size_t csr;    /**< row_ptr, col_idx: 4 (M + 1 + nnz) */
    size_t tcf;    /**< TC-GNN: CSR, row and condensed column of each entry, blocks per window:
                        4 (ceil(M / 8) + M + 1 + 3 nnz) */
    size_t me_tcf; /**< DTC-SpMM: a byte for the place of each entry in its TC block:
                        4 (ceil(M / 8) + 9 blocks + 2) + nnz */
    size_t bittcf; /**< 64 bits for all places of a TC block: 4 (ceil(M / 8) + 11 blocks + 2) */
    size_t values;
} spmm_bittcf_bytes_t;

/** Of a block of @p n_rows rows and @p nnz entries of @p type in @p n_blocks 8x8 TC blocks. */
spmm_bittcf_bytes_t spmmi_bittcf_bytes(int64_t n_rows, int64_t n_blocks, int64_t nnz,
                                       spmm_type_t type);
/** Bytes a format holds. */
size_t spmmi_bittcf_held(const void *format);

#endif /* SPMM_ENGINE_FORMAT_BITTCF_H */

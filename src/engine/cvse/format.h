/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h
 *  Column-vector-sparse encoding of any CSR: Sparse Vector Compression (SSpMM, section V;
 *  vectorSparse, section 4).  The rows in windows of V = 8 or 16; of every column with an entry
 *  in a window one vector of V values, zeros where it has none; all-zero vectors are dropped.
 *
 *  Where the papers leave a choice, this was chosen:
 *  - Vectors stand in blocks of 16, the k of one mma, and inside a block in the order that the
 *    lanes of a warp read them (spmmi_cvse_col_at(), spmmi_cvse_value_at()): one 8-byte load of
 *    a lane is its part of the mma operand.
 *  - A window's last block is filled up with places without a column, SPMM_TC_NO_COLUMN, and
 *    zeros: nothing of B is loaded there.
 *  - A bit for every value says whether it is stored in A.  No product reads them; with them the
 *    way back to CSR and new values are exact, explicit zeros too, and a sum that is not finite
 *    can be computed again from the entries alone.  They take V / 8 bytes of a vector's 4 + 2 V.
 *  - Structured matrices of V = 2 and 4 take the same way: neighbouring vector rows share a
 *    window, so that a row of B is loaded once for all of them that use it.
 */
#ifndef SPMM_ENGINE_FORMAT_CVSE_H
#define SPMM_ENGINE_FORMAT_CVSE_H

#include "cpu/windows/tc_mm.h"
#include "engine/cvse/args.h"
#include "engine/windows/windows.h"

typedef struct {
    int32_t     n_rows, n_cols, n_windows, n_blocks;
    int32_t     height;     /**< V: 8 or 16 */
    spmm_type_t type;       /**< 16F or 16BF */
    int32_t    *window_ptr; /**< as in spmm_cvse_arrays_t; all owned */
    int32_t    *col;
    uint16_t   *bits;
    void       *values;
    int32_t    *entry_ptr; /**< [n_windows + 1] entries of the rows before each window */
} spmm_cvse_t;

/** Convert @p block, which must be of type 16F or 16BF; its row map is not taken along.
 *  Deterministic.
 *  @param[in] tall     windows of SPMM_WINDOWS_TALL rows of @p block; NULL: condense here
 *  @param[in] height   8 or 16
 *  @param[in] threads  as in spmmi_windows_create()
 *  @return SPMM_ERR_RANGE from 2^31 entries on */
spmm_status_t spmmi_cvse_create(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, int32_t height, int threads,
                                spmm_cvse_t *format);
void          spmmi_cvse_free(void *format);

/** New values in the order of CSR. */
void spmmi_cvse_refill(spmm_cvse_t *format, const void *values, int threads);
/** The entry of CSR whose value stands at each place of values, -1 where there is none.
 *  @param[out] from  [blocks * 16 * height] */
void spmmi_cvse_entries(const spmm_cvse_t *format, int threads, int32_t *from);

/** The arrays as kernels take them; borrowed. */
spmm_cvse_arrays_t spmmi_cvse_arrays(const spmm_cvse_t *format);
/** @p arrays as CPU code walks them, which must outlive the view; its values do not follow each
 *  other: of runs() only the lengths say something. */
spmm_tc_view_t spmmi_cvse_view(const void *arrays);
/** Bytes held. */
size_t spmmi_cvse_held(const void *format);

/** What the vectors cost, as figures 12 and 13 of SSpMM show it: 4 bytes of index and V values of
 *  2 bytes for each vector, without the padding of blocks. */
typedef struct {
    double new_sparsity; /**< zeros inside of vectors: 1 - nnz / (V vectors) (figure 12) */
    size_t csr;          /**< 4 (M + 1) + (4 + 2) nnz */
    size_t me_tcf;       /**< DTC-SpMM: spmmi_tc_me_tcf_bytes() and 2 nnz */
    size_t cvse;         /**< 4 (ceil(M / V) + 1) + (4 + 2 V) vectors */
} spmm_cvse_bytes_t;

/** Of a block of @p nnz entries in @p vectors vectors of @p height and @p tc_blocks 8x8 TC
 *  blocks. */
spmm_cvse_bytes_t spmmi_cvse_bytes(int32_t n_rows, int64_t nnz, int64_t vectors, int32_t height,
                                   int64_t tc_blocks);

#endif /* SPMM_ENGINE_FORMAT_CVSE_H */

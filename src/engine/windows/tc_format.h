/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_format.h
 *  What tensor-core formats share on the host.  A window holds the entries of its rows and no
 *  others, and a block's entries are ascending in column for each row; so the format itself tells
 *  where each of its values stands in CSR, and none of them keeps a list of places.
 */
#ifndef SPMM_ENGINE_WINDOWS_TC_FORMAT_H
#define SPMM_ENGINE_WINDOWS_TC_FORMAT_H

#include "cpu/windows/tc_mm.h"
#include "engine/engine.h"

/** Entries of the rows before each window: row_ptr of @p block at every @p height-th row.
 *  @param[out] entry_ptr  [windows + 1], owned by the caller
 *  @return SPMM_ERR_RANGE from 2^31 entries on: the formats' offsets have 32 bits */
spmm_status_t spmmi_tc_entry_ptr(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                 int32_t **entry_ptr);

/** Values in the order of CSR to their places in a format.
 *  @param[in]  entry_ptr  of spmmi_tc_entry_ptr()
 *  @param[in]  value_size 4 or 8
 *  @param[out] to         the base that A->values reads */
void spmmi_tc_fill(const spmm_tc_view_t *A, const int32_t *entry_ptr, const void *values,
                   size_t value_size, void *to, int threads);

/** Bytes that ME-TCF (DTC-SpMM) spends on where the entries are, in @p n_blocks 8x8 TC blocks: a
 *  byte for the place of each entry in its block, 4 (ceil(M / 8) + 9 blocks + 2) + nnz. */
size_t spmmi_tc_me_tcf_bytes(int64_t n_rows, int64_t n_blocks, int64_t nnz);

/** A copy of the row map of @p block, NULL when it has none. */
spmm_status_t spmmi_tc_copy_row_map(spmm_env_t *env, const spmm_csr_t *block, int32_t **row_map);

#endif /* SPMM_ENGINE_WINDOWS_TC_FORMAT_H */

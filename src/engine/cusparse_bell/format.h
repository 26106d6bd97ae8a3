/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h
 *  Blocked-ELL as cuSPARSE takes it: square blocks, equally many in every row of blocks.  Places of
 *  a block without an entry, and blocks that only fill up a row, are stored as
 *  zeros and multiplied.
 */
#ifndef SPMM_ENGINE_FORMAT_BELL_H
#define SPMM_ENGINE_FORMAT_BELL_H

#include "engine/tc/windows.h"

enum { SPMM_BELL_SIZES = 3 }; /**< 8, 16 and 32: size k is 8 << k */

/** Places for each entry at most: beyond that the zeros take longer than any other format. */
enum { SPMM_BELL_MOST = 16 };
/** Values stored at most: cuSPARSE 13.0 returned success without a product at 5e8 of them, on an
 *  H200, and was right at 1.25e8. */
enum { SPMM_BELL_LARGEST = 1 << 27 };

/** Arrays are owned. */
typedef struct {
    int32_t  size; /**< rows and columns of a block of Blocked-ELL */
    int32_t  n_rows, n_cols, n_block_rows;
    int32_t  width; /**< blocks in each row of blocks */
    int64_t  nnz;
    int32_t *col;   /**< [n_block_rows x width] ascending block columns, then -1 */
    int32_t *place; /**< [nnz] of each entry among the values, which are row-major over the
                         n_block_rows * size rows of width * size places */
} spmm_bell_t;

/** Blocks in the fullest row of blocks, for each size.  O(pairs). */
void spmmi_bell_widths(const spmm_windows_t *tall, int threads, int64_t width[SPMM_BELL_SIZES]);

/** The size that takes least bytes of A and B through a product of @p n columns, 0 where all take
 *  more than SPMM_BELL_MOST places for each of @p nnz entries.
 *  @param[out] places  with that size, or the least of all sizes */
int32_t spmmi_bell_choose(int32_t n_rows, int64_t nnz, const int64_t width[SPMM_BELL_SIZES],
                          int64_t n, double *places);

/** Lay out @p block for products of @p n columns; O(nnz), the same for any number of threads.
 *  @param[in] tall  windows of SPMM_WINDOWS_TALL rows; NULL: they are made
 *  @return SPMM_ERR_UNSUPPORTED where padding is beyond SPMM_BELL_MOST */
spmm_status_t spmmi_bell_create(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, int64_t n, int threads,
                                spmm_bell_t *bell);
void          spmmi_bell_free(spmm_bell_t *bell);

/** Values stored, zeros included. */
static inline int64_t spmmi_bell_places(const spmm_bell_t *bell)
{
    return (int64_t)bell->n_block_rows * bell->size * bell->width * bell->size;
}

/** Put values of 16 bits, in the order of the block, where they belong.
 *  @param[out] places  [spmmi_bell_places()], of zeros */
void spmmi_bell_fill(const spmm_bell_t *bell, const uint16_t *values, int threads,
                     uint16_t *places);

#endif /* SPMM_ENGINE_FORMAT_BELL_H */

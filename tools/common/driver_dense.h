/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_dense.h
 *  Random dense operands.  An element is a pure function of seed, original global row and column,
 *  so every rank can evaluate any element: the reference needs no communication of B.  A complex
 *  block has a column for each part: 2 j and 2 j + 1.
 */
#ifndef DRIVER_DENSE_H
#define DRIVER_DENSE_H

#include <string.h>

#include "base/hash.h"
#include "driver_job.h"

/** A dense matrix that exists only as a formula. */
typedef struct {
    uint64_t    seed;
    uint64_t    fraction; /**< of an IEEE double: the bits that the storage type keeps */
    double      scale;    /**< a power of two */
    spmm_type_t type;
} driver_dense_t;

/** @p type without scale (1.0). */
driver_dense_t driver_dense(uint64_t seed, spmm_type_t type);

static inline uint64_t driver_dense_row(const driver_dense_t *dense, int64_t row)
{
    return spmmi_mix64(dense->seed ^ spmmi_mix64((uint64_t)row));
}

/** Element @p j of the row with key @p row_key: exactly representable in the storage type, as many
 *  significant bits as it has, magnitude in [1/4, 1) times scale, either sign. */
static inline double driver_dense_value(const driver_dense_t *dense, uint64_t row_key, int64_t j)
{
    const uint64_t h = spmmi_mix64(row_key ^ (uint64_t)j);
    /* sign from bit 63, exponent -2 or -1 from bit 62, fraction from the lowest 52 */
    const uint64_t bits = (h & 0x8000000000000000u) | ((uint64_t)(1021u + ((h >> 62) & 1u)) << 52) |
                          (h & dense->fraction);
    double x;

    memcpy(&x, &bits, sizeof x);
    return x * dense->scale;
}

/** This rank's rows of a dense operand in memory that the context's device uses. */
typedef struct {
    void         *data; /**< owned, spmm_buffer_alloc() */
    int64_t       rows, columns, ld;
    int64_t       elements; /**< of data, padding included */
    spmm_layout_t layout;   /**< ROW or COL */
    spmm_type_t   type;
} driver_block_t;

static inline int64_t driver_block_index(const driver_block_t *block, int64_t i, int64_t j)
{
    return block->layout == SPMM_LAYOUT_COL ? i + j * block->ld : i * block->ld + j;
}

/** What stands in the padding of blocks: a result that differs has been written out of bounds. */
#define DRIVER_PADDING (-1536.0)

/** Allocate; the leading dimension is the least one plus @p pad.  Local. */
int  driver_block_alloc(driver_job_t *job, spmm_context_t *ctx, int64_t rows, int64_t columns,
                        int64_t pad, spmm_layout_t layout, spmm_type_t type, driver_block_t *block);
void driver_block_free(spmm_context_t *ctx, driver_block_t *block);

/** Fill the elements from @p dense (NULL: NaN) and the padding with @p padding.  Local.
 *  @param[in] global_row  [rows] original index of each row; NULL: its own */
int driver_block_fill(driver_job_t *job, spmm_context_t *ctx, driver_block_t *block,
                      const driver_dense_t *dense, const int64_t *global_row, double padding);

/** A copy in host memory for the caller to free(); NULL when memory is out.  Local. */
int driver_block_fetch(driver_job_t *job, spmm_context_t *ctx, const driver_block_t *block,
                       void **host);

/** Padding elements of the fetched @p host that are not @p padding. */
int64_t driver_block_spoiled(const driver_block_t *block, const void *host, double padding);

#endif /* DRIVER_DENSE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file blocks.h  Checks of dense operands. */
#ifndef SPMM_API_BLOCKS_H
#define SPMM_API_BLOCKS_H

#include "api/overlap.h"
#include "spmm_dist/plan.h"

/** Is @p data, of @p count elements or rows of @p type, memory of the device of @p base, and does
 *  it begin where an element may lie?  Local. */
spmm_status_t spmmi_check_block(const spmm_plan_t *base, const char *name, const void *data,
                                int64_t count, spmm_type_t type);
/** The same for @p rows row-major rows of @p k columns of B's type, @p ld elements apart. */
spmm_status_t spmmi_check_rows(const spmm_plan_t *base, const char *name, const void *data,
                               int64_t rows, int64_t k, int64_t ld);

/** What @p lines lines of @p length elements, @p ld of them apart, take of memory. */
spmm_extent_t spmmi_extent_of(const void *data, int64_t lines, int64_t length, int64_t ld,
                              spmm_type_t type);
/** Does @p written share no elements with @p other?  Local. */
spmm_status_t spmmi_check_apart(const spmm_plan_t *base, const char *written,
                                const spmm_extent_t *a, const char *other, const spmm_extent_t *b);

#endif /* SPMM_API_BLOCKS_H */

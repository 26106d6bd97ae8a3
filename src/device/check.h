/* SPDX-License-Identifier: Apache-2.0 */
/** @file check.h  Checks of dense operands. */
#ifndef SPMM_DEVICE_CHECK_H
#define SPMM_DEVICE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"

/** A dense block in bytes: rows of a row-major one, columns of a column-major one. */
typedef struct {
    uintptr_t at;
    size_t    lines, line; /**< number and length; any is 0: no elements */
    size_t    apart;       /**< from line to line, at least their length */
} spmm_extent_t;

/** Blocks that lie in one range of addresses share no elements where their lines are equally far
 *  apart and lie side by side, as blocks of columns of one array; other such blocks count as
 *  overlapping.  Blocks of separate ranges cost two comparisons. */
bool spmmi_extents_overlap(const spmm_extent_t *a, const spmm_extent_t *b);

/** Does a block of @p count rows or columns, @p ld elements apart, fit the address space?  Kernels
 *  count its bytes in 64 bits. */
static inline bool spmmi_ld_fits(int64_t count, int64_t ld)
{
    enum { MOST_BYTES = 16 }; /* of an element */
    int64_t reach;

    return count <= 1 ||
           (!__builtin_mul_overflow(count, ld, &reach) && reach <= INT64_MAX / MOST_BYTES);
}

/** Is @p data, of @p count elements or rows of @p type, memory of the device, and does
 *  it begin where an element may lie?  Local. */
spmm_status_t spmmi_check_block(const spmm_device_t *device, const char *name, const void *data,
                                int64_t count, spmm_type_t type);
/** The same for @p rows row-major rows of @p k columns, @p ld elements apart. */
spmm_status_t spmmi_check_rows(const spmm_device_t *device, const char *name, const void *data,
                               int64_t rows, int64_t k, int64_t ld, spmm_type_t type);

/** What @p lines lines of @p length elements, @p ld of them apart, take of memory. */
spmm_extent_t spmmi_extent_of(const void *data, int64_t lines, int64_t length, int64_t ld,
                              spmm_type_t type);
/** Does @p written share no elements with @p other?  Local. */
spmm_status_t spmmi_check_apart(const spmm_device_t *device, const char *written,
                                const spmm_extent_t *a, const char *other, const spmm_extent_t *b);

#endif /* SPMM_DEVICE_CHECK_H */

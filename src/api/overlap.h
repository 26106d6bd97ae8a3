/* SPDX-License-Identifier: Apache-2.0 */
/** @file overlap.h  Do two dense blocks share elements? */
#ifndef SPMM_API_OVERLAP_H
#define SPMM_API_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif /* SPMM_API_OVERLAP_H */

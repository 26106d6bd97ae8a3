/* SPDX-License-Identifier: Apache-2.0 */
/** @file format_kind.h  Formats of windows of all kinds, and what each owes. */
#ifndef SPMM_FORMAT_KIND_H
#define SPMM_FORMAT_KIND_H

#include "test_main.h"

#include "engine/cvse/format.h"
#include "engine/windows/bittcf_format.h"
#include "engine/windows/hrpb_format.h"
#include "engine/windows/tc_format.h"

enum { FORMAT_KINDS = 7 };

/** One format of any kind. */
typedef struct {
    int32_t              tiles;      /* BitTCF, or */
    int32_t              panel_rows; /* HRPB, or */
    int32_t              vector;     /* CVSE */
    spmm_bittcf_t        bittcf;
    spmm_bittcf_arrays_t bittcf_arrays;
    spmm_hrpb_t          hrpb;
    spmm_hrpb_arrays_t   hrpb_arrays;
    spmm_cvse_t          cvse;
    spmm_cvse_arrays_t   cvse_arrays;
    spmm_tc_view_t       view;
    const int32_t       *col; /* of blocks of width columns */
    int32_t              width;
} format_t;

/** Format number @p which of @p block; false: none for its type. */
bool format_kind_make(const spmm_csr_t *block, int which, int threads, format_t *f);
void format_kind_free(format_t *f);

/** All formats of the block: entries, columns, products, refill, and what @p check_arrays, if not
 *  NULL, says. */
void format_kind_check(const spmm_csr_t *block,
                       void (*check_arrays)(const format_t *f, const spmm_csr_t *block));

#endif /* SPMM_FORMAT_KIND_H */

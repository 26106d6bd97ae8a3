/* SPDX-License-Identifier: Apache-2.0 */
/** @file strips_format.h  Strips of rows, in host memory. */
#ifndef SPMM_ENGINE_CSR_STRIPS_FORMAT_H
#define SPMM_ENGINE_CSR_STRIPS_FORMAT_H

#include "engine/csr/strips_args.h"
#include "engine/pattern.h"
#include "matrix/csr.h"

/** As spmm_strips_args_t says; all arrays owned. */
typedef struct {
    int32_t             n_strips, n_splits, n_items;
    int64_t             n_cols, n_ptr;
    int32_t             most_cols, most_entries; /**< of a strip */
    spmm_strip_t       *strip;
    spmm_strip_split_t *split;
    int32_t            *col;
    uint16_t           *index;
    uint16_t           *ptr;
} spmm_strips_t;

/** Rows of a strip at most, so that @p n_sm multiprocessors have enough of them for @p n columns of
 *  elements of @p size bytes. */
int32_t spmmi_strips_rows(int32_t n_rows, int64_t n, int64_t size, int n_sm);

/** Cut a block into strips, from the first row on as many as the limits of args.h allow, and @p
 *  rows.  Empty rows take part.
 *  @param[in] rows     1 to SPMM_STRIP_ROWS
 *  @param[in] threads  OpenMP threads, 0: as many as OpenMP likes
 *  @return SPMM_ERR_RANGE for 2^31 entries or more, or as many rows and strips together */
spmm_status_t spmmi_strips_create(spmm_env_t *env, const spmm_csr_t *block, int32_t rows,
                                  int threads, spmm_strips_t *strips);
void          spmmi_strips_free(spmm_strips_t *strips);

/* What strips make of a pattern. */

/** All 0 where A is neither of real FP32 nor of FP64. */
typedef struct {
    int64_t strips;      /**< of 128 rows, of 64 or of 32, as many as the limits of args.h allow */
    int64_t cols;        /**< (strip, column) pairs */
    int64_t quads, octs; /**< (strip, four or eight aligned columns) pairs */
} spmm_strips_facts_t;

extern const spmm_pattern_facts_t spmmi_strips_pattern_facts;

/** Those of a pattern; zeros where it has none. */
spmm_strips_facts_t spmmi_strips_facts(const spmm_pattern_t *pattern);

#endif /* SPMM_ENGINE_CSR_STRIPS_FORMAT_H */

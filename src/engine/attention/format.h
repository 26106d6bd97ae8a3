/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h  Masks of sparse attention in windows and panels, on the host. */
#ifndef SPMM_ENGINE_ATTENTION_FORMAT_H
#define SPMM_ENGINE_ATTENTION_FORMAT_H

#include "engine/attention/args.h"
#include "matrix/csr.h"

/** What spmm_attention_windows_t says of itself. */
typedef struct {
    int32_t height, windows, width;
} spmm_attention_variant_t;

/** Arrays as in spmm_attention_windows_t, owned, freed by spmmi_attention_free_list(). */
typedef struct {
    spmm_attention_variant_t variant;
    int32_t                  n_rows, n_groups, n_panels;
    int64_t                  n_chunks;
    int64_t                  vectors; /**< slots in use */
    int64_t                  columns; /**< places of panels in use: rows of K and V to load */
    int32_t                 *group, *panels, *col, *chunks;
    uint32_t                *slot;
} spmm_attention_list_t;

/** Put the entries of @p block into windows, groups and panels.  Local.
 *  @param[in] threads  OpenMP threads, 0: as many as OpenMP likes
 *  @return SPMM_ERR_RANGE where chunks cannot be counted in 32 bits */
spmm_status_t spmmi_attention_make_list(spmm_env_t *env, const spmm_csr_t *block,
                                        const spmm_attention_variant_t *variant, int threads,
                                        spmm_attention_list_t *list);
void          spmmi_attention_free_list(spmm_attention_list_t *list);

/** The way back: columns of each row, ascending.
 *  @param[out] row_ptr  [n_rows + 1]
 *  @param[out] col      as many as there were entries */
void spmmi_attention_decode(const spmm_attention_list_t *list, int64_t *row_ptr, int32_t *col);

#endif /* SPMM_ENGINE_ATTENTION_FORMAT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_tiles.h  BCSR as the thesis has it (ladder.h), made on the host. */
#ifndef LADDER_TILES_H
#define LADDER_TILES_H

#include "ladder.h"
#include "matrix/csr.h"

/** Arrays as in ladder_tiles_t, owned. */
typedef struct {
    int32_t          n_tile_rows, n_tile_cols, width;
    int64_t          n_dense, n_sparse;
    int32_t         *map, *ptr;
    ladder_listed_t *list;
    int32_t         *dense_ptr, *dense_col, *sparse_ptr, *sparse_col;
    uint16_t        *dense, *packed;
    uint32_t        *meta;
} ladder_host_t;

enum { LADDER_MAP = 1 << 28 }; /**< most tiles, empty ones among them, of a map */

/** @param[in] block  of type 16F
 *  @param[in] form   any but LADDER_MERGED; with LADDER_SPARSE_* tiles with at most two entries in
 *                    any four columns are 2:4
 *  @return SPMM_ERR_RANGE for 2^31 entries or more */
spmm_status_t ladder_host_create(spmm_env_t *env, const spmm_csr_t *block, ladder_form_t form,
                                 ladder_host_t *host);

/** LADDER_MERGED of LADDER_DENSE_16; without map and list. */
spmm_status_t ladder_host_merge(spmm_env_t *env, const ladder_host_t *from, ladder_host_t *host);
void          ladder_host_free(ladder_host_t *host);

#endif /* LADDER_TILES_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_tiles.h  BCSR as the thesis has it (ladder.h), made on the host. */
#ifndef LADDER_TILES_H
#define LADDER_TILES_H

#include "ladder.h"
#include "matrix/csr.h"

/** Arrays as in ladder_tiles_t, owned. */
typedef struct {
    int32_t   n_tile_rows, width;
    int64_t   n_dense, n_sparse;
    int32_t  *dense_ptr, *dense_col, *sparse_ptr, *sparse_col;
    uint16_t *dense, *packed;
    uint32_t *meta;
} ladder_host_t;

/** @param[in] block  of type 16F
 *  @param[in] width  16, or 32: then tiles with at most two entries in any four columns are 2:4
 *  @return SPMM_ERR_RANGE for 2^31 entries or more */
spmm_status_t ladder_host_create(spmm_env_t *env, const spmm_csr_t *block, int32_t width,
                                 ladder_host_t *host);
void          ladder_host_free(ladder_host_t *host);

/** C [n_rows x n] += A * B [n_cols x n], row-major, from the arrays as a kernel reads them. */
void ladder_host_multiply(const ladder_host_t *host, int32_t n_rows, int32_t n_cols, int64_t n,
                          const double *B, double *C);

#endif /* LADDER_TILES_H */

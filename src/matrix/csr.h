/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr.h  A local CSR block in host memory: the input of every engine. */
#ifndef SPMM_MATRIX_CSR_H
#define SPMM_MATRIX_CSR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

typedef struct {
    int32_t     n_rows, n_cols;
    int64_t    *row_ptr; /**< [n_rows + 1], owned */
    int32_t    *col_idx; /**< [nnz], owned, ascending in each row, no column twice */
    void       *values;  /**< [nnz] of type, owned */
    spmm_type_t type;
    int32_t    *row_map; /**< [n_rows], owned: row of C of each row, no row twice; NULL: identity */
    int32_t     c_rows;  /**< rows of C: n_rows without a row_map */
} spmm_csr_t;

static inline int64_t spmmi_csr_nnz(const spmm_csr_t *csr)
{
    return csr->n_rows == 0 ? 0 : csr->row_ptr[csr->n_rows];
}

/** Does row i of the block belong to row i of C, for all of C? */
bool spmmi_csr_row_map_is_identity(const spmm_csr_t *csr);

/** Allocate the arrays of an @p n_rows x @p n_cols block; row_map stays NULL. */
spmm_status_t spmmi_csr_alloc(spmm_env_t *env, int32_t n_rows, int32_t n_cols, int64_t nnz,
                              spmm_type_t type, spmm_csr_t *csr);
/** Frees the arrays and zeroes *csr. */
void spmmi_csr_free(spmm_csr_t *csr);

/** out = transpose of @p csr (row maps are not taken along: in must have none).
 *  @param[out] order  [nnz], owned by the caller, freed with spmmi_free(): where each entry of out
 *                     stands in @p csr; may be NULL */
spmm_status_t spmmi_csr_transpose(spmm_env_t *env, const spmm_csr_t *csr, spmm_csr_t *out,
                                  uint32_t **order);

/** out = the rows of @p csr in another order, with their row map.
 *  @param[in]  order  [n_rows] old row of each new one, a permutation
 *  @param[out] entry  [nnz], owned by the caller, freed with spmmi_free(): where each entry of out
 *                     stands in @p csr; may be NULL */
spmm_status_t spmmi_csr_permute(spmm_env_t *env, const spmm_csr_t *csr, const int32_t *order,
                                spmm_csr_t *out, uint32_t **entry);

/** Bytes of the arrays. */
size_t spmmi_csr_bytes(const spmm_csr_t *csr);

/* Stable sort of the entries of one row by column. */

/** A column and what travels with it. */
typedef struct {
    int64_t col;
    union {
        double  value;
        int64_t from; /**< where the entry stood before */
    };
} spmm_pair_t;

/** Sort by column; equal columns keep their order.  O(n log n), O(n) when sorted already.
 *  @param[in] scratch  [n], overwritten */
void spmmi_pairs_sort(spmm_pair_t *pair, int64_t n, spmm_pair_t *scratch);

#endif /* SPMM_MATRIX_CSR_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h  Where the entries of a block stand when it is stored densely. */
#ifndef SPMM_ENGINE_DENSE_FORMAT_H
#define SPMM_ENGINE_DENSE_FORMAT_H

#include "matrix/csr.h"

enum {
    SPMM_DENSE_MOST  = 64, /**< times the memory of the entries in CSR, at most */
    SPMM_DENSE_ALIGN = 16  /**< bytes that a row begins at a multiple of */
};

/** Elements from the beginning of a row to that of the next. */
int64_t spmmi_dense_ld(int32_t n_cols, spmm_type_t type);

/** Is a block full enough to be stored so?  Its entries are numbered by int32_t, too. */
bool spmmi_dense_fits(int32_t n_rows, int32_t n_cols, int64_t nnz, spmm_type_t type);

/** Which entry stands in each place; -1: none.
 *  @param[out] from  [n_rows x ld] */
void spmmi_dense_places(int32_t n_rows, int64_t ld, const int32_t *row_ptr, const int32_t *col,
                        int threads, int32_t *from);

#endif /* SPMM_ENGINE_DENSE_FORMAT_H */

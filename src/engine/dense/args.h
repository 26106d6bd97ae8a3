/* SPDX-License-Identifier: Apache-2.0 */
/** @file args.h  The arrays of engine dense, which its kernels take. */
#ifndef SPMM_ENGINE_DENSE_ARGS_H
#define SPMM_ENGINE_DENSE_ARGS_H

#include "operands.h"

/** A block stored densely, and which of its places are entries. */
typedef struct {
    spmm_type_t    type;
    int32_t        n_rows, n_cols;
    int64_t        ld;      /**< elements from row to row: a multiple of 16 bytes */
    void          *values;  /**< [n_rows x ld], row-major; zeros where there is no entry */
    const int32_t *row_ptr; /**< [n_rows + 1] */
    const int32_t *col;     /**< [row_ptr[n_rows]], ascending in each row */
} spmm_dense_args_t;

enum { SPMM_DENSE_GROUP = 32 }; /**< columns of B that share a mark */

/** Which columns of B are not finite. */
typedef struct {
    uint32_t *of;     /**< [last + 1] number of the last product whose group of columns of B had Inf
                           or NaN; NULL: none are kept, all of C is looked through */
    int64_t   last;   /**< group */
    uint32_t  number; /**< of this product */
} spmm_dense_marks_t;

#endif /* SPMM_ENGINE_DENSE_ARGS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file matrix.h  The distributed matrix as the library sees it, and its makers. */
#ifndef SPMM_MATRIX_MATRIX_H
#define SPMM_MATRIX_MATRIX_H

#include <stdbool.h>

#include "base/env.h"
#include "spmm_dist/matrix.h"

/** Something made from a matrix that must follow its values: a plan. */
typedef struct spmm_matrix_user spmm_matrix_user_t;
struct spmm_matrix_user {
    /** Take over new values of the matrix.  Collective; not agreed. */
    spmm_status_t (*refill)(void *self);
    void               *self;
    spmm_matrix_user_t *next;
};

struct spmm_matrix {
    spmm_env_t         *env;        /**< borrowed */
    int64_t             rows, cols; /**< global shape */
    int64_t             nnz;        /**< global */
    uint64_t            digest;     /**< of the file it was read from; 0: none */
    int64_t            *row_offset; /**< [size + 1], owned: rank p owns rows [p] .. [p + 1] - 1 */
    int64_t            *col_offset; /**< [size + 1], owned: the same for columns */
    int32_t             n_rows, n_cols; /**< owned by this rank */
    int64_t            *row_ptr;        /**< [n_rows + 1], owned */
    int64_t            *col_idx; /**< [row_ptr[n_rows]], owned, global, ascending in each row */
    void               *values;  /**< [row_ptr[n_rows]], owned */
    bool                dropped; /**< the two are gone */
    spmm_type_t         type;
    int64_t            *value_order; /**< [local nnz], owned: where each entry stood in the caller's
                                          arrays; NULL: in the same place */
    spmm_matrix_user_t *users;       /**< plans, linked by them */
    int                *live;        /**< of the context: matrices and plans alive; may be NULL */
    void               *context;     /**< owner context, set by the api layer, as is the next */
    int                 number;      /**< among what the context has made: equal on all ranks */
};

/** This rank's entries of the matrix. */
static inline int64_t spmmi_matrix_local_nnz(const spmm_matrix_t *A)
{
    return A->row_ptr[A->n_rows];
}

/** SPMM_ERR_ARGUMENT, with a sentence, where they have been dropped.  Local. */
spmm_status_t spmmi_matrix_need_entries(const spmm_matrix_t *A);

/** Memory that the matrix holds on this rank. */
size_t spmmi_matrix_bytes(const spmm_matrix_t *A);

/** Are rows and columns one index set, split alike?  Then B lives where C lives. */
bool spmmi_matrix_is_square(const spmm_matrix_t *A);

/** A matrix of zeroed fields with @p env and @p type; arrays are filled in by the maker. */
spmm_status_t spmmi_matrix_new(spmm_env_t *env, spmm_type_t type, spmm_matrix_t **A);
/** Not collective, NULL-safe, frees the arrays. */
void spmmi_matrix_free(spmm_matrix_t *A);

/** Even split of @p n indices: the first n % size ranks get one more.  offset [size + 1]. */
void spmmi_even_offsets(int64_t n, int size, int64_t *offset);

/** offset[p] of an even split. */
static inline int64_t spmmi_even_share(int64_t n, int size, int p)
{
    const int64_t base = n / size, extra = n % size;

    return base * p + (p < extra ? p : extra);
}

/** The maker behind spmm_matrix_create_csr(), arrays in host memory.  Collective, agreed. */
spmm_status_t spmmi_matrix_from_csr(spmm_env_t *env, int64_t n_rows, int64_t n_cols,
                                    const int64_t *row_ptr, const int64_t *col_idx,
                                    const void *values, spmm_type_t type, spmm_matrix_t **A);

/** The caller's blocks, in host memory: arrays as spmm_matrix_create_cvse() takes them. */
typedef struct {
    int64_t        n_rows, n_cols;
    int64_t        vector, width; /**< rows and columns of a block; vector divides n_rows */
    const int64_t *block_ptr, *col_idx;
    const void    *values;
    spmm_type_t    type;
} spmm_blocks_t;

/** The maker behind spmm_matrix_create_cvse().  Collective, agreed. */
spmm_status_t spmmi_matrix_from_blocks(spmm_env_t *env, const spmm_blocks_t *in, spmm_matrix_t **A);

/** The maker behind spmm_matrix_read().  Collective, agreed. */
spmm_status_t spmmi_matrix_from_file(spmm_env_t *env, const char *path, spmm_type_t type,
                                     uint64_t seed, spmm_matrix_t **A);

/** The maker behind spmm_matrix_generate().  Collective, agreed. */
spmm_status_t spmmi_matrix_from_spec(spmm_env_t *env, const char *spec, spmm_type_t type,
                                     uint64_t seed, spmm_matrix_t **A);

#endif /* SPMM_MATRIX_MATRIX_H */

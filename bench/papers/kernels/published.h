/* SPDX-License-Identifier: Apache-2.0 */
/** @file published.h
 *  Kernels as five papers publish them, for the benchmark alone: bench_published times them
 *  beside the engine of the library that took their place.
 */
#ifndef PUBLISHED_H
#define PUBLISHED_H

#include <cuda_runtime_api.h>

#include "block.h"

/** A matrix for variants. */
typedef struct {
    const spmm_device_t    *device;
    const spmm_csr_t       *block;
    const spmm_csr_t       *ordered; /**< its rows in the order of the paper; block where none is */
    int64_t                 n;
    const bench_operands_t *o; /**< B and C */
} published_case_t;

/** A paper. */
typedef struct {
    const char        *name;
    spmm_type_t        type; /**< of A, B and C */
    spmm_compute_t     compute;
    const char        *engine; /**< of the library: the line `engine` */
    const char *const *named;  /**< NULL, or engines by their names in its place, NULL last */
    int64_t            unit;   /**< of which all widths are multiples */
    int32_t            pad;    /**< 0, or of which rows and columns become multiples, empty ones */
    const spmm_reorderer_t *order; /**< NULL: none */
    int                     n_variants;
    const char *const      *variants; /**< the first one: all mechanisms */

    size_t state_size; /**< of what build() fills, a published_arrays_t first */

    /** Make what variant @p v multiplies, with what it takes on the device, in @p state, zero at
     *  first; its arrays are released after a failure, too.
     *  @return SPMM_ERR_UNSUPPORTED: not this case */
    spmm_status_t (*build)(const published_case_t *c, int v, void *state);
    /** Enqueue C = A * B, row-major, n columns without gaps. */
    cudaError_t (*run)(const void *state, const void *B, void *C, int64_t n, cudaStream_t stream);
    void (*close)(void *state); /**< NULL: arrays are all that it has */
} published_t;

extern const published_t published_acc, published_cute, published_sspmm, published_thesis,
    published_vector;

enum { PUBLISHED_ARRAYS = 12 };

/** Device arrays of a state, released together. */
typedef struct {
    void *array[PUBLISHED_ARRAYS];
    int   n;
} published_arrays_t;

/** A device copy, NULL unless *status is SPMM_OK, which it sets where it fails. */
void *published_upload(const spmm_device_t *device, const void *host, size_t bytes,
                       published_arrays_t *arrays, spmm_status_t *status);

#endif /* PUBLISHED_H */

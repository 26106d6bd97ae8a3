/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_verify.h
 *  Compare a result in the original distribution with the FP64 product of the original A and B.
 *  The reference is made row by row; no dense FP64 block exists.
 */
#ifndef DRIVER_VERIFY_H
#define DRIVER_VERIFY_H

#include "driver_dense.h"
#include "driver_rows.h"

/** What is to be C = alpha * op(A) * B + beta * C0, on this rank. */
typedef struct {
    const driver_rows_t  *rows; /**< of op(A) */
    driver_dense_t        B, C0;
    double                alpha, beta;
    int64_t               stride; /**< every so many rows are compared; 0: all */
    const driver_block_t *block;  /**< shape of C: rows->n_rows x columns */
    const void           *C;      /**< host copy of block */
} driver_product_t;

/** The comparison of one or of all ranks. */
typedef struct {
    double  max_error;    /**< max of |C - ref| / (|alpha| |op(A)| |B| + |beta| |C0|); infinite
                               where C is not finite or should be 0 and is not */
    int64_t compared;     /**< elements; complex ones by parts, of which each has its own bound */
    int64_t out_of_range; /**< elements whose terms may overflow the type: not compared */
    int64_t row, col;     /**< original position of max_error; -1: no element compared */
    double  got, want;    /**< C and the reference there */
} driver_verdict_t;

/** Not collective. */
driver_verdict_t driver_compare(const driver_product_t *product);

/** The verdict of all ranks.  Collective. */
driver_verdict_t driver_verdict_reduce(driver_job_t *job, const driver_verdict_t *mine);

#endif /* DRIVER_VERIFY_H */

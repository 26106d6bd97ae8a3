/* SPDX-License-Identifier: Apache-2.0 */
/** @file binsparse.h
 *  The JSON by which binsparse (github.com/GraphBLAS/binsparse-specification, version 0.1)
 *  describes a sparse matrix.  Built with cJSON only. */
#ifndef SPMM_MATRIX_BINSPARSE_H
#define SPMM_MATRIX_BINSPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "spmm_dist/types.h"

/** What the numbers of an array are. */
typedef struct {
    char kind;  /**< 'u', 'i': integers without and with a sign; 'f': IEEE 754; 'b': 0 is false */
    int  bytes; /**< of each */
} spmm_binsparse_type_t;

/** A matrix in format CSR. */
typedef struct {
    int64_t               rows, cols, nnz;
    spmm_binsparse_type_t row, col, value;
    int                   parts; /**< of a value: 1, or 2 where they are complex */
    bool                  iso;   /**< one value stands for all */
    bool                  fill;  /**< there is an array fill_value */
} spmm_binsparse_t;

/** Understand @p text.  Local.
 *  @param[out] problem  what completes "the attribute binsparse ...", where the status is not
 *                       SPMM_OK; static
 *  @return SPMM_ERR_IO for text that is no such description, SPMM_ERR_UNSUPPORTED for one of what
 *          is not read */
spmm_status_t spmmi_binsparse_parse(const char *text, spmm_binsparse_t *b, const char **problem);

#endif /* SPMM_MATRIX_BINSPARSE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_case.h  Masks whose entries are functions of (i, j), and dot products at them
 *  through a whole plan checked against FP64. */
#ifndef SPMM_SDDMM_CASE_H
#define SPMM_SDDMM_CASE_H

#include "plan_case.h"

/** A mask of vectors of @p vector rows, of which about @p per_mille of 1000 are there. */
typedef struct {
    int64_t vectors, cols; /**< rows: vectors * vector */
    int64_t vector;
    int     per_mille;
    int64_t dense;  /**< this row of vectors is full; -1: none */
    int     blocks; /**< 0: made from CSR rows, odd ones in descending order of columns; -1: all in
                         ascending order; else from column-vector-sparse blocks of this width, which
                         divides cols */
} mask_t;

/** This rank's part: the arrays of the caller, and (row, column) of every value, global. */
typedef struct {
    mask_t         shape;
    int64_t        first_row, rows, first_col, cols; /**< rows and columns owned */
    int64_t        nnz;
    int64_t       *row, *col; /**< [nnz] in the order of the caller's values */
    spmm_matrix_t *A;         /**< its values, which nothing reads, are zeros */
} masked_t;

masked_t make_masked(const mask_t *shape, spmm_type_t type);
void     free_masked(masked_t *m);

/** One SDDMM to check. */
typedef struct {
    spmm_type_t type, s_type;      /**< s_type SPMM_TYPE_AUTO: type */
    int64_t     k, planned_k, pad; /**< planned_k 0: k */
    double      alpha, beta;
    const char *kernel;
    int         special; /**< nonzero: some rows of X and Y hold Inf and NaN */
} sampled_t;

/** Plan and run on a mask. */
void check_sampled(const masked_t *m, const sampled_t *s);

/** Element (i, j) of X, Y or another operand @p which, rounded to @p type. */
double operand(int which, int64_t i, int64_t j, spmm_type_t type, int special);
/** Rows [first, first + rows) of it on the device; release with spmm_buffer_free(). */
void *device_operand(int which, int64_t first, int64_t rows, int64_t k, int64_t ld,
                     spmm_type_t type, int special);
/** Bound of |S - ref| / (|alpha| |X||Y| + |beta S|). */
double sampled_bound(spmm_type_t type, spmm_type_t s_type);

#endif /* SPMM_SDDMM_CASE_H */

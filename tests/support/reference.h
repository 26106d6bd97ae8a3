/* SPDX-License-Identifier: Apache-2.0 */
/** @file reference.h  What products are compared with: operands that every rank draws alike, and
 *  sums of them in FP64. Nothing of it is the library's but the conversions of types. */
#ifndef SPMM_REFERENCE_H
#define SPMM_REFERENCE_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "spmm_dist/types.h"

/** Element (i, j) of the operand @p seed, of magnitude 1/4 to 1, rounded to @p type; of a complex
 *  type each part is so. */
double         reference_value(uint64_t seed, int64_t i, int64_t j, spmm_type_t type);
double complex reference_element(uint64_t seed, int64_t i, int64_t j, spmm_type_t type);

/** Element @p k of @p values, of any type. */
double complex reference_get(spmm_type_t type, const void *values, int64_t k);
void           reference_set(spmm_type_t type, void *values, int64_t k, double complex x);

/** Where element (i, j) of a dense block stands. */
int64_t reference_place(spmm_layout_t layout, int64_t ld, int64_t i, int64_t j);

/** This rank's part of @p n rows: uneven, and with three ranks or more rank 1 owns nothing. */
void reference_part(int64_t n, int64_t *first, int64_t *count);

/** A sum, and that of the magnitudes of its terms, which bounds are relative to. */
typedef struct {
    double sum, size;
} reference_t;

static inline void reference_add(reference_t *r, double term)
{
    r->sum += term;
    r->size += fabs(term);
}

/** NaN where the sum is NaN, the same infinity, else within @p bound of the magnitudes and @p
 *  slack. */
bool reference_near(const reference_t *r, double got, double bound, double slack);

/** The @p bound of results of @p type. */
double reference_bound(spmm_type_t type);

#endif /* SPMM_REFERENCE_H */

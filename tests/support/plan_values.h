/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_values.h  Entries and elements of plan_case.h's matrices, and what C must be. */
#ifndef SPMM_PLAN_VALUES_H
#define SPMM_PLAN_VALUES_H

#include "plan_case.h"

/** What entries and elements are drawn by. */
enum { FIRST_A = 3, SECOND_A = 5, SEED_B = 11, SEED_C = 13 };

/** Entry of A, first or second by @p seed; 0: none. */
double complex plan_entry(const shape_t *s, const product_t *p, uint64_t seed, int64_t i,
                          int64_t j);
/** Element of B or C, by seed. */
double complex plan_element(const shape_t *s, const product_t *p, uint64_t seed, int64_t i,
                            int64_t j);
/** Rows of B: columns of op(A). */
int64_t plan_inner(const shape_t *s, const product_t *p);
/** Is beta 0 in the compute type?  C is not read then. */
bool plan_no_beta(const product_t *p);

/** Row @p g of C, parts of its elements in turn.  @return terms of each */
int64_t plan_sum_row(const shape_t *s, const product_t *p, uint64_t seed, int64_t g,
                     const double complex *B, reference_t (*sum)[2]);
/** Is a part of an element, of that many terms, near to what it must be? */
bool plan_is_near(const product_t *p, const reference_t *want, double got, int64_t terms);

#endif /* SPMM_PLAN_VALUES_H */

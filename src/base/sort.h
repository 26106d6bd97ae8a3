/* SPDX-License-Identifier: Apache-2.0 */
/** @file sort.h  Sorting of large lists of integers. */
#ifndef SPMM_BASE_SORT_H
#define SPMM_BASE_SORT_H

#include "base/env.h"

/** Sort @p key ascending.  Linear in @p n and in the bytes of the largest key; needs as much memory
 *  again while it runs. */
spmm_status_t spmmi_sort_u64(spmm_env_t *env, uint64_t *key, int64_t n);

/** The same, stable, and element i of @p value goes where key i goes. */
spmm_status_t spmmi_sort_u64_with(spmm_env_t *env, uint64_t *key, int64_t *value, int64_t n);

/** Drop repetitions from a sorted list; returns how many remain. */
int64_t spmmi_unique_u64(uint64_t *key, int64_t n);
/** The middle one of a few numbers, of two the larger; reorders them. */
double spmmi_median(double *values, int n);

#endif /* SPMM_BASE_SORT_H */

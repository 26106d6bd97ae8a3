/* SPDX-License-Identifier: Apache-2.0 */
/** @file tool_common.h  What spmm_dist and spmm_bench share: the words of options, the median, the
 *  error of an element and its bound. */
#ifndef TOOL_COMMON_H
#define TOOL_COMMON_H

#include "spmm_dist/spmm_dist.h"

/** A word an option takes and what it stands for; lists end with a NULL name. */
typedef struct {
    const char *name;
    int         value;
} tool_word_t;

extern const tool_word_t tool_types[];    /**< spmm_type_t */
extern const tool_word_t tool_computes[]; /**< spmm_compute_t */
extern const tool_word_t tool_layouts[];  /**< spmm_layout_t */

/** The word @p text, NULL when it is none of @p words. */
const tool_word_t *tool_word_find(const tool_word_t *words, const char *text);
/** The word that stands for @p value, "auto" when there is none. */
const char *tool_word_name(const tool_word_t *words, int value);

/** Of @p n > 0 values, which are sorted in place. */
double tool_median(double *values, int64_t n);

/** Largest |C - ref| / bound of a right result in @p type; SPMM_COMPUTE_AUTO
 *  adds nothing to what the type allows. */
double tool_tolerance(spmm_type_t type, spmm_compute_t compute);

/** What an element of C may hold. */
typedef struct {
    double largest; /**< finite value of the type */
    double eta;     /**< what underflow may cost in all */
} tool_range_t;

/** Of an element of @p type that is the sum of @p terms products.  One rounding may lose eta where the
 *  result is subnormal (or flushed to zero, as GPUs do): Higham, Accuracy and Stability, section 2.2. */
tool_range_t tool_range(spmm_type_t type, int64_t terms);

/** |got - want| / bound after what underflow may cost; infinity where @p got is not finite, or a sum of
 *  nothing not exactly 0. */
double tool_relative_error(double got, double want, double bound, double eta);

#endif /* TOOL_COMMON_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file tool_common.h  What spmm_dist and spmm_bench share: the words of options, the median and
 *  the bound of the error. */
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

#endif /* TOOL_COMMON_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file tool_common.h  What the programs of tools/ and bench/ share: the words and numbers of
 *  options, the median, the FP64 reference of an element, its error and bound. */
#ifndef TOOL_COMMON_H
#define TOOL_COMMON_H

#include <math.h>
#include <stdbool.h>

#include "spmm_dist/spmm_dist.h"

/** First of all, before files are opened that would take the place of the standard streams and get
 *  what is printed: what is closed of them fails to be read and written. */
void tool_hold_streams(void);
/** Has all that was printed arrived?  @return NULL, or why not */
const char *tool_flush_output(void);

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

/** Is @p name one of the names with commas between them in @p list?  NULL has all. */
bool tool_is_listed(const char *list, const char *name);

/** A whole number, at least @p least and nothing behind it, into *value; else false. */
bool tool_read_int(const char *text, int64_t least, int64_t *value);
/** Numbers of columns with commas between them, multiples of @p step, @p most at most.
 *  @return how many; 0 where @p text is none such list */
int tool_read_widths(const char *text, int64_t step, int64_t *width, int most);

/** Of @p n > 0 values, which are sorted in place. */
double tool_median(double *values, int64_t n);

/** Largest |C - ref| / bound of a right result in @p type; SPMM_COMPUTE_AUTO
 *  adds nothing to what the type allows. */
double tool_tolerance(spmm_type_t type, spmm_compute_t compute);

/** What ghost rows of @p type add to it, unit roundoff; 0 for SPMM_TYPE_AUTO. */
double tool_roundoff(spmm_type_t type);

/** What an element of C may hold. */
typedef struct {
    double largest; /**< finite value of the type */
    double eta;     /**< what underflow may cost in all */
} tool_range_t;

/** Of an element of @p type, or a part of it, that is the sum of @p terms real products.  One
 *  rounding may lose eta where the result is subnormal (or flushed to zero, as GPUs do): Higham,
 *  Accuracy and Stability, section 2.2. */
tool_range_t tool_range(spmm_type_t type, int64_t terms);

/** Power of two by which B is scaled for products in 16f: sums soon pass 65504, the largest number
 *  of the type, although A and B fit, so row sums of |A B| stay below 3e4; not below 2^-12, where B
 *  itself would lose bits.  @p most: largest sum of magnitudes of a row of A */
double tool_scale_of_b(double most);

/** An element of the reference: its terms in FP64, and their magnitudes. */
typedef struct {
    double sum, size;
} tool_sum_t;

static inline void tool_sum_add(tool_sum_t *to, double term)
{
    to->sum += term;
    to->size += fabs(term);
}

/** |got - want| / bound after what underflow may cost; infinity where @p got is not finite, or a
 *  sum of nothing not exactly 0. */
double tool_relative_error(double got, double want, double bound, double eta);

#endif /* TOOL_COMMON_H */

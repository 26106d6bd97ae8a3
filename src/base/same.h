/* SPDX-License-Identifier: Apache-2.0 */
/** @file same.h
 *  Do all ranks make the same call with the same arguments?  Where they do not, every rank gets one
 *  sentence that names the argument and a rank.  Set-up calls always ask; products, which spend no
 *  reduction, where the context checks calls.
 */
#ifndef SPMM_BASE_SAME_H
#define SPMM_BASE_SAME_H

#include <stdint.h>

#include "base/env.h"

/** An argument of a collective call that is equal on all ranks. */
typedef struct {
    const char *name;
    enum { SPMM_SAME_INT, SPMM_SAME_REAL, SPMM_SAME_TEXT, SPMM_SAME_ANY } kind;
    int64_t     whole;
    double      real;
    const char *text; /**< NULL is "" */
} spmm_same_t;

enum { SPMM_MOST_SAME = 32 }; /**< arguments of a call */

static inline spmm_same_t spmmi_whole(const char *name, int64_t value)
{
    return (spmm_same_t){.name = name, .kind = SPMM_SAME_INT, .whole = value};
}

/** Compared by its bits: a NaN equals itself. */
static inline spmm_same_t spmmi_real(const char *name, double value)
{
    return (spmm_same_t){.name = name, .kind = SPMM_SAME_REAL, .real = value};
}

/** Of a rank that does not read it: equal to all others. */
static inline spmm_same_t spmmi_any(const char *name)
{
    return (spmm_same_t){.name = name, .kind = SPMM_SAME_ANY};
}

static inline spmm_same_t spmmi_text(const char *name, const char *value)
{
    return (spmm_same_t){.name = name, .kind = SPMM_SAME_TEXT, .text = value};
}

/** Compare: SPMM_ERR_ARGUMENT on all ranks where calls or arguments differ.  Collective, agreed:
 *  one small reduction where all is well.
 *  @param[in] local  what this rank thinks of its own arguments: the failure of a rank comes before
 *                    differences, and all ranks get it
 *  @param[in] count  at most SPMM_MOST_SAME */
spmm_status_t spmmi_compare(spmm_env_t *env, const char *call, spmm_status_t local, int count,
                            const spmm_same_t *argument);

/** How many of them are listed; more than SPMM_MOST_SAME do not compile. */
#define SPMM_COUNT_SAME(...)                                                                       \
    (sizeof((const spmm_same_t[]){__VA_ARGS__}) / sizeof(spmm_same_t) *                            \
     sizeof(                                                                                       \
         char[sizeof((const spmm_same_t[]){__VA_ARGS__}) <= SPMM_MOST_SAME * sizeof(spmm_same_t)   \
                  ? 1                                                                              \
                  : -1]))

/** spmmi_compare() of the arguments listed. */
#define SPMM_COMPARE(env, call, local, ...)                                                        \
    spmmi_compare((env), (call), (local), (int)SPMM_COUNT_SAME(__VA_ARGS__),                       \
                  (const spmm_same_t[]){__VA_ARGS__})

/** The same where the context checks calls, else @p local. */
#define SPMM_CHECK_CALL(env, call, local, ...)                                                     \
    ((env)->check ? SPMM_COMPARE(env, call, local, __VA_ARGS__) : (local))

#endif /* SPMM_BASE_SAME_H */

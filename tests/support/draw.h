/* SPDX-License-Identifier: Apache-2.0 */
/** @file draw.h  Choices of tests at random: those of a number are always the same. */
#ifndef SPMM_TEST_DRAW_H
#define SPMM_TEST_DRAW_H

#include "test_main.h"

/** Of which test, of which case, and so many draws. */
typedef struct {
    int64_t  salt, number;
    uint64_t drawn;
} draw_t;

/** The next number, below @p below. */
static inline int64_t draw(draw_t *d, int64_t below)
{
    const uint64_t hash = spmmi_hash2((uint64_t)d->number, (int64_t)d->drawn++, d->salt);

    return (int64_t)(hash % (uint64_t)below);
}

/** One of the names, more often none: draw_name(d, "block", "metis"). */
#define draw_name(d, ...) draw_name_of(d, (const char *const[]){__VA_ARGS__, NULL})
static inline const char *draw_name_of(draw_t *d, const char *const *name)
{
    int64_t count = 0;

    while (name[count] != NULL) {
        count++;
    }
    return draw(d, 3) > 0 ? NULL : name[draw(d, count)];
}

#endif /* SPMM_TEST_DRAW_H */

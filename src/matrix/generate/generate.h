/* SPDX-License-Identifier: Apache-2.0 */
/** @file generate.h
 *  A generator is a pattern cut into independent units: any rank can make any unit from the seed
 *  alone.  Values are drawn by position afterwards.  Add one by writing its kind, a declaration
 *  below and a line in generate.c.
 */
#ifndef SPMM_MATRIX_GENERATE_H
#define SPMM_MATRIX_GENERATE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/hash.h"
#include "matrix/assemble.h"

/* A random permutation of 0 .. n - 1 that is computed, not stored: a Feistel network on the
 * smallest power of two >= n, applied again while it leads out of the range (cycle walking,
 * Black and Rogaway 2002).  Less than two walks on average; a bijection for any key. */
enum { SPMM_SHUFFLE_ROUNDS = 6 };

typedef struct {
    int64_t  n;
    uint64_t key[SPMM_SHUFFLE_ROUNDS];
    int      low_bits;
    uint64_t low_mask, high_mask; /**< of the two halves, which may differ by one bit */
} spmm_shuffle_t;

/** @param[in] stream  tells permutations of one seed apart */
void spmmi_shuffle_init(spmm_shuffle_t *shuffle, int64_t n, uint64_t seed, uint64_t stream);

/** Image of @p i, 0 <= i < n. */
static inline int64_t spmmi_shuffle(const spmm_shuffle_t *shuffle, int64_t i)
{
    uint64_t low  = (uint64_t)i & shuffle->low_mask;
    uint64_t high = (uint64_t)i >> shuffle->low_bits;
    int64_t  image;

    do {
        for (int round = 0; round < SPMM_SHUFFLE_ROUNDS; round += 2) {
            low ^= spmmi_mix64(shuffle->key[round] ^ high) & shuffle->low_mask;
            high ^= spmmi_mix64(shuffle->key[round + 1] ^ low) & shuffle->high_mask;
        }
        image = (int64_t)(high << shuffle->low_bits | low);
    } while (image >= shuffle->n);
    return image;
}

/* Keys of one kind, the common ones and the end mark included. */
enum { SPMM_SPEC_KEYS = 8 };

/** One `key=value` a kind takes. */
typedef struct {
    const char *name;     /**< NULL ends the list */
    bool        real;     /**< a decimal fraction; otherwise a whole number */
    bool        optional; /**< absent: fallback */
    double      fallback;
    int64_t     least, most; /**< range of the value, both included */
} spmm_spec_key_t;

typedef struct {
    bool    given;
    int64_t whole; /**< of a whole number */
    double  real;  /**< of a fraction */
} spmm_spec_value_t;

typedef struct spmm_generator_kind spmm_generator_kind_t;

/** A parsed spec with its sizes. */
typedef struct {
    const spmm_generator_kind_t *kind;
    spmm_spec_value_t            value[SPMM_SPEC_KEYS]; /**< in the order of the kind's keys */
    bool                         shuffle;
    uint64_t                     seed; /**< of the pattern, unrelated to that of the values */
    int64_t                      rows, cols;
    int64_t                      n_units;
    int64_t                      most;  /**< entries of a unit at most */
    bool                         exact; /**< every unit has exactly so many */
} spmm_generator_t;

/** Where the entries of a unit go. */
typedef struct {
    spmm_entry_t         *entry; /**< room for all of them; NULL: only count */
    int64_t               count;
    const spmm_shuffle_t *row, *col; /**< NULL: stay */
} spmm_sink_t;

struct spmm_generator_kind {
    const char     *name;
    spmm_spec_key_t key[SPMM_SPEC_KEYS];
    int             points; /**< of a stencil */

    /** From the values to rows, cols, n_units, most and exact; checks keys against each other. */
    spmm_status_t (*shape)(spmm_error_t *err, spmm_generator_t *generator);
    /** Put the entries of one unit; thread-safe. */
    void (*emit)(const spmm_generator_t *generator, int64_t unit, spmm_sink_t *sink);
};

/** All kinds. */
extern const spmm_generator_kind_t *const spmmi_generator_kinds[];
extern const int                          spmmi_n_generator_kinds;

static inline void spmmi_sink_put(spmm_sink_t *sink, int64_t row, int64_t col)
{
    if (sink->entry != NULL) {
        spmm_entry_t *entry = &sink->entry[sink->count];

        entry->row   = sink->row != NULL ? spmmi_shuffle(sink->row, row) : row;
        entry->col   = sink->col != NULL ? spmmi_shuffle(sink->col, col) : col;
        entry->value = 0.0;
    }
    sink->count++;
}

/** Parse and size @p spec, `kind:key=value,key=value`.  A pure function of its arguments: no
 *  locale, no allocation, no I/O.
 *  @param[in]  spec  NUL-terminated, any bytes; NULL is refused
 *  @return SPMM_ERR_ARGUMENT with the offending part and what is known instead */
spmm_status_t spmmi_spec_parse(spmm_error_t *err, const char *spec, uint64_t seed,
                               spmm_generator_t *generator);

/* The kinds, one line each. */
extern const spmm_generator_kind_t spmmi_generator_rmat;
extern const spmm_generator_kind_t spmmi_generator_uniform;
extern const spmm_generator_kind_t spmmi_generator_banded;
extern const spmm_generator_kind_t spmmi_generator_stencil5;
extern const spmm_generator_kind_t spmmi_generator_stencil7;
extern const spmm_generator_kind_t spmmi_generator_stencil9;
extern const spmm_generator_kind_t spmmi_generator_stencil27;
extern const spmm_generator_kind_t spmmi_generator_molecules;
extern const spmm_generator_kind_t spmmi_generator_pruned;
extern const spmm_generator_kind_t spmmi_generator_xdys;

#endif /* SPMM_MATRIX_GENERATE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file generate.h
 *  A generator is a pattern cut into independent units: any rank can make any unit from the seed
 *  alone.  Values are drawn by position afterwards.  Add one by writing its kind and one line in
 *  generate_list.c.
 */
#ifndef SPMM_MATRIX_GENERATE_H
#define SPMM_MATRIX_GENERATE_H

#include <stdbool.h>

#include "base/error.h"
#include "matrix/assemble.h"
#include "matrix/generate/shuffle.h"

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

#endif /* SPMM_MATRIX_GENERATE_H */

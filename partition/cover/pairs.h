/* SPDX-License-Identifier: Apache-2.0 */
/** @file pairs.h  Least covers of the entries between all pairs of owners. */
#ifndef SPMM_PARTITION_COVER_PAIRS_H
#define SPMM_PARTITION_COVER_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** Entries of pairs of owners, in the order of pairs, within each in the order of rows. */
typedef struct {
    int64_t         n_pairs;
    const uint64_t *pair;   /**< [n_pairs] what @p seen is told */
    const int64_t  *ptr;    /**< [n_pairs + 1] where the entries of each begin */
    const int64_t  *entry;  /**< row << 32 | column: less than 2^31 of each */
    int32_t         n_cols; /**< columns are below it */
} spmm_cover_entries_t;

/** What travels between the owners of a pair. */
typedef struct {
    int64_t needed;   /**< columns with an entry: rows of B without a cover */
    int64_t rows;     /**< of B in the cover */
    int64_t partials; /**< rows of C in the cover */
} spmm_cover_pair_t;

typedef void (*spmm_cover_seen_t)(void *user, uint64_t pair, const spmm_cover_pair_t *found);

/** Cover each pair.  Local.  Of all least covers it is the one with the most rows of B and the
 *  fewest partial rows of C, so counts depend on the pattern alone, and nothing is partial
 *  that saves nothing.
 *  @param[in]  seen      called for each pair with entries, in their order, with @p user
 *  @param[out] partial   [entries] true: the partial row of C serves the entry; may be NULL */
spmm_status_t spmmi_cover_pairs(spmm_error_t *err, const spmm_cover_entries_t *entries,
                                spmm_cover_seen_t seen, void *user, bool *partial);

#endif /* SPMM_PARTITION_COVER_PAIRS_H */

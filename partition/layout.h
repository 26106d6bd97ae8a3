/* SPDX-License-Identifier: Apache-2.0 */
/** @file layout.h
 *  From parts to a new numbering: rank p's indices are consecutive in the new order, ascending in
 *  the original order within a rank.
 */
#ifndef SPMM_PARTITION_LAYOUT_H
#define SPMM_PARTITION_LAYOUT_H

#include <stdbool.h>

#include "base/env.h"

/** Where one index set (rows or columns) lived and lives. */
typedef struct {
    bool     keep;   /**< nothing moved: new and original indices are equal, and need no lists */
    int64_t *offset; /**< [size + 1] new indices of rank p: [p] .. [p + 1] - 1 */
    int64_t  n_global;
    int32_t  n_local;     /**< owned by this rank in the new order */
    int64_t  first;       /**< original index of the first, where nothing moved */
    int64_t *orig;        /**< [n_local] original index of each, ascending; NULL with keep, until
                               spmmi_layout_list() */
    int64_t *orig_offset; /**< [size + 1] the original distribution */
    int32_t  n_orig;      /**< owned by this rank originally */
    int64_t *new_index;   /**< [n_orig] new index of each; NULL with keep */
    int32_t *send_row;    /**< [n_orig] original local rows grouped by new owner, ascending; NULL
                               with keep: all are this rank's */
    int64_t *send_count;  /**< [size] of them for each rank */
    int64_t *recv_count;  /**< [size]; rows arrive in the new local order */
} spmm_layout_map_t;

/** Collective, agreed.  @p part [orig_offset[rank + 1] - orig_offset[rank]]; the
 *  map owns copies. */
spmm_status_t spmmi_layout_map_create(spmm_env_t *env, const int64_t *orig_offset,
                                      const int32_t *part, bool keep, spmm_layout_map_t *map);
void          spmmi_layout_map_free(spmm_layout_map_t *map);

/** Original index of local row @p i. */
static inline int64_t spmmi_layout_original(const spmm_layout_map_t *map, int64_t i)
{
    return map->orig == NULL ? map->first + i : map->orig[i];
}

/** Make map->orig where it is not there.  Local. */
spmm_status_t spmmi_layout_list(spmm_env_t *env, spmm_layout_map_t *map);

/** The parts that the map was made of.  @param[out] part  [map->n_orig] */
void spmmi_layout_parts(const spmm_layout_map_t *map, int size, int32_t *part);

/** Replace original indices by new ones.  Collective; not agreed.
 *  @param[in,out] index  [count] valid original indices in any order */
spmm_status_t spmmi_layout_translate(spmm_env_t *env, const spmm_layout_map_t *map, int64_t count,
                                     int64_t *index);

#endif /* SPMM_PARTITION_LAYOUT_H */

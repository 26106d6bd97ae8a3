/* SPDX-License-Identifier: Apache-2.0 */
/** @file lay_out.h  One panel: the columns that its windows use, and the tiles they make. */
#ifndef SPMM_ENGINE_PANEL_LAY_OUT_H
#define SPMM_ENGINE_PANEL_LAY_OUT_H

#include "engine/panel/format.h"

enum { SPMM_PANEL_MOST_TALL = SPMM_PANEL_MOST_WINDOWS / 2 };

/** The columns that a panel uses, ascending. */
typedef struct {
    int32_t   n;
    int32_t   n_tall; /**< windows of 32 rows */
    int32_t  *col;    /**< [n] */
    uint32_t *rows;   /**< [n * n_tall] bit r: row r of that window has an entry in the column */
} spmm_panel_list_t;

/** The list of windows @p first .. @p first + @p n_tall; @p list has room for all their columns. */
void spmmi_panel_merge(const spmm_windows_t *tall, int32_t first, int32_t n_tall,
                       spmm_panel_list_t *list);

/** What the columns of a part make of each window. */
typedef struct {
    int32_t tiles[SPMM_PANEL_MOST_WINDOWS], units[SPMM_PANEL_MOST_WINDOWS];
} spmm_panel_count_t;

/** Where a part goes. */
typedef struct {
    int32_t       *col; /**< its list, all SPMM_TC_NO_COLUMN */
    unsigned char *packed;
    int32_t        unit[SPMM_PANEL_MOST_WINDOWS]; /**< of the next tile of each window */
    int32_t       *tile_start[SPMM_PANEL_MOST_WINDOWS];
} spmm_panel_place_t;

/** Columns @p from .. @p to of @p list as a part of n steps: every n-th column, the next one on, is
 *  in one step, so that each window has as many columns in a step as in another.
 *  @param[out] count  counted
 *  @param[in]  place  NULL: only count */
void spmmi_panel_lay_out(const spmm_panel_list_t *list, int32_t from, int32_t to,
                         spmm_panel_count_t *count, spmm_panel_place_t *place);

#endif /* SPMM_ENGINE_PANEL_LAY_OUT_H */

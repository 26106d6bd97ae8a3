/* SPDX-License-Identifier: Apache-2.0 */
/** @file lay_out.h  One panel: the columns that its windows use, and the tiles they make. */
#ifndef SPMM_ENGINE_PANEL_LAY_OUT_H
#define SPMM_ENGINE_PANEL_LAY_OUT_H

#include "engine/panel/format.h"

enum { SPMM_PANEL_TALL = SPMM_PANEL_WINDOWS * SPMM_PANEL_HEIGHT / SPMM_WINDOWS_TALL };

/** A column of a panel. */
typedef struct {
    int32_t  col;
    uint32_t rows[SPMM_PANEL_TALL]; /**< bit r: row r of that tall window has an entry in it */
} spmm_panel_column_t;

/** The columns of panel @p panel after the first at[k] of its tall window k, ascending, one at a
 *  time.
 *  @return false: there are no more */
bool spmmi_panel_next(const spmm_windows_t *tall, int32_t panel, int32_t at[SPMM_PANEL_TALL],
                      spmm_panel_column_t *next);

/** What a panel makes of each window. */
typedef struct {
    int32_t tiles[SPMM_PANEL_WINDOWS], units[SPMM_PANEL_WINDOWS];
} spmm_panel_count_t;

/** Where a panel goes. */
typedef struct {
    int32_t       *col; /**< its list, all SPMM_TC_NO_COLUMN */
    unsigned char *packed;
    int32_t        unit[SPMM_PANEL_WINDOWS]; /**< of the next tile of each window */
    int32_t       *tile_start[SPMM_PANEL_WINDOWS];
} spmm_panel_place_t;

/** Lay @p n columns of a panel out.
 *  @param[out] count  counted
 *  @param[in]  place  NULL: only count */
void spmmi_panel_lay_out(const spmm_panel_column_t *list, int32_t n, spmm_panel_count_t *count,
                         spmm_panel_place_t *place);

#endif /* SPMM_ENGINE_PANEL_LAY_OUT_H */

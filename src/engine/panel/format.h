/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h
 *  Panels of windows that share rows of B.  The active columns of four neighbouring windows of 16
 *  rows stand in one list, each once, in steps of 16; what a window multiplies of them is a stream
 *  of tiles of 16x8, packed as in HRPB: bits, places, stored values alone.  A tile holds the next 8
 *  columns of its window, as long as they are in three neighbouring steps.
 *
 *  Of n steps the first has every n-th column in ascending order, the second every n-th from the
 *  next one on, and so forth.  Neighbouring windows of a band use neighbouring stretches of the
 *  columns; in this order each of them has work in every step, and they may go in step.
 *
 *  Within a step columns have slots of four kinds, by two bits of their number, which decide in
 *  which banks of shared memory a row of B lies.  The four columns of a half of a tile, which a
 *  kernel reads at the same time, get slots of different kinds as far as all windows can have that.
 *
 *  Every entry of the CSR block is stored, explicit zeros too: new values may be anything.
 */
#ifndef SPMM_ENGINE_PANEL_FORMAT_H
#define SPMM_ENGINE_PANEL_FORMAT_H

#include "cpu/tc/tc_mm.h"
#include "engine/panel/args.h"
#include "engine/tc/windows.h"

typedef struct {
    int32_t        n_rows, n_windows, n_panels;
    int64_t        n_cols; /**< of all lists, padded */
    int64_t        n_tiles;
    int32_t       *panel_step, *col, *window_start; /**< as in spmm_panel_arrays_t; all owned */
    int32_t       *tile_start, *tile_panel, *tile_ptr;
    unsigned char *packed;      /**< FP32 values */
    int32_t       *entry_ptr;   /**< [n_windows + 1] entries of the rows before each window */
    int32_t       *room;        /**< [team * 2 * most_places] of spmmi_panel_refill() */
    int32_t        most_places; /**< of a panel */
    int            team;        /**< threads that may refill */
} spmm_panel_t;

/** Convert @p block, which must be of type 32F; its row map is not taken along.  Deterministic.
 *  @param[in] tall     windows of SPMM_WINDOWS_TALL rows of @p block; NULL: condense here
 *  @param[in] threads  as in spmmi_windows_create() */
spmm_status_t spmmi_panel_create(spmm_env_t *env, const spmm_csr_t *block,
                                 const spmm_windows_t *tall, int threads, spmm_panel_t *format);
void          spmmi_panel_free(void *format);

/** Place @p c of the tile at @p tile in the list of its panel. */
int32_t spmmi_panel_place(const unsigned char *tile, int32_t c);

/** New values in the order of CSR. */
void spmmi_panel_refill(void *format, const void *values, int threads);

/** The arrays as kernels take them; borrowed. */
spmm_panel_arrays_t spmmi_panel_arrays(const spmm_panel_t *format);
/** @p arrays as CPU code walks them, which must outlive the view. */
spmm_tc_view_t spmmi_panel_view(const void *arrays);
/** Bytes held. */
size_t spmmi_panel_held(const void *format);

#endif /* SPMM_ENGINE_PANEL_FORMAT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h
 *  BCSR of 16x16 tiles, with or without 16x32 tiles in 2:4 sparsity (SMaT; "Sparse tensor
 *  cores", the thesis on it, sections 1.4.6 and 2).
 *
 *  Where the papers leave a choice, this was chosen:
 *  - No map of all tiles: O(nnz) memory.  Tiles of 4, 8 or 16 neighbouring tile rows, a panel,
 *    stand by steps of 32 columns, since a thread block multiplies a panel and loads the rows of
 *    B of a step once for all of them.
 *  - The thesis keeps 2:4 tiles and other ones in two lists over which a kernel runs one after
 *    the other, so that no loop asks which one it has.  Here the two lists are those of a step:
 *    the inner loops are as plain, and a step that has both loads its rows of B once.  Kernels
 *    that go by tile rows have one list for each with tiles of both kinds, since they must meet
 *    the rows of B that the rows of a panel share; to ask for the kind is one branch of a whole
 *    warp.
 *  - Tiles are 16x16 unless in 2:4 sparsity: half a 16x32 tile of zeros is not stored.  A 2:4
 *    tile has entries on both sides; one with an empty side is one 16x16 tile, as many values
 *    and half of B's rows.
 *  - Whether a tile is 2:4 is asked of the pattern, so that new values may be any.
 *  - A bit for every place says whether it is stored in A: no product reads them, the way back
 *    to CSR, new values and sums that are not finite do.
 */
#ifndef SPMM_ENGINE_FORMAT_BCSR_H
#define SPMM_ENGINE_FORMAT_BCSR_H

#include "cpu/windows/tc_mm.h"
#include "engine/bcsr/args.h"
#include "engine/windows/windows.h"

typedef struct {
    int32_t           n_rows, n_cols, n_tile_rows, n_panels, n_steps;
    int32_t           rows;      /**< tile rows of a panel */
    int32_t           n_wide;    /**< 16x32 tiles with an entry: places of bits and tile */
    int32_t           n_legal;   /**< of these: with at most two entries in any four columns */
    int64_t           n_tiles;   /**< 16x16 tiles stored as such */
    int64_t           n_sp24;    /**< 16x32 tiles stored as 2:4 */
    int64_t           n_units;   /**< of values */
    spmm_type_t       type;      /**< 16F or 16BF */
    int32_t          *panel_ptr; /**< as in spmm_bcsr_arrays_t; all owned */
    spmm_bcsr_step_t *step;
    int32_t          *bits_ptr;
    uint32_t         *bits;
    int32_t          *row_ptr;
    spmm_bcsr_tile_t *tile;
    int32_t          *entry_ptr;
    void             *values; /**< [n_units * 64 bytes]; NULL: left to spmmi_bcsr_fill() */
} spmm_bcsr_t;

/** Lay out @p block, which must be of type 16F or 16BF; its row map is not taken along and its
 *  values are not read.  Deterministic.
 *  @param[in] tall     windows of SPMM_WINDOWS_TALL rows of @p block; NULL: condense here
 *  @param[in] rows     4, 8 or 16
 *  @param[in] sp24     whether 16x32 tiles with at most two entries in any four columns, and on
 *                      both sides, become 2:4 tiles; false: all tiles are 16x16
 *  @param[in] threads  as in spmmi_windows_create()
 *  @return SPMM_ERR_RANGE from 2^31 entries or 2^37 bytes of values on */
spmm_status_t spmmi_bcsr_create(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, int32_t rows, bool sp24, int threads,
                                spmm_bcsr_t *format);
void          spmmi_bcsr_free(void *format);

/** What a pattern comes to in panels of some height, 2:4 tiles apart. */
typedef struct {
    int64_t steps;   /**< of 32 columns, of all panels */
    int64_t longest; /**< most of one panel */
    int64_t sides;   /**< 16 rows of B that a step loads, one or two */
    int64_t tiles;   /**< 16x16 that are no part of a 2:4 tile */
    int64_t sp24;    /**< 2:4 of 16x32: two of 16x16 for an engine without */
    int64_t wide;    /**< 16x32 with an entry */
    int64_t legal;   /**< of these: with at most two entries in any four columns */
} spmm_bcsr_facts_t;

enum { SPMM_BCSR_PANELS = 3 }; /**< heights of panels: 4, 8 and 16 tile rows */

/** Count, O(nnz), the same for any number of threads.
 *  @param[in]  n_rows  of the block that @p tall are windows of, of SPMM_WINDOWS_TALL rows
 *  @param[out] facts   [SPMM_BCSR_PANELS] of each height */
void spmmi_bcsr_measure(const spmm_windows_t *tall, int32_t n_rows, int threads,
                        spmm_bcsr_facts_t facts[SPMM_BCSR_PANELS]);

/** Values in the order of CSR to format->values, allocated where it is not.  On CPUs; what the GPU
 *  does with spmmi_cuda_bcsr_fill() has the same bits. */
spmm_status_t spmmi_bcsr_fill(spmm_env_t *env, spmm_bcsr_t *format, const void *values,
                              int threads);

/** The tiles of each tile row in the order of their steps; arrays as in spmm_bcsr_arrays_t,
 *  owned. */
typedef struct {
    int32_t            *ptr;  /**< [n_tile_rows + 1] */
    spmm_bcsr_listed_t *list; /**< [n_tiles + n_sp24] */
} spmm_bcsr_lists_t;

spmm_status_t spmmi_bcsr_lists_create(spmm_env_t *env, const spmm_bcsr_t *format, int threads,
                                      spmm_bcsr_lists_t *lists);
void          spmmi_bcsr_lists_free(spmm_bcsr_lists_t *lists);

/** The arrays as kernels take them; borrowed. */
spmm_bcsr_arrays_t spmmi_bcsr_arrays(const spmm_bcsr_t *format);
/** @p arrays as CPU code walks them, which must outlive the view: windows are tile rows, blocks
 *  16x32 tiles.  Of runs() only the lengths say something. */
spmm_tc_view_t spmmi_bcsr_view(const void *arrays);
/** Bytes held. */
size_t spmmi_bcsr_held(const void *format);
/** Bytes of values. */
size_t spmmi_bcsr_value_bytes(const spmm_bcsr_t *format);

#endif /* SPMM_ENGINE_FORMAT_BCSR_H */

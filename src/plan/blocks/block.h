/* SPDX-License-Identifier: Apache-2.0 */
/** @file block.h  Blocks of this rank: entries, the engine chosen for them, its format. */
#ifndef SPMM_PLAN_BLOCK_H
#define SPMM_PLAN_BLOCK_H

#include "engine/tune/autotune.h"
#include "partition/reorder/reorder.h"
#include "spmm_dist/plan.h"

/** How the rows of a block came to be ordered. */
typedef struct {
    const spmm_reorderer_t *method; /**< applied, or only tried; NULL: none was run */
    bool                    applied;
    const char             *why; /**< it was not; the end of a sentence, static */
    spmm_tc_facts_t         before, after;
    double                  seconds;        /**< spent on it */
    double                  own_s, other_s; /**< measured times of the product in either order; 0:
                                                 the prediction decided */
} spmm_reordering_t;

/** A block with its rows in another order. */
typedef struct {
    spmm_csr_t     csr;
    uint32_t      *source; /**< [nnz] as in spmm_block_t */
    spmm_pattern_t pattern;
} spmm_permuted_t;

/** A part of the product on this rank, and the engine that runs it. */
typedef struct {
    const spmm_engine_ops_t *engine;     /**< NULL: not built */
    void                    *format;     /**< owned; NULL before build */
    bool                     remembered; /**< it was the fastest in an earlier plan */
    spmm_csr_t               csr;        /**< input of the build; freed behind it */
    uint32_t                *source;     /**< [nnz] place of each entry among this rank's entries,
                                              NULL: the same as here */
    bool                     borrowed;   /**< by the format: columns and values of csr */
    int64_t                  nnz;
    spmm_reordering_t        reordering;
    spmm_permuted_t          other_order; /**< owned: an order to be measured; no row_ptr: none */
    spmm_pattern_t           pattern; /**< of csr as it is now, once scanned; windows until built */
    bool                     scanned;
    spmm_problem_t           problem;
    spmm_candidate_t *candidates; /**< [spmmi_n_engines], owned: for explain; NULL: not yet */
    double            predicted_s, measured_s; /**< of the engine; as of a candidate */
} spmm_block_t;

/** All entries of this rank in one block, and the rows of B that it multiplies. */
typedef struct {
    spmm_block_t block;
    void        *rows; /**< device [own and ghost rows x n], owned */
} spmm_merged_block_t;

/** The part of a plan that holds entries, owned by the plan.  split.c fills need and the csr of
 *  diagonal and off_diagonal; formats.c makes what the schedule needs, and frees these. */
typedef struct {
    spmm_block_t        diagonal;     /**< entries whose column this rank owns */
    spmm_block_t        off_diagonal; /**< entries whose column another rank owns */
    spmm_merged_block_t merged;       /**< all of them, where the schedule merges */
    int64_t            *need; /**< [recv rows], owned: new index of each ghost row; NULL once the
                                   formats are made */
} spmm_plan_blocks_t;

/** Fill block->pattern unless it is there.  Local.
 *  @param[in] layout  of the plan's B and C */
spmm_status_t spmmi_block_scan(const spmm_device_t *device, spmm_layout_t layout,
                               spmm_block_t *block);
/** Sort the entries of each row by source, so as they stand in the rows of A, whatever new columns
 *  they have.  For blocks that hold rows of A whole and have been scanned.  Local. */
spmm_status_t spmmi_block_sort_by_source(spmm_env_t *env, spmm_block_t *block);
/** Free csr but for what the format has borrowed.  Local. */
void spmmi_block_free_csr(spmm_block_t *block);
/** Free what formats are made from: entries, their sources and windows.  Local. */
void spmmi_block_free_input(spmm_block_t *block);
/** Free what is left of a block. */
void spmmi_block_free(spmm_block_t *block);
void spmmi_permuted_free(spmm_permuted_t *p);

#endif /* SPMM_PLAN_BLOCK_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file windows.h
 *  Column condensation: the rows of a block in windows of equal height, and the columns that have
 *  an entry in each.  Every tensor-core format starts from it, and so do the facts that predict
 *  what such a format gains.
 */
#ifndef SPMM_ENGINE_WINDOWS_H
#define SPMM_ENGINE_WINDOWS_H

#include "matrix/csr.h"

/** The active columns of all windows.  Those of window w stand at first[w] .. first[w] + count[w]
 *  of col and rows, ascending; between some windows there are gaps. */
typedef struct {
    int32_t   height; /**< rows of a window; the last may have fewer */
    int32_t   n_windows;
    int64_t  *first; /**< [n_windows], owned, as are the others */
    int32_t  *count; /**< [n_windows] */
    int32_t  *col;   /**< [nnz], of which gaps are never touched */
    uint32_t *rows;  /**< [nnz] bit r: row r of the window has an entry in the column */
} spmm_windows_t;

/** Windows that cover @p n_rows rows. */
static inline int32_t spmmi_windows_count(int32_t n_rows, int32_t height)
{
    return n_rows / height + (n_rows % height != 0);
}

/** Condense @p block.  O(nnz), in parallel over windows, the same for any number of threads.
 *  @param[in] height   8, 16 or 32
 *  @param[in] threads  OpenMP threads, 0: as many as OpenMP likes */
spmm_status_t spmmi_windows_create(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                   int threads, spmm_windows_t *windows);
void          spmmi_windows_free(spmm_windows_t *windows);

enum { SPMM_WINDOWS_TALL = 32 }; /**< rows of the windows that all others are parts of */

/** Cut windows of SPMM_WINDOWS_TALL rows of @p block: what spmmi_windows_create() gives for
 *  @p height, without another look at the entries. */
spmm_status_t spmmi_windows_split(spmm_env_t *env, const spmm_csr_t *block,
                                  const spmm_windows_t *tall, int32_t height, int threads,
                                  spmm_windows_t *windows);

/** About the rows of A that are in work on a GPU at a time. */
enum { SPMM_NEAR_ROWS = 16384 };

/** Columns with an entry. */
typedef struct {
    int64_t used;
    double  near; /**< mean over some groups of SPMM_NEAR_ROWS consecutive rows */
} spmm_used_columns_t;

enum { SPMM_TC_HEIGHTS = 3 }; /**< 8, 16 and 32 */

enum {
    SPMM_TC_BINS = 24
}; /**< of lengths: bin k has those in [2^k, 2^(k+1)), the last all above */

/** How long windows are, in active columns: what decides how evenly their work can be dealt out. */
typedef struct {
    int64_t longest;
    int64_t windows[SPMM_TC_BINS]; /**< empty ones are in none */
    int64_t pairs[SPMM_TC_BINS];   /**< of those windows */
} spmm_tc_lengths_t;

/** What decides how tensor-core formats do on a pattern; all 0 without entries. */
typedef struct {
    int64_t pairs[SPMM_TC_HEIGHTS]; /**< (window, active column) pairs at heights 8, 16, 32 */
    int64_t quads;                  /**< (window of 8 rows, four aligned columns) pairs */
    int64_t tc_blocks;              /**< 8x8, of BitTCF */
    int64_t bricks;                 /**< 16x4, over panels of 16 rows */
    spmm_tc_lengths_t lengths[2];   /**< of windows at heights 8 and 16 */
    double            mean_nnz_tc;  /**< MeanNNZTC: entries per 8x8 TC block */
    double            alpha;        /**< entries per place of a 16x4 brick (cuTeSpMM, section 4) */
    double synergy;  /**< TCU-Synergy: entries per place of an active column of a 16-row panel */
    double oi_shmem; /**< 512 alpha: flop per shared-memory transaction (cuTeSpMM, equation 4) */
    double ibd;      /**< mean |TC blocks of a window - their mean| (Acc-SpMM, section 3.5) */
} spmm_tc_facts_t;

/** The facts of @p block, from its windows of 32 rows: O(nnz), by env->threads, the same for any
 *  number of them.
 *  @param[out] used_cols  columns with an entry */
spmm_status_t spmmi_tc_facts_scan(spmm_env_t *env, const spmm_csr_t *block, spmm_tc_facts_t *facts,
                                  int64_t *used_cols);

/** The same from windows of SPMM_WINDOWS_TALL rows. */
spmm_status_t spmmi_tc_facts_of(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, spmm_tc_facts_t *facts,
                                spmm_used_columns_t *columns);

/** "low", "medium" or "high" (cuTeSpMM, table 1). */
const char *spmmi_tc_synergy_class(double synergy);

#endif /* SPMM_ENGINE_WINDOWS_H */

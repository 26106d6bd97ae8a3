/* SPDX-License-Identifier: Apache-2.0 */
/** @file pattern.h  What cost models read of a block: facts of its pattern, filled once, O(nnz). */
#ifndef SPMM_ENGINE_PATTERN_H
#define SPMM_ENGINE_PATTERN_H

#include <stdio.h>

#include "engine/windows/windows.h"
#include "matrix/csr.h"

typedef struct spmm_pattern spmm_pattern_t;

/** Facts that the models of one format alone read: spmm_engine_facts_t.pattern.  Plain data, since
 *  patterns are copied. */
typedef struct {
    size_t size;      /**< of the facts, a multiple of 8; 0: there are none */
    bool   by_column; /**< of column-major B and C: others do without them */
    /** Fill them, all 0 so far.  The other facts of @p pattern and its windows are there.  NULL:
     *  there are none. */
    void (*scan)(const spmm_pattern_t *pattern, const spmm_csr_t *block, int threads, void *facts);
    /** Print what the format would make of a pattern with entries of @p type, for
     *  spmm_plan_explain(); NULL: nothing. */
    void (*describe)(const spmm_pattern_t *pattern, spmm_type_t type, FILE *out);
} spmm_pattern_facts_t;

enum {
    SPMM_PATTERN_FORMATS = 8, /**< most formats with facts of their own */
    SPMM_PATTERN_ROOM    = 64 /**< words of those facts, all together */
};

struct spmm_pattern {
    int32_t n_rows, n_cols, c_rows;
    bool    mapped; /**< rows go to other rows of C */
    int64_t nnz;
    int64_t max_row;
    int64_t used_cols; /**< columns with an entry */
    double  near_cols; /**< mean columns used by SPMM_NEAR_ROWS consecutive rows */
    double  row_cv;    /**< standard deviation / mean of row lengths */

    spmm_tc_facts_t tc; /**< what tensor-core formats make of it */

    /** Those of SPMM_WINDOWS_TALL rows, which formats are made from; zero once freed.  Copies of
     *  the struct borrow them. */
    spmm_windows_t windows;

    const spmm_pattern_facts_t *formats[SPMM_PATTERN_FORMATS]; /**< NULL: no more */
    uint64_t                    room[SPMM_PATTERN_ROOM]; /**< their facts, one after the other */
};

/** Fill all facts but those of formats. */
spmm_status_t spmmi_pattern_measure(spmm_env_t *env, const spmm_csr_t *block,
                                    spmm_pattern_t *pattern);
/** Add those of a format, which are not there yet, or are. */
spmm_status_t spmmi_pattern_add_facts(spmm_env_t *env, const spmm_csr_t *block,
                                      const spmm_pattern_facts_t *facts, spmm_pattern_t *pattern);
/** The facts of a format; NULL: @p pattern, or NULL, has none. */
const void *spmmi_pattern_facts(const spmm_pattern_t *pattern, const spmm_pattern_facts_t *facts);

/** Frees the windows; the facts stay. */
void spmmi_pattern_free(spmm_pattern_t *pattern);
/** Its windows, NULL where there are none or no pattern. */
const spmm_windows_t *spmmi_pattern_windows(const spmm_pattern_t *pattern);

#endif /* SPMM_ENGINE_PATTERN_H */

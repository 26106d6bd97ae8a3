/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h
 *  CSR as csr-cpu keeps it.  Rows of more than SPMM_CSR_PIECE entries are cut into rows of at most
 *  that many, so that no thread gets one long row to itself: their products go to `pieces`, and
 *  `sums` adds these up.  The cuts depend on the row alone, so sums are the same for any number of
 *  threads.
 */
#ifndef SPMM_ENGINE_CSR_CPU_FORMAT_H
#define SPMM_ENGINE_CSR_CPU_FORMAT_H

#include "engine/engine.h"

enum { SPMM_CSR_PIECE = 1024 };

typedef struct {
    spmm_csr_t block;  /**< entries in the order of build(); its row_map may have ~r for row r of
                            pieces */
    spmm_csr_t sums;   /**< times pieces: the rows of C that were cut, each a row of ones */
    void      *pieces; /**< [sums.n_cols x n of the problem], of the type of C */
    size_t     piece_bytes;
    void      *panel; /**< for column-major blocks: as in spmm_csr_mm_args_t; else NULL */
    size_t     panel_bytes;
    int        threads;
    bool       in_order; /**< as in spmm_problem_t */
    bool       borrowed; /**< columns and values of block are those of the block given to build() */
} spmm_csr_cpu_t;

/** @p block, copied or borrowed, cut where the kernel for @p problem adds pieces up. */
spmm_status_t spmmi_csr_cpu_build(const spmm_csr_t *block, const spmm_problem_t *problem,
                                  const spmm_device_t *device, spmm_csr_cpu_t *format);
void          spmmi_csr_cpu_free(spmm_csr_cpu_t *format);

#endif /* SPMM_ENGINE_CSR_CPU_FORMAT_H */

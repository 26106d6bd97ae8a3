/* SPDX-License-Identifier: Apache-2.0 */
/** @file rectangles.h  Masks in rectangles of rows and columns, on the host. */
#ifndef SPMM_ENGINE_SDDMM_RECTANGLES_H
#define SPMM_ENGINE_SDDMM_RECTANGLES_H

#include <stdbool.h>

#include "base/env.h"
#include "engine/sddmm/args.h"
#include "matrix/csr.h"

/** Rows with those that fill the last box: what they take in shared memory. */
int32_t spmmi_sddmm_padded(int32_t rows);

/** The largest rectangles that fit shared memory and the threads of a block and make up whole
 *  waves on @p n_sm multiprocessors.
 *  @param[in] half  elements have 16 bits
 *  @return false: there would be more than @p most, those without an entry among them */
bool spmmi_sddmm_rectangle_shape(const spmm_csr_t *block, bool half, int n_sm, double most,
                                 int32_t *rows, int32_t *cols);

/** What the rectangles of a mask come to. */
typedef struct {
    int64_t rectangles, tasks; /**< in 16 bits batches */
    int64_t most;              /**< entries of one, in 16 bits batches */
} spmm_sddmm_weight_t;

spmm_status_t spmmi_sddmm_weigh_rectangles(spmm_env_t *env, const spmm_csr_t *block,
                                           const int64_t *place, int32_t rows, int32_t cols,
                                           spmm_sddmm_weight_t *weight);

typedef struct {
    int32_t   n_rectangles, rows, cols;
    int64_t   n_tasks;                      /**< in 16 bits batches */
    int32_t  *range, *task, *entry, *place; /**< as in spmm_sddmm_rectangles_t */
    uint16_t *col, *row;
} spmm_sddmm_rectangle_list_t;

/** Sort the entries of @p block, whose columns ascend, into rectangles of that size.
 *  @param[in] place  as in spmmi_sampler_create() */
spmm_status_t spmmi_sddmm_make_rectangles(spmm_env_t *env, const spmm_csr_t *block,
                                          const int64_t *place, int32_t rows, int32_t cols,
                                          spmm_sddmm_rectangle_list_t *rectangles);
void          spmmi_sddmm_free_rectangles(spmm_sddmm_rectangle_list_t *rectangles);

/* The same in 16 bits. */
spmm_status_t spmmi_sddmm_weigh_batches(spmm_env_t *env, const spmm_csr_t *block, int32_t rows,
                                        int32_t cols, spmm_sddmm_weight_t *weight);
spmm_status_t spmmi_sddmm_make_rectangle_batches(spmm_env_t *env, const spmm_csr_t *block,
                                                 const int64_t *place, int32_t rows, int32_t cols,
                                                 spmm_sddmm_rectangle_list_t *rectangles);

#endif /* SPMM_ENGINE_SDDMM_RECTANGLES_H */

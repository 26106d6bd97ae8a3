/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.h
 *  SDDMM of one block: dot products of rows of X and Y at the entries of a mask (vectorSparse,
 *  section 6).  Two forms of a mask:
 *
 *    csr   tasks of up to 8 entries of one row, for 8 lanes that share every product (section 6.1
 *          shares rows likewise); all types
 *    cvse  tiles of 32 vectors of a window of V = 8 or 16 rows, on tensor cores: rows of Y are the
 *          m16 side of the mma, V rows of X the n8 side; all types but FP64
 *
 *  Both multiply any mask exactly: what a tile computes beside the entries is not stored.
 */
#ifndef SPMM_ENGINE_SDDMM_H
#define SPMM_ENGINE_SDDMM_H

#include <stdbool.h>

#include "device/device.h"
#include "matrix/csr.h"

enum { SPMM_SDDMM_UPLOADS = 5 }; /**< arrays of a form on a device */

/** A mask, ready to be multiplied at. */
typedef struct {
    const spmm_device_t *device;
    int32_t              height; /**< of windows; 0: csr */
    int64_t              nnz, vectors;
    spmm_sddmm_tasks_t   tasks;                      /**< arrays on the device */
    spmm_sddmm_tiles_t   tiles;                      /**< likewise */
    void                *upload[SPMM_SDDMM_UPLOADS]; /**< owned device memory: they */
    int                  n_uploads;
    size_t               device_bytes;
} spmm_sampler_t;

/** What decides on the form. */
typedef struct {
    spmm_type_t type, s_type;
    int64_t     k;
    const char *kernel; /**< "csr", "cvse"; NULL or "auto": the one that moves fewer bytes */
} spmm_sampling_t;

/** Can it be done?  Local, no side effects. */
spmm_status_t spmm_sampler_check(const spmm_device_t *device, const spmm_sampling_t *what);

/** Make the form of @p block; its values are not looked at.  Local, waits for its own work.
 *  @param[in] place  [nnz] where in S the result of each entry goes; NULL: where it stands
 *  @return SPMM_ERR_RANGE from 2^31 entries on */
spmm_status_t spmm_sampler_create(const spmm_device_t *device, const spmm_csr_t *block,
                                  const int64_t *place, const spmm_sampling_t *what,
                                  spmm_sampler_t *sampler);
void          spmm_sampler_free(spmm_sampler_t *sampler);

/** Enqueue S = alpha * dots + beta * S at the places of the block; no allocation. */
spmm_status_t spmm_sampler_run(const spmm_sampler_t *sampler, const spmm_sddmm_args_t *args,
                               spmm_stream_t stream);

/** Enqueue a softmax of rows; arrays are device memory. */
spmm_status_t spmm_row_softmax(const spmm_device_t *device, const spmm_softmax_args_t *args,
                               spmm_stream_t stream);
/** Enqueue a rearrangement of values; likewise. */
spmm_status_t spmm_place_values(const spmm_device_t *device, const spmm_place_args_t *args,
                                spmm_stream_t stream);

/* sddmm_forms.c: the forms on the host, freed with spmm_free(). */

typedef struct {
    int32_t  n_tasks;
    int32_t *row, *first; /**< as in spmm_sddmm_tasks_t */
} spmm_sddmm_task_list_t;

typedef struct {
    int32_t            n_tiles, height;
    int64_t            vectors;
    int32_t           *window, *col, *place; /**< as in spmm_sddmm_tiles_t */
    spmm_sddmm_order_t order;
    int64_t            n_places; /**< of place */
} spmm_sddmm_tile_list_t;

/** Cut the rows of @p block into tasks. */
spmm_status_t spmm_sddmm_make_tasks(spmm_env_t *env, const spmm_csr_t *block,
                                    spmm_sddmm_task_list_t *tasks);
void          spmm_sddmm_free_tasks(spmm_sddmm_task_list_t *tasks);

/** Condense @p block into tiles of windows of @p height rows.  Takes the shortest way to say where
 *  results go that fits all of them.
 *  @param[in] place  as in spmm_sampler_create() */
spmm_status_t spmm_sddmm_make_tiles(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                    const int64_t *place, int threads,
                                    spmm_sddmm_tile_list_t *tiles);
void          spmm_sddmm_free_tiles(spmm_sddmm_tile_list_t *tiles);

#endif /* SPMM_ENGINE_SDDMM_H */

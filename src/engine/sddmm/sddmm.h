/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.h
 *  SDDMM of one block: dot products of rows of X and Y at the entries of a mask (vectorSparse,
 *  section 6).  Four formats of a mask:
 *
 *    csr     tasks of up to 8 entries of one row, for 8 lanes that share every product (section 6.1
 *            shares rows likewise); all types
 *    rectangles  of rows and columns, as large as shared memory holds lines of their rows of X and
 *            Y by tensor maps; a lane has up to 8 entries of a row, in 16 bits a warp has batches
 *            of 32 in up to 8 rows, on tensor cores; all types
 *    cvse    tiles of 32 vectors of a window of V = 8 or 16 rows, on tensor cores: rows of Y are
 *            the m16 side of the mma, V rows of X the n8 side; all types but FP64
 *    dense   squares of 128 rows and columns, multiplied in full on tensor cores: FP16 and BF16
 *
 *  All multiply any mask exactly: what is computed beside the entries is not stored.
 */
#ifndef SPMM_ENGINE_SDDMM_H
#define SPMM_ENGINE_SDDMM_H

#include <stdbool.h>

#include "base/candidate.h"
#include "base/env.h"
#include "engine/gpu.h"
#include "engine/sddmm/args.h"
#include "matrix/csr.h"

typedef enum {
    SPMM_SAMPLER_CSR,
    SPMM_SAMPLER_RECTANGLES,
    SPMM_SAMPLER_CVSE,
    SPMM_SAMPLER_DENSE
} spmm_sampler_format_t;

/** A mask, ready to be multiplied at. */
typedef struct {
    const spmm_device_t    *device;
    spmm_sampler_format_t   format;
    int32_t                 height; /**< of windows of cvse, else 0 */
    int64_t                 nnz, vectors;
    spmm_sddmm_tasks_t      tasks;      /**< arrays on the device; of csr */
    spmm_sddmm_rectangles_t rectangles; /**< likewise; of rectangles */
    spmm_sddmm_tiles_t      tiles;      /**< likewise; of cvse */
    spmm_sddmm_squares_t    squares;    /**< likewise; of dense */
    spmm_uploads_t          uploads;    /**< they */
} spmm_sampler_t;

/** What decides on the format. */
typedef struct {
    spmm_type_t type, s_type;
    int64_t     k;
    const char *kernel; /**< "csr", "rectangles", "cvse", "dense"; NULL or "auto": by the
                             model of sddmm.c */
} spmm_sampling_t;

static inline bool spmmi_asks_for(const spmm_sampling_t *what, const char *kernel)
{
    return spmmi_candidate_is_named(what->kernel, kernel);
}

/** Can it be done?  Local, no side effects. */
spmm_status_t spmmi_sampler_check(const spmm_device_t *device, const spmm_sampling_t *what);
/** Static storage. */
const char *spmmi_sampler_kernel(const spmm_sampler_t *sampler);

/** Make the format of @p block; its values are not looked at.  Local, waits for its own work.
 *  @param[in] place  [nnz] where in S the result of each entry goes; NULL: where it stands
 *  @return SPMM_ERR_RANGE from 2^31 entries on */
spmm_status_t spmmi_sampler_create(const spmm_device_t *device, const spmm_csr_t *block,
                                   const int64_t *place, const spmm_sampling_t *what,
                                   spmm_sampler_t *sampler);
void          spmmi_sampler_free(spmm_sampler_t *sampler);

/** Enqueue S = alpha * dots + beta * S at the places of the block; no allocation. */
spmm_status_t spmmi_sampler_run(const spmm_sampler_t *sampler, const spmm_sddmm_args_t *args,
                                spmm_stream_t stream);

/** Enqueue a softmax of rows; arrays are device memory. */
spmm_status_t spmmi_row_softmax(const spmm_device_t *device, const spmm_softmax_args_t *args,
                                spmm_stream_t stream);
/** Enqueue a rearrangement of values; likewise. */
spmm_status_t spmmi_place_values(const spmm_device_t *device, const spmm_place_args_t *args,
                                 spmm_stream_t stream);

typedef struct {
    spmm_sampler_format_t format;
    int32_t               height; /**< of windows of cvse; rows of a rectangle */
    int32_t               width;  /**< columns of a rectangle */
} spmm_sampler_choice_t;

/** The format that @p what asks for, else the one with the shortest predicted time.
 *  @param[in] place  as in spmmi_sampler_create()
 *  @return SPMM_ERR_RANGE where rectangles are asked for and would be many more than entries */
spmm_status_t spmmi_sampler_choose(const spmm_device_t *device, const spmm_csr_t *block,
                                   const int64_t *place, const spmm_sampling_t *what,
                                   spmm_sampler_choice_t *choice);

/* formats.c: the formats on the host. */

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
spmm_status_t spmmi_sddmm_make_tasks(spmm_env_t *env, const spmm_csr_t *block,
                                     spmm_sddmm_task_list_t *tasks);
void          spmmi_sddmm_free_tasks(spmm_sddmm_task_list_t *tasks);

/** Condense @p block into tiles of windows of @p height rows.  Takes the shortest way to say where
 *  results go that fits all of them.
 *  @param[in] place  as in spmmi_sampler_create() */
spmm_status_t spmmi_sddmm_make_tiles(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                     const int64_t *place, int threads,
                                     spmm_sddmm_tile_list_t *tiles);
void          spmmi_sddmm_free_tiles(spmm_sddmm_tile_list_t *tiles);

typedef struct {
    int32_t   n_squares;
    int32_t  *corner, *first, *place, *shift; /**< as in spmm_sddmm_squares_t */
    uint16_t *entry;
} spmm_sddmm_square_list_t;

/** Do rows and columns of its squares, past the edges too, fit 32 bits? */
bool spmmi_sddmm_has_squares(const spmm_csr_t *block);

/** Sort the entries of @p block into squares.
 *  @param[in] place  as in spmmi_sampler_create()
 *  @return SPMM_ERR_RANGE where it has none, or too many */
spmm_status_t spmmi_sddmm_make_squares(spmm_env_t *env, const spmm_csr_t *block,
                                       const int64_t *place, spmm_sddmm_square_list_t *squares);
void          spmmi_sddmm_free_squares(spmm_sddmm_square_list_t *squares);

/* Masks in rectangles of rows and columns, on the host. */

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

#endif /* SPMM_ENGINE_SDDMM_H */

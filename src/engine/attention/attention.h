/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.h
 *  Sparse attention of one block of a mask.  Two formats:
 *
 *    rows     entries by rows, as CSR has them: all types, and the gradients
 *    windows  windows of 8 or 16 rows in groups that share rows of K and V, for one kernel on
 *             tensor cores: FP16 and BF16, heads of up to 128 columns, a multiple of 8;
 *             gradients of up to 64
 *
 *  On CPUs a mask in windows is multiplied by the rows that they decode to.
 */
#ifndef SPMM_ENGINE_ATTENTION_H
#define SPMM_ENGINE_ATTENTION_H

#include <stdbool.h>

#include "engine/attention/args.h"
#include "engine/gpu.h"
#include "matrix/csr.h"

/** What decides on the format. */
typedef struct {
    spmm_type_t type;
    int64_t     heads, k;
    const char *kernel;    /**< "rows", "windows"; NULL or "auto": windows on GPUs where they can */
    bool        gradients; /**< are wanted, too */
    bool        transposed; /**< the block is of the transpose, for gradients of keys alone */
} spmm_attention_what_t;

/** A mask, ready for attention. */
typedef struct {
    const spmm_device_t     *device;
    int64_t                  nnz;
    bool                     in_windows;
    bool                     gradient_windows; /**< the same for gradients */
    spmm_attention_rows_t    rows;             /**< arrays on the device; those of gradients, too */
    spmm_attention_windows_t windows;          /**< likewise */
    int64_t                  vectors, columns; /**< of spmm_attention_list_t; in rows: nnz */
    spmm_uploads_t           uploads;          /**< they */
} spmm_attender_t;

/** Can it be done?  Local, no side effects. */
spmm_status_t spmmi_attender_check(const spmm_device_t *device, const spmm_attention_what_t *what);
/** Static storage. */
const char *spmmi_attender_kernel(const spmm_attender_t *attender);

/** Make the format of @p block; its values are not looked at.  Local, waits for its own work. */
spmm_status_t spmmi_attender_create(const spmm_device_t *device, const spmm_csr_t *block,
                                    const spmm_attention_what_t *what, spmm_attender_t *attender);
void          spmmi_attender_free(spmm_attender_t *attender);

/** Enqueue, without allocation; rows of Q and O beyond row maps are left as they are. */
spmm_status_t spmmi_attender_run(const spmm_attender_t *attender, const spmm_attention_args_t *args,
                                 spmm_stream_t stream);
spmm_status_t spmmi_attender_stats(const spmm_device_t *device, const spmm_attention_stats_t *args,
                                   spmm_stream_t stream);
/** dQ. */
spmm_status_t spmmi_attender_query(const spmm_attender_t           *attender,
                                   const spmm_attention_gradient_t *args, spmm_stream_t stream);
/** dK and dV, of the transposed mask. */
spmm_status_t spmmi_attender_key(const spmm_attender_t           *attender,
                                 const spmm_attention_gradient_t *args, spmm_stream_t stream);

/* Masks of sparse attention in windows and panels, on the host. */

/** What spmm_attention_windows_t says of itself. */
typedef struct {
    int32_t height, windows, width;
} spmm_attention_variant_t;

/** Arrays as in spmm_attention_windows_t, owned, freed by spmmi_attention_free_list(). */
typedef struct {
    spmm_attention_variant_t variant;
    int32_t                  n_rows, n_groups, n_panels;
    int64_t                  n_chunks;
    int64_t                  vectors; /**< slots in use */
    int64_t                  columns; /**< places of panels in use: rows of K and V to load */
    int32_t                 *group, *panels, *col, *chunks;
    uint32_t                *slot;
} spmm_attention_list_t;

/** Put the entries of @p block into windows, groups and panels.  Local.
 *  @param[in] threads  OpenMP threads, 0: as many as OpenMP likes
 *  @return SPMM_ERR_RANGE where chunks cannot be counted in 32 bits */
spmm_status_t spmmi_attention_make_list(spmm_env_t *env, const spmm_csr_t *block,
                                        const spmm_attention_variant_t *variant, int threads,
                                        spmm_attention_list_t *list);
void          spmmi_attention_free_list(spmm_attention_list_t *list);

/** The way back: columns of each row, ascending.
 *  @param[out] row_ptr  [n_rows + 1]
 *  @param[out] col      as many as there were entries */
void spmmi_attention_decode(const spmm_attention_list_t *list, int64_t *row_ptr, int32_t *col);

#endif /* SPMM_ENGINE_ATTENTION_H */

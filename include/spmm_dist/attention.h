/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.h
 *  Sparse attention in one operation: of several heads side by side,
 *
 *      O_i = sum_j softmax_j(scale * <Q_i, K_j>) V_j    over the entries (i, j) of a mask,
 *
 *  and the gradients of Q, K and V.  Scores are not kept in memory.  Rows of Q and O live where the
 *  rows of the mask live, rows of K and V where its columns live; those of K and V that other ranks
 *  need travel with a call:
 *
 *      spmm_attention_plan_create(mask, heads, k, NULL, &plan)                      once
 *      spmm_attention(plan, 1.0 / sqrt(k), Q, ld, K, ld, V, ld, O, ld, NULL, stream)
 */
#ifndef SPMM_DIST_ATTENTION_H
#define SPMM_DIST_ATTENTION_H

#include "spmm_dist/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spmm_attention_plan
    spmm_attention_plan_t; /**< a mask, heads, k, options -> its format, the exchange */

/** Zero in any field means "choose for me"; the struct grows only at its end. */
typedef struct {
    size_t      struct_size; /**< set by SPMM_ATTENTION_OPTIONS_INIT; lets old callers run */
    int         backward; /**< nonzero: prepare spmm_attention_backward(), too: the transposed mask,
                               and rows of the mask beside windows */
    const char *kernel;   /**< "rows": CUDA cores (on CPUs plain loops), all types; "windows": one
                               kernel on tensor cores, FP16 and BF16, k a multiple of 8 up to 128,
                               for masks in which neighbouring rows share columns; NULL or "auto":
                               on GPUs windows where it can, on CPUs rows.  Gradients of windows
                               are on tensor cores, too, for k up to 64 */
    const char *transport; /**< as in spmm_plan_options_t */
    const char *tuning;    /**< likewise; of its keys exchange alone */
} spmm_attention_options_t;

/** "Choose for me" in every field. */
#define SPMM_ATTENTION_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(spmm_attention_options_t), 0, NULL, NULL, NULL                                      \
    }

/** Prepare attention at the entries of @p mask, on the halo plan that a plan with partition "keep"
 *  has: rows stay with the caller's ranks.  Collective; @p mask must outlive the plan, its values
 *  are not used.
 *  @param[in] heads    blocks of k columns of Q, K, V and O, 1 .. 32767
 *  @param[in] k        columns of a head, 1 .. 32767
 *  @param[in] options  NULL for defaults; equal on all ranks
 *  @return SPMM_ERR_UNSUPPORTED when kernel or transport asked for cannot do it, SPMM_ERR_RANGE for
 *          more entries on a rank than the kernel counts */
SPMM_API spmm_status_t spmm_attention_plan_create(spmm_matrix_t *mask, int64_t heads, int64_t k,
                                                  const spmm_attention_options_t *options,
                                                  spmm_attention_plan_t         **plan);

/** Enqueue attention.  Rows of the mask without entries give zeros.  Scores are computed and added
 *  up in FP32, for FP64 in FP64; with kernel windows weights are rounded to the type of V.  The
 *  largest score of a row, or one that is near it, is subtracted before exp().  Collective, but it
 *  spends no reduction, allocates nothing and returns like spmm_execute(), also where ranks refused
 *  calls; but there is no resync: over transport nccl a rank with peers that refused a call refuses
 *  all later ones, and the plan is to be destroyed.
 *  @param[in]  scale  of scores, equal on all ranks; usually 1 / sqrt(k)
 *  @param[in]  Q      [local_rows x heads k] row-major, of the mask's type, memory of the context's
 *                     device, as all blocks.  Inf and NaN of it stay in their rows and heads of O
 *  @param[in]  K,V    [local_cols x heads k] likewise.  Inf and NaN go to the rows of O that have
 *                     the column; with kernel windows those of V to all rows of their window
 *  @param[in]  ldq,ldk,ldv,ldo  >= heads k, equal on all ranks; with kernel windows multiples of
 *                     16 bytes, as the blocks themselves
 *  @param[out] O      [local_rows x heads k]; as lse, it shares no element with others, which is
 *                     checked
 *  @param[out] lse    [local_rows x heads] of FP32, for FP64 FP64: log of the sum of exp(scale *
 *                     score), -Inf without entries, which spmm_attention_backward() takes; NULL:
 *                     not wanted */
SPMM_API spmm_status_t spmm_attention(spmm_attention_plan_t *plan, double scale, const void *Q,
                                      int64_t ldq, const void *K, int64_t ldk, const void *V,
                                      int64_t ldv, void *O, int64_t ldo, void *lse,
                                      spmm_stream_t stream);

/** Enqueue the gradients of Q, K and V from that of O.  Needs option backward.  Collective and
 *  returning like spmm_attention(), with the same blocks and scale; rows of K and V travel again,
 *  and those of Q and dO that other ranks need.  The same bits from run to run.
 *  @param[in]  O,dO,ldo   what spmm_attention() gave, and its gradient, with one ld
 *  @param[in]  lse        what spmm_attention() gave
 *  @param[out] dQ,dK,dV   gradients, shaped as Q, K and V and with ldq, ldk and ldv; they
 *                         share no element with another block, which is checked
 *  @return SPMM_ERR_UNSUPPORTED without option backward */
SPMM_API spmm_status_t spmm_attention_backward(spmm_attention_plan_t *plan, double scale,
                                               const void *Q, int64_t ldq, const void *K,
                                               int64_t ldk, const void *V, int64_t ldv,
                                               const void *O, const void *dO, int64_t ldo,
                                               const void *lse, void *dQ, void *dK, void *dV,
                                               spmm_stream_t stream);

/** What a plan chose, on this rank. */
typedef struct {
    size_t      struct_size;           /**< set by the caller to sizeof(spmm_attention_info_t) */
    const char *kernel, *halo_kernel;  /**< "rows" or "windows" for entries whose column this rank
                                            owns / does not; static storage */
    int         vector, halo_vector;   /**< rows of a window; with kernel rows 1 */
    int64_t     vectors, halo_vectors; /**< columns of windows that hold the entries; with kernel
                                            rows the entries */
    int64_t     columns, halo_columns; /**< rows of K, and of V, that one head loads */
    const char *transport;             /**< static storage */
    int64_t     halo_rows, send_rows;  /**< rows of K, and of V, received, sent */
    size_t      device_bytes; /**< held by formats of the mask, rows in exchange and sums */
} spmm_attention_info_t;

/** Not collective. */
SPMM_API spmm_status_t spmm_attention_plan_get_info(const spmm_attention_plan_t *plan,
                                                    spmm_attention_info_t       *info);

/** Collective.  Waits for work in flight, frees *plan, sets it to NULL; NULL in is success. */
SPMM_API spmm_status_t spmm_attention_plan_destroy(spmm_attention_plan_t **plan);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_DIST_ATTENTION_H */

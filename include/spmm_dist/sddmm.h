/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.h
 *  SDDMM, the sampled dense-dense product: S = alpha * (X Y^T at the entries of a matrix) +
 *  beta * S, as cusparseSDDMM computes it: the values of the matrix take no part.  Rows of X live
 *  where the rows of the matrix live, rows of Y where its columns live, and S are new values for
 *  its entries:
 *
 *      spmm_sddmm(scores, k, 1.0, Q, k, K, k, 0.0, S, stream)    S = Q K^T at the mask
 *      spmm_sddmm_softmax(scores, 1.0 / sqrt(k), S, P, stream)   rows of S, in place if you like
 *      spmm_plan_update_values(product, P, stream)               A = P
 *      spmm_execute(product, k, 1.0, V, k, 0.0, O, k, stream)    O = A V
 *
 *  is sparse attention, in which nothing leaves the device or waits for it.
 */
#ifndef SPMM_DIST_SDDMM_H
#define SPMM_DIST_SDDMM_H

#include "spmm_dist/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spmm_sddmm_plan
    spmm_sddmm_plan_t; /**< a mask, k, options -> its format, the exchange */

/** Zero in any field means "choose for me"; the struct grows only at its end. */
typedef struct {
    size_t      struct_size; /**< set by SPMM_SDDMM_OPTIONS_INIT; lets old callers run */
    spmm_type_t s_type;      /**< AUTO: the type of the mask, which X and Y have; FP32 possible for
                                  16-bit ones.  Sums are in FP32, for FP64 in FP64 */
    const char *kernel;      /**< "csr": CUDA cores (on CPUs plain loops), all types;
                                  "rectangles": rows of X and Y in shared memory, all types, for
                                  masks without structure whose rectangles of a few hundred rows
                                  and columns have entries enough; "cvse":
                                  tensor cores, all but FP64, for masks in which neighbouring rows
                                  share columns, best column-vector-sparse ones; "dense": 16 bits,
                                  tensor cores multiply squares of 128 rows and columns in full,
                                  for masks with an entry in every tenth or thirtieth place; NULL or
                                  "auto": on GPUs the one with the shortest predicted time, on CPUs
                                  csr */
    const char *transport;   /**< as in spmm_plan_options_t */
    const char *tuning;      /**< likewise; of its keys exchange alone */
} spmm_sddmm_options_t;

/** "Choose for me" in every field. */
#define SPMM_SDDMM_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(spmm_sddmm_options_t), SPMM_TYPE_AUTO, NULL, NULL, NULL                             \
    }

/** Prepare SDDMM at the entries of @p mask for X and Y of up to @p k columns, on the halo plan that
 *  a plan with partition "keep" has: rows stay with the caller's ranks.  Collective; @p mask must
 *  outlive the plan, its values are not used.
 *  @param[in] k        columns of X and Y, >= 1; memory of the plan is sized for it
 *  @param[in] options  NULL for defaults; equal on all ranks
 *  @return SPMM_ERR_UNSUPPORTED when kernel or transport asked for cannot do it, SPMM_ERR_RANGE for
 *          2^31 entries or more on a rank, and where rectangles are asked for of which there would
 *          be more than 16 for an entry and 2^20 */
SPMM_API spmm_status_t spmm_sddmm_plan_create(spmm_matrix_t *mask, int64_t k,
                                              const spmm_sddmm_options_t *options,
                                              spmm_sddmm_plan_t         **plan);

/** Enqueue S_e = alpha * <X_i, Y_j> + beta * S_e for every entry e = (i, j) of the mask; what is
 *  not an entry is neither read nor multiplied into one, so Inf and NaN stay where they belong.
 *  Collective, but it spends no reduction, allocates nothing and returns like spmm_execute(), also
 *  where ranks differ by k or refused calls; over transport nccl a plan that refused one is to be
 *  destroyed.
 *  @param[in]     k           columns, 1 .. k of the plan; equal on all ranks
 *  @param[in]     alpha,beta  equal on all ranks; converted to the type of the sums; beta == 0
 *                             never reads S
 *  @param[in]     X           [local_rows x k] row-major, of the mask's type
 *                             (spmm_matrix_get_info()), memory of the context's device, as Y and S
 *  @param[in]     Y           [local_cols x k] likewise
 *  @param[in]     ldx,ldy     >= k, equal on all ranks; multiples of 16 bytes, as X and Y
 *                             themselves, are fastest
 *  @param[in,out] S           [local_nnz] of s_type, in the order of spmm_matrix_update_values();
 *                             shares no element with X and Y, which is checked */
SPMM_API spmm_status_t spmm_sddmm(spmm_sddmm_plan_t *plan, int64_t k, double alpha, const void *X,
                                  int64_t ldx, const void *Y, int64_t ldy, double beta, void *S,
                                  spmm_stream_t stream);

/** Enqueue P = softmax(scale * S) over the entries of each row: exp(x - max) / sum of these.  Rows
 *  are whole on one rank: not collective.  The first call on a plan allocates.
 *  @param[in]  S  [local_nnz] of s_type, as spmm_sddmm() leaves it
 *  @param[out] P  [local_nnz] of the mask's type, for spmm_plan_update_values(); may be S where the
 *                 types are equal, else shares no element with it, which is checked */
SPMM_API spmm_status_t spmm_sddmm_softmax(spmm_sddmm_plan_t *plan, double scale, const void *S,
                                          void *P, spmm_stream_t stream);

/** What a plan chose, on this rank. */
typedef struct {
    size_t      struct_size;           /**< set by the caller to sizeof(spmm_sddmm_info_t) */
    const char *kernel, *halo_kernel;  /**< as in the options, for entries whose column this
                                            rank owns / does not; static storage */
    int         vector, halo_vector;   /**< V of cvse; else 1 */
    int64_t     vectors, halo_vectors; /**< column vectors that hold the entries; without vectors
                                            the entries */
    const char *transport;             /**< static storage */
    int64_t     halo_rows, send_rows;  /**< rows of Y received, sent */
    size_t      device_bytes;          /**< held by the format of the mask and rows in exchange */
} spmm_sddmm_info_t;

/** Not collective. */
SPMM_API spmm_status_t spmm_sddmm_plan_get_info(const spmm_sddmm_plan_t *plan,
                                                spmm_sddmm_info_t       *info);

/** Collective.  Waits for products in flight, frees *plan, sets it to NULL; NULL in is success. */
SPMM_API spmm_status_t spmm_sddmm_plan_destroy(spmm_sddmm_plan_t **plan);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_DIST_SDDMM_H */

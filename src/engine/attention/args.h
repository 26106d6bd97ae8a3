/* SPDX-License-Identifier: Apache-2.0 */
/** @file args.h
 *  What the kernels of sparse attention take, on CPUs and GPUs:
 *
 *      O_i = sum_j softmax_j(scale * <Q_i, K_j>) V_j    over the entries (i, j) of a mask
 */
#ifndef SPMM_ENGINE_ATTENTION_ARGS_H
#define SPMM_ENGINE_ATTENTION_ARGS_H

#include <stdbool.h>

#include "kernel_args.h"

enum {
    SPMM_ATTENTION_CHUNK = 16, /**< vectors that one tensor-core instruction takes */
    SPMM_ATTENTION_AHEAD = 1,  /**< chunks behind the last that may be read */
    SPMM_ATTENTION_BITS  = 16  /**< a slot is index + rows << SPMM_ATTENTION_BITS */
};

/** Entries of a mask by rows. */
typedef struct {
    int32_t        n_rows;
    const int64_t *row_ptr; /**< [n_rows + 1] */
    const int32_t *col;     /**< [entries] row of K and V */
    const int32_t *row_map; /**< [n_rows] row of Q and O of each row; NULL: the identity */
} spmm_attention_rows_t;

/** Entries of a mask in windows of `height` rows, and these in groups of `windows`, whose columns
 *  are cut into panels of `width`.  A vector is a column of a window. */
typedef struct {
    int32_t        n_rows;
    int32_t        height;   /**< 8 or 16 */
    int32_t        windows;  /**< of a group */
    int32_t        width;    /**< most columns of a panel, a multiple of 8 */
    int32_t        n_groups; /**< with an entry or without */
    const int32_t *group;    /**< [n_groups] its number among the rows; longest first */
    const int32_t *panels;   /**< [n_groups + 1] first panel of each */
    const int32_t *col;      /**< [panels * width] row of K and V; -1: none */
    const int32_t *chunks;   /**< [panels * windows + 1] first chunk; those of a group by window,
                                  then by panel */
    /** [(chunks + SPMM_ATTENTION_AHEAD) * SPMM_ATTENTION_CHUNK] place in the panel, and which rows
     *  of the window have the column; without one: `width`, none */
    const uint32_t *slot;
    const int32_t  *row_map; /**< [n_rows] row of Q and O of each row; NULL: the identity */
} spmm_attention_windows_t;

/** The dense side.  Head h has columns h * k to h * k + k - 1 of Q, K, V and O. */
typedef struct {
    spmm_type_t type; /**< of Q, K, V and O */
    int64_t     heads, k;
    double      scale;
    const void *Q, *K, *V;
    void       *O;
    int64_t     ldq, ldk, ldv, ldo;
    void       *lse; /**< [rows x heads] log of the sum of exponentials of each row and head, FP32,
                             for FP64 FP64; -Inf without entries */
    bool        resume;  /**< O and lse hold what other columns gave, which takes part */
    int         threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_attention_args_t;

/** Its gradients, with P_ij = exp(scale * <Q_i, K_j> - lse_i) and
 *  S_ij = scale * P_ij * (<dO_i, V_j> - <dO_i, O_i>):
 *
 *      dQ_i = sum_j S_ij K_j                           at the rows of a mask
 *      dK_j = sum_i S_ij Q_i,   dV_j = sum_i P_ij dO_i   at those of its transpose */
typedef struct {
    spmm_type_t type;
    int64_t     heads, k;
    double      scale;
    const void *Q, *K, *V, *dO; /**< dK and dV: those of Q and dO at the columns of the transpose */
    int64_t     ldq, ldk, ldv, ldo;
    const void *stats;        /**< [rows of Q x 2 heads] of the type of sums: lse of all heads, then
                            <dO, O> of all */
    void       *dQ, *dK, *dV; /**< ld as of Q, K and V */
    bool        resume;       /**< add to what they hold */
    int         threads;
} spmm_attention_gradient_t;

/** stats of the above. */
typedef struct {
    spmm_type_t type;
    int64_t     n_rows, heads, k;
    const void *O, *dO;
    int64_t     ldo; /**< of both */
    const void *lse; /**< [n_rows x heads] */
    void       *stats;
    int         threads;
} spmm_attention_stats_t;

#endif /* SPMM_ENGINE_ATTENTION_ARGS_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file product_cuda.h
 *  The format of engine cusparse.  One format serves one execute at a time, in the order of its
 *  calls: workspace and preprocessed state are its own.
 */
#ifndef SPMM_ENGINE_CUSPARSE_CUDA_H
#define SPMM_ENGINE_CUSPARSE_CUDA_H

#include <cusparse.h>

#include "device/device_cuda.h"
#include "engine/engine.h"

enum {
    SPMM_CUSPARSE_VECTOR     = 4096, /**< an algorithm of cusparseSpMV is its number and this */
    SPMM_CUSPARSE_ALGORITHMS = 5     /**< of both kinds */
};

/** What the formats of one block have in common beside its arrays. */
typedef struct {
    int               users; /**< formats */
    int               sized; /**< algorithms whose workspace is known */
    cusparseSpMMAlg_t algorithm[SPMM_CUSPARSE_ALGORITHMS];
    size_t            work[SPMM_CUSPARSE_ALGORITHMS];
} spmm_cusparse_common_t;

typedef struct {
    const spmm_device_t    *device; /**< borrowed */
    spmm_problem_t          problem;
    int32_t                 n_rows, n_cols;
    int64_t                 nnz;
    bool                    wide; /**< int64 offsets and indices: cuSPARSE refuses mixed widths */
    void                   *row_ptr; /**< [n_rows + 1], device, owned, as all below */
    void                   *col_idx; /**< [nnz] */
    void                   *values;  /**< [nnz] */
    void                   *row_map; /**< [n_rows] int32, NULL: the identity */
    void                   *sum;     /**< [n_rows x problem.n] of the accumulator type, where the
                                       product goes before its rows are added to C; with row_map */
    spmm_cusparse_common_t *common;  /**< row_ptr to sum and handle belong to its users, owned
                                         with them by the last */
    bool                    shares;  /**< it found them in another format */
    void                   *work;    /**< of cuSPARSE */
    size_t                  work_bytes, device_bytes; /**< the second: of the arrays */
    size_t                  work_need; /**< what cuSPARSE asked for at the last change of dense */
    cusparseHandle_t        handle;
    cusparseSpMMAlg_t       algorithm; /**< the fastest */
    cusparseSpMMAlg_t       careful;   /**< for blocks that algorithm would read out of alignment */
    cusparseSpMMAlg_t       bound;     /**< the one that the descriptors below are prepared for */
    /* Descriptors, and the dense they and the preprocessed state in work are for. */
    cusparseSpMatDescr_t A;
    cusparseDnMatDescr_t B, C;
    cusparseDnVecDescr_t b, c; /* in place of B and C where an algorithm of one column is bound */
    int64_t              n, ldb, ldc; /**< n == 0: none yet */
} spmm_cusparse_t;

/** Record a failed cuSPARSE call; SPMM_OK for success. */
spmm_status_t spmmi_cusparse_check(const spmm_device_t *device, cusparseStatus_t code,
                                   const char *what);

/** Type of what cuSPARSE writes: C, or the sums that are added to it. */
spmm_type_t spmmi_cusparse_product_type(const spmm_cusparse_t *f);

/** Workspace of @p algorithm for @p n columns at leading dimensions @p pad above the tightest. */
cusparseStatus_t spmmi_cusparse_work_size(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                                          int64_t n, int64_t pad, size_t *bytes);

/** Enqueue C = alpha * A * B + beta * C for the entries, rows of C being those of A.  Preprocesses
 *  first when n, ldb or ldc are not those of the last call, for which cuSPARSE waits for the
 *  device.  INSUFFICIENT_RESOURCES with
 *  f->work_need > f->work_bytes: the workspace is too small for this dense. */
cusparseStatus_t spmmi_cusparse_multiply(spmm_cusparse_t *f, const spmm_operands_t *x);

/** Forget descriptors and preprocessed state. */
void spmmi_cusparse_unbind(spmm_cusparse_t *f);

/** Choose f->algorithm, by a short measurement or, in a variant, as that says, and allocate f->work
 *  for it. */
spmm_status_t spmmi_cusparse_tune(spmm_cusparse_t *f);
/** Variant 0 is what was measured to be the fastest algorithm, the others are one each. */
int spmmi_cusparse_variants(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                            const spmm_device_t *device);

/* The operations of the engine. */
spmm_status_t spmmi_cusparse_build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                                   const spmm_problem_t *problem, const spmm_device_t *device,
                                   void **format);
spmm_status_t spmmi_cusparse_places(const void *format, void **values, int64_t *count,
                                    int32_t **from);
spmm_status_t spmmi_cusparse_execute(void *format, const spmm_operands_t *x);
void          spmmi_cusparse_bytes(const void *format, size_t *host, size_t *device);
void          spmmi_cusparse_destroy(void *format);

#endif /* SPMM_ENGINE_CUSPARSE_CUDA_H */

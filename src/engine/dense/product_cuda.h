/* SPDX-License-Identifier: Apache-2.0 */
/** @file product_cuda.h
 *  The format of engine dense.  One format serves one execute at a time, in the order of its
 *  calls: workspace and sums are its own.
 */
#ifndef SPMM_ENGINE_DENSE_PRODUCT_CUDA_H
#define SPMM_ENGINE_DENSE_PRODUCT_CUDA_H

#include "engine/dense/args.h"
#include "engine/dense/lt_cuda.h"
#include "engine/engine.h"

/** Of cuBLASLt while algorithms are looked for, for sums of parts of a row. */
#define SPMM_DENSE_WORK ((size_t)8 << 20)

/** Where a product goes: to C, or to sums that are then added to it. */
enum { SPMM_DENSE_TO_C, SPMM_DENSE_TO_SUM, SPMM_DENSE_GOALS };

/** A product as cuBLASLt is asked for it.  Its matrices are column-major: it multiplies what it
 *  calls A, here first, by what it calls B. */
typedef struct {
    int64_t                n, ldb, ldc;      /**< n == 0: none yet */
    unsigned               b_align, c_align; /**< bytes that B and C begin at a multiple of */
    cublasLtMatmulDesc_t   desc;
    cublasLtMatrixLayout_t first, second, result;
    cublasLtMatmulAlgo_t   algorithm;
    size_t                 work_bytes; /**< that it takes */
} spmm_dense_call_t;

typedef struct {
    const spmm_device_t *device; /**< borrowed */
    const spmm_lt_t     *lt;
    cublasLtHandle_t     handle;
    spmm_problem_t       problem;
    int64_t              nnz;
    spmm_dense_args_t    A;       /**< its arrays are on the device and owned, as all below */
    void                *row_map; /**< [n_rows] int32, NULL: the identity */
    void                *sum;     /**< [n_rows x problem.n] of the accumulator's type */
    void                *marks;   /**< spmm_dense_marks_t.of; NULL: all of C is looked through */
    void                *work;
    size_t               work_bytes, device_bytes;
    uint32_t             number;                    /**< of the last product */
    spmm_dense_call_t    planned[SPMM_DENSE_GOALS]; /**< the planned n, tight and aligned */
    spmm_dense_call_t    other[SPMM_DENSE_GOALS];   /**< the last one of another kind */
    int                  rank, ranks; /**< of the algorithm in the list of cuBLASLt; its length */
    double               seconds;     /**< measured; NaN: it was not */
} spmm_dense_t;

enum { SPMM_DENSE_ALGORITHMS = 4 }; /**< of cuBLASLt's list, that are measured */

/* call_cuda.c */

/** Describe a product, whatever was described before.
 *  @param[out] list   [most] algorithms, by expected time
 *  @param[out] found  at least one */
spmm_status_t spmmi_dense_prepare(spmm_dense_t *f, int goal, const spmm_operands_t *x,
                                  spmm_dense_call_t *call, cublasLtMatmulHeuristicResult_t *list,
                                  int most, int *found);
void          spmmi_dense_forget(const spmm_dense_t *f, spmm_dense_call_t *call);
/** Enqueue alpha A B + beta C by @p algorithm. */
spmm_status_t spmmi_dense_call(const spmm_dense_t *f, const spmm_dense_call_t *call,
                               const cublasLtMatmulAlgo_t *algorithm, const spmm_operands_t *x);
/** The same by what is described for x, or will be: a shape that was not planned may wait for its
 *  kernel to be loaded. */
spmm_status_t spmmi_dense_multiply(spmm_dense_t *f, int goal, const spmm_operands_t *x);

/** Choose the algorithms of the planned product, by a short measurement unless results have to be
 *  the same from plan to plan, and load their kernels (tune_cuda.c). */
spmm_status_t spmmi_dense_tune(spmm_dense_t *f);

/* The operations of the engine. */
spmm_status_t spmmi_dense_build(const spmm_csr_t *block, const spmm_problem_t *problem,
                                const spmm_device_t *device, void **format);
spmm_status_t spmmi_dense_refill(void *format, const void *values);
spmm_status_t spmmi_dense_where(const void *format, void **values, int64_t *count, int32_t **from);
spmm_status_t spmmi_dense_execute(void *format, const spmm_operands_t *x);
void          spmmi_dense_describe(const void *format, const spmm_pattern_t *pattern, FILE *out);
void          spmmi_dense_bytes(const void *format, size_t *host, size_t *device);
void          spmmi_dense_destroy(void *format);

#endif /* SPMM_ENGINE_DENSE_PRODUCT_CUDA_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file product_cuda.h
 *  The format of engine dense.  One format serves one execute at a time, in the order of its
 *  calls: workspace and sums are its own.
 */
#ifndef SPMM_ENGINE_DENSE_PRODUCT_CUDA_H
#define SPMM_ENGINE_DENSE_PRODUCT_CUDA_H

#include <cublasLt.h>

#include "device/device_cuda.h"
#include "engine/dense/args.h"
#include "engine/engine.h"
#include "engine/gpu.h"

/* The functions of cuBLASLt that the engine calls.  The library is loaded when a block is first
 * built: it takes 50 to 300 ms and 150 MB of host memory, which most programs never need. */

/** By the names of cublasLt.h, without their "cublasLt". */
typedef struct {
    cublasStatus_t (*Create)(cublasLtHandle_t *handle);
    cublasStatus_t (*Destroy)(cublasLtHandle_t handle);
    const char *(*GetStatusString)(cublasStatus_t status);
    cublasStatus_t (*MatmulDescCreate)(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                       cudaDataType_t scale);
    cublasStatus_t (*MatmulDescDestroy)(cublasLtMatmulDesc_t desc);
    cublasStatus_t (*MatmulDescSetAttribute)(cublasLtMatmulDesc_t           desc,
                                             cublasLtMatmulDescAttributes_t attribute,
                                             const void *value, size_t bytes);
    cublasStatus_t (*MatrixLayoutCreate)(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                         uint64_t rows, uint64_t cols, int64_t ld);
    cublasStatus_t (*MatrixLayoutDestroy)(cublasLtMatrixLayout_t layout);
    cublasStatus_t (*MatmulPreferenceCreate)(cublasLtMatmulPreference_t *preference);
    cublasStatus_t (*MatmulPreferenceDestroy)(cublasLtMatmulPreference_t preference);
    cublasStatus_t (*MatmulPreferenceSetAttribute)(cublasLtMatmulPreference_t           preference,
                                                   cublasLtMatmulPreferenceAttributes_t attribute,
                                                   const void *value, size_t bytes);
    cublasStatus_t (*MatmulAlgoGetHeuristic)(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                             cublasLtMatrixLayout_t A, cublasLtMatrixLayout_t B,
                                             cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                             cublasLtMatmulPreference_t preference, int most,
                                             cublasLtMatmulHeuristicResult_t results[], int *found);
    cublasStatus_t (*Matmul)(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                             const void *A, cublasLtMatrixLayout_t a, const void *B,
                             cublasLtMatrixLayout_t b, const void *beta, const void *C,
                             cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                             const cublasLtMatmulAlgo_t *algorithm, void *work, size_t bytes,
                             cudaStream_t stream);
} spmm_lt_t;

/** About what loading it takes, its first list of algorithms included; 0: it is loaded. */
extern _Atomic(double) spmmi_lt_load_s;

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
    size_t               work_bytes;
    spmm_uploads_t       uploads;                   /**< all arrays but work */
    uint32_t             number;                    /**< of the last product */
    spmm_dense_call_t    planned[SPMM_DENSE_GOALS]; /**< the planned n, tight and aligned */
    spmm_dense_call_t    other[SPMM_DENSE_GOALS];   /**< the last one of another kind */
    int                  rank, ranks; /**< of the algorithm in the list of cuBLASLt; its length */
    double               seconds;     /**< measured; NaN: it was not */
} spmm_dense_t;

enum { SPMM_DENSE_ALGORITHMS = 4 }; /**< of cuBLASLt's list, that are measured */

/* The operations of the engine. */
spmm_status_t spmmi_dense_build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                                const spmm_problem_t *problem, const spmm_device_t *device,
                                void **format);
spmm_status_t spmmi_dense_refill(void *format, const void *values);
spmm_status_t spmmi_dense_where(const void *format, void **values, int64_t *count, int32_t **from);
spmm_status_t spmmi_dense_execute(void *format, const spmm_operands_t *x);
void          spmmi_dense_describe(const void *format, const spmm_pattern_t *pattern, FILE *out);
void          spmmi_dense_bytes(const void *format, size_t *host, size_t *device);
void          spmmi_dense_destroy(void *format);

#endif /* SPMM_ENGINE_DENSE_PRODUCT_CUDA_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file call_cuda.c  A product as cuBLASLt understands it. */
#include <string.h>

#include "base/scalar.h"
#include "engine/dense/product_cuda.h"

enum { ALIGNED = 256 }; /* bytes that device memory begins at a multiple of */

static cudaDataType type_of(spmm_type_t type)
{
    switch (type) {
    case SPMM_R_64F:
        return CUDA_R_64F;
    case SPMM_R_16F:
        return CUDA_R_16F;
    case SPMM_R_16BF:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

static cublasComputeType_t compute_of(spmm_compute_t compute)
{
    return compute == SPMM_COMPUTE_64F             ? CUBLAS_COMPUTE_64F
           : compute == SPMM_COMPUTE_32F_FAST_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                   : CUBLAS_COMPUTE_32F;
}

static spmm_type_t result_type(const spmm_dense_t *f, int goal)
{
    return goal == SPMM_DENSE_TO_C ? f->problem.c_type : spmmi_accum_type(f->problem.ab_type);
}

/* The largest power of two up to 256 that divides an address: cuBLASLt knows the step of rows. */
static unsigned alignment(const void *at)
{
    const uintptr_t bits = (uintptr_t)at | ALIGNED;

    return (unsigned)(bits & (~bits + 1));
}

void spmmi_dense_forget(const spmm_dense_t *f, spmm_dense_call_t *call)
{
    /* Failures to destroy a host structure leave nothing to be done. */
    if (call->desc != NULL) {
        (void)f->lt->MatmulDescDestroy(call->desc);
    }
    if (call->first != NULL) {
        (void)f->lt->MatrixLayoutDestroy(call->first);
    }
    if (call->second != NULL) {
        (void)f->lt->MatrixLayoutDestroy(call->second);
    }
    if (call->result != NULL) {
        (void)f->lt->MatrixLayoutDestroy(call->result);
    }
    memset(call, 0, sizeof *call);
}

/* Row-major C is column-major C^T = B^T A^T. */
static cublasStatus_t describe(const spmm_dense_t *f, int goal, spmm_dense_call_t *call)
{
    const spmm_lt_t    *lt     = f->lt;
    const spmm_layout_t layout = f->problem.layout;
    const bool          by_row = layout == SPMM_LAYOUT_ROW, b_by_col = layout == SPMM_LAYOUT_COL;
    const cudaDataType  in = type_of(f->problem.ab_type), out = type_of(result_type(f, goal));
    const uint64_t      m = (uint64_t)f->A.n_rows, k = (uint64_t)f->A.n_cols;
    const uint64_t      n        = (uint64_t)call->n;
    cublasLtMatrixLayout_t *a    = by_row ? &call->second : &call->first;
    cublasLtMatrixLayout_t *b    = by_row ? &call->first : &call->second;
    const cublasOperation_t op_a = by_row ? CUBLAS_OP_N : CUBLAS_OP_T;
    const cublasOperation_t op_b = by_row || b_by_col ? CUBLAS_OP_N : CUBLAS_OP_T;
    cublasStatus_t          code =
        lt->MatmulDescCreate(&call->desc, compute_of(f->problem.compute),
                             f->problem.compute == SPMM_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F);

    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->MatmulDescSetAttribute(call->desc, CUBLASLT_MATMUL_DESC_TRANSA,
                                          by_row ? &op_b : &op_a, sizeof op_a);
    }
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->MatmulDescSetAttribute(call->desc, CUBLASLT_MATMUL_DESC_TRANSB,
                                          by_row ? &op_a : &op_b, sizeof op_a);
    }
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->MatrixLayoutCreate(a, in, k, m, f->A.ld);
    }
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->MatrixLayoutCreate(b, in, b_by_col ? k : n, b_by_col ? n : k, call->ldb);
    }
    if (code == CUBLAS_STATUS_SUCCESS) {
        code =
            lt->MatrixLayoutCreate(&call->result, out, by_row ? n : m, by_row ? m : n, call->ldc);
    }
    return code;
}

/* Sums of parts of a row are added in the type of sums, and in one order. */
static cublasStatus_t prefer(const spmm_dense_t *f, const spmm_dense_call_t *call,
                             cublasLtMatmulPreference_t preference)
{
    const uint32_t reduction =
        CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const unsigned a_align = ALIGNED;
    const bool     by_row  = f->problem.layout == SPMM_LAYOUT_ROW;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void                          *value;
        size_t                               bytes;
    } set[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &f->work_bytes, sizeof f->work_bytes},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, by_row ? &call->b_align : &a_align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, by_row ? &a_align : &call->b_align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &call->c_align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &call->c_align, 4},
    };
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;

    for (size_t k = 0; k < sizeof set / sizeof set[0] && code == CUBLAS_STATUS_SUCCESS; k++) {
        code = f->lt->MatmulPreferenceSetAttribute(preference, set[k].attribute, set[k].value,
                                                   set[k].bytes);
    }
    return code;
}

static cublasStatus_t list_algorithms(spmm_dense_t *f, const spmm_dense_call_t *call,
                                      cublasLtMatmulHeuristicResult_t *list, int most, int *found)
{
    cublasLtMatmulPreference_t preference;
    cublasStatus_t             code = f->lt->MatmulPreferenceCreate(&preference);

    if (code != CUBLAS_STATUS_SUCCESS) {
        return code;
    }
    code = prefer(f, call, preference);
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = f->lt->MatmulAlgoGetHeuristic(f->handle, call->desc, call->first, call->second,
                                             call->result, call->result, preference, most, list,
                                             found);
    }
    (void)f->lt->MatmulPreferenceDestroy(preference);
    return code == CUBLAS_STATUS_SUCCESS && *found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : code;
}

spmm_status_t spmmi_dense_prepare(spmm_dense_t *f, int goal, const spmm_operands_t *x,
                                  spmm_dense_call_t *call, cublasLtMatmulHeuristicResult_t *list,
                                  int most, int *found)
{
    cublasStatus_t code;

    spmmi_dense_forget(f, call);
    call->n       = x->n;
    call->ldb     = x->ldb;
    call->ldc     = x->ldc;
    call->b_align = alignment(x->B);
    call->c_align = alignment(x->C);
    *found        = 0;
    code          = describe(f, goal, call);
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = list_algorithms(f, call, list, most, found);
    }
    if (code != CUBLAS_STATUS_SUCCESS) {
        spmmi_dense_forget(f, call);
        return spmmi_lt_check(f->device, f->lt, code, "cublasLtMatmulAlgoGetHeuristic");
    }
    call->algorithm  = list[0].algo;
    call->work_bytes = list[0].workspaceSize;
    return SPMM_OK;
}

spmm_status_t spmmi_dense_call(const spmm_dense_t *f, const spmm_dense_call_t *call,
                               const cublasLtMatmulAlgo_t *algorithm, const spmm_operands_t *x)
{
    const bool   fp64   = f->problem.compute == SPMM_COMPUTE_64F;
    const bool   by_row = f->problem.layout == SPMM_LAYOUT_ROW;
    const double d[2]   = {x->alpha.re, x->beta.re};
    const float  s[2]   = {(float)x->alpha.re, (float)x->beta.re};

    return spmmi_lt_check(
        f->device, f->lt,
        f->lt->Matmul(f->handle, call->desc, fp64 ? (const void *)&d[0] : (const void *)&s[0],
                      by_row ? x->B : f->A.values, call->first, by_row ? f->A.values : x->B,
                      call->second, fp64 ? (const void *)&d[1] : (const void *)&s[1], x->C,
                      call->result, x->C, call->result, algorithm, f->work, f->work_bytes,
                      (cudaStream_t)x->stream),
        "cublasLtMatmul");
}

/* May @p x run as @p call says? */
static bool serves(const spmm_dense_call_t *call, const spmm_operands_t *x)
{
    return call->n == x->n && call->ldb == x->ldb && call->ldc == x->ldc &&
           alignment(x->B) >= call->b_align && alignment(x->C) >= call->c_align;
}

spmm_status_t spmmi_dense_multiply(spmm_dense_t *f, int goal, const spmm_operands_t *x)
{
    cublasLtMatmulHeuristicResult_t first;
    spmm_dense_call_t              *call = &f->planned[goal];
    int                             found;

    if (!serves(call, x)) {
        call = &f->other[goal];
    }
    if (!serves(call, x)) {
        SPMM_TRY(spmmi_dense_prepare(f, goal, x, call, &first, 1, &found));
    }
    return spmmi_dense_call(f, call, &call->algorithm, x);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sddmm.h"

#include <cuda_runtime_api.h>
#include <string.h>

static const float  one_f = 1.0F, zero_f = 0.0F;
static const double one_d = 1.0, zero_d = 0.0;

static const void *one(const bench_cusparse_t *c)
{
    return c->compute == CUDA_R_64F ? (const void *)&one_d : (const void *)&one_f;
}

static const void *zero(const bench_cusparse_t *c)
{
    return c->compute == CUDA_R_64F ? (const void *)&zero_d : (const void *)&zero_f;
}

static cudaDataType data_type(spmm_type_t type)
{
    return type == SPMM_R_64F   ? CUDA_R_64F
           : type == SPMM_R_32F ? CUDA_R_32F
           : type == SPMM_R_16F ? CUDA_R_16F
                                : CUDA_R_16BF;
}

static cusparseStatus_t describe(const bench_sddmm_t *x, int turned, bench_cusparse_t *c)
{
    const cudaDataType type = data_type(x->type);
    cusparseStatus_t   code = cusparseCreate(&c->handle);

    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseCreateCsr(&c->mask, x->rows, x->cols, x->nnz, x->row_ptr, x->col_idx, x->S,
                                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                 type);
    }
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseCreateDnMat(&c->a, x->rows, x->k, x->k, x->X, type, CUSPARSE_ORDER_ROW);
    }
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code =
            turned
                ? cusparseCreateDnMat(&c->b, x->cols, x->k, x->k, x->Y, type, CUSPARSE_ORDER_ROW)
                : cusparseCreateDnMat(&c->b, x->k, x->cols, x->k, x->Y, type, CUSPARSE_ORDER_COL);
    }
    return code;
}

const char *bench_cusparse_open(const bench_sddmm_t *x, int turned, bench_cusparse_t *c)
{
    size_t           bytes = 0;
    cusparseStatus_t code;

    memset(c, 0, sizeof *c);
    c->compute = x->type == SPMM_R_64F ? CUDA_R_64F : CUDA_R_32F;
    c->op_b    = turned ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    code       = describe(x, turned, c);
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseSDDMM_bufferSize(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, c->op_b,
                                        one(c), c->a, c->b, zero(c), c->mask, c->compute,
                                        CUSPARSE_SDDMM_ALG_DEFAULT, &bytes);
    }
    if (code == CUSPARSE_STATUS_SUCCESS && cudaMalloc(&c->work, bytes + 1) != cudaSuccess) {
        code = CUSPARSE_STATUS_ALLOC_FAILED;
    }
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseSDDMM_preprocess(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, c->op_b,
                                        one(c), c->a, c->b, zero(c), c->mask, c->compute,
                                        CUSPARSE_SDDMM_ALG_DEFAULT, c->work);
    }
    return code == CUSPARSE_STATUS_SUCCESS ? NULL : cusparseGetErrorString(code);
}

const char *bench_cusparse_run(const bench_cusparse_t *c)
{
    const cusparseStatus_t code =
        cusparseSDDMM(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, c->op_b, one(c), c->a, c->b,
                      zero(c), c->mask, c->compute, CUSPARSE_SDDMM_ALG_DEFAULT, c->work);

    return code == CUSPARSE_STATUS_SUCCESS ? NULL : cusparseGetErrorString(code);
}

void bench_cusparse_close(bench_cusparse_t *c)
{
    /* Failures to destroy host structures leave nothing to be done. */
    if (c->mask != NULL) {
        (void)cusparseDestroySpMat(c->mask);
    }
    if (c->a != NULL) {
        (void)cusparseDestroyDnMat(c->a);
    }
    if (c->b != NULL) {
        (void)cusparseDestroyDnMat(c->b);
    }
    if (c->handle != NULL) {
        (void)cusparseDestroy(c->handle);
    }
    (void)cudaFree(c->work);
    memset(c, 0, sizeof *c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_peers.c  What other libraries make of the same product. */
#include <cublas_v2.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/cusparse/product_cuda.h"
#include "engine/tc/windows.h"
#include "ladder_case.h"
#include "spmm_dist/context.h"

enum { SIDE = 16 };

static const int64_t most_dense = (int64_t)1 << 30; /* values of A, for cuBLAS */

typedef struct {
    cusparseHandle_t     handle;
    cusparseSpMatDescr_t A;
    cusparseDnMatDescr_t B, C;
    void                *ptr, *col, *values, *work; /* device memory */
    int64_t              blocks;
} bsr_t;

static void close_bsr(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    bsr_t *f = state;

    (void)who;
    if (f == NULL) {
        return;
    }
    if (f->A != NULL) {
        (void)cusparseDestroySpMat(f->A);
    }
    if (f->B != NULL) {
        (void)cusparseDestroyDnMat(f->B);
    }
    if (f->C != NULL) {
        (void)cusparseDestroyDnMat(f->C);
    }
    if (f->handle != NULL) {
        (void)cusparseDestroy(f->handle);
    }
    c->o.device->ops->release(c->o.device, f->ptr);
    c->o.device->ops->release(c->o.device, f->col);
    c->o.device->ops->release(c->o.device, f->values);
    c->o.device->ops->release(c->o.device, f->work);
    spmmi_free(f);
}

/* Offsets and columns of blocks. */
static void list_blocks(const spmm_windows_t *windows, int32_t *ptr, int32_t *col)
{
    int32_t n = 0;

    ptr[0] = 0;
    for (int32_t w = 0; w < windows->n_windows; w++) {
        const int32_t *active = windows->col + windows->first[w];

        for (int32_t k = 0; k < windows->count[w]; k++) {
            if (n == ptr[w] || col[n - 1] != active[k] / SIDE) {
                col[n++] = active[k] / SIDE;
            }
        }
        ptr[w + 1] = n;
    }
}

/* Row-major blocks, the only order that CUSPARSE_SPMM_BSR_ALG1 takes. */
static void fill_blocks(const spmm_csr_t *block, const int32_t *ptr, const int32_t *col,
                        uint16_t *values)
{
    for (int32_t i = 0; i < block->n_rows; i++) {
        int32_t at = ptr[i / SIDE];

        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            const int32_t j = block->col_idx[k];

            while (col[at] != j / SIDE) {
                at++;
            }
            values[((int64_t)at * SIDE + i % SIDE) * SIDE + j % SIDE] =
                ((const uint16_t *)block->values)[k];
        }
    }
}

static spmm_status_t upload_bsr(const ladder_case_t *c, const spmm_windows_t *windows, bsr_t *f)
{
    const spmm_csr_t *block = c->o.block;
    const size_t      elem  = sizeof(uint16_t);
    int32_t          *ptr, *col;
    uint16_t         *values = NULL;
    spmm_status_t     status = SPMM_OK;

    SPMM_NEW(ptr, (int64_t)windows->n_windows + 1);
    SPMM_NEW(col, spmmi_csr_nnz(block));
    if (ptr != NULL && col != NULL) {
        list_blocks(windows, ptr, col);
        f->blocks = ptr[windows->n_windows];
        values    = spmmi_alloc_zero(f->blocks * SIDE * SIDE, elem);
    }
    if (values == NULL) {
        status = spmmi_fail_memory(&c->o.device->env->err, f->blocks * SIDE * SIDE, elem, "BSR");
    } else {
        fill_blocks(block, ptr, col, values);
        status = spmmi_device_upload(c->o.device, ptr,
                                     ((size_t)windows->n_windows + 1) * sizeof *ptr, &f->ptr);
    }
    if (status == SPMM_OK) {
        status = spmmi_device_upload(c->o.device, col, (size_t)f->blocks * sizeof *col, &f->col);
    }
    if (status == SPMM_OK) {
        status = spmmi_device_upload(c->o.device, values, (size_t)f->blocks * SIDE * SIDE * elem,
                                     &f->values);
    }
    spmmi_free(ptr);
    spmmi_free(col);
    spmmi_free(values);
    return status;
}

static spmm_status_t describe_bsr(const ladder_case_t *c, bsr_t *f)
{
    const spmm_device_t *device = c->o.device;
    const cudaDataType   cuda   = CUDA_R_16F;
    const float          one = 1.0f, zero = 0.0f;
    size_t               bytes = 0;

    SPMM_TRY(spmmi_cusparse_check(device, cusparseCreate(&f->handle), "cusparseCreate"));
    SPMM_TRY(spmmi_cusparse_check(device, cusparseSetStream(f->handle, (cudaStream_t)c->o.stream),
                                  "cusparseSetStream"));
    SPMM_TRY(spmmi_cusparse_check(
        device,
        cusparseCreateBsr(&f->A, spmmi_windows_count(c->o.block->n_rows, SIDE),
                          spmmi_windows_count(c->o.block->n_cols, SIDE), f->blocks, SIDE, SIDE,
                          f->ptr, f->col, f->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, cuda, CUSPARSE_ORDER_ROW),
        "cusparseCreateBsr"));
    SPMM_TRY(spmmi_cusparse_check(
        device,
        cusparseCreateDnMat(&f->B, (int64_t)spmmi_windows_count(c->o.block->n_cols, SIDE) * SIDE,
                            c->o.n, c->o.n, c->o.B, cuda, CUSPARSE_ORDER_ROW),
        "cusparseCreateDnMat"));
    SPMM_TRY(spmmi_cusparse_check(
        device,
        cusparseCreateDnMat(&f->C, (int64_t)spmmi_windows_count(c->o.block->n_rows, SIDE) * SIDE,
                            c->o.n, c->o.n, c->o.C, cuda, CUSPARSE_ORDER_ROW),
        "cusparseCreateDnMat"));
    SPMM_TRY(spmmi_cusparse_check(
        device,
        cusparseSpMM_bufferSize(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                CUSPARSE_OPERATION_NON_TRANSPOSE, &one, f->A, f->B, &zero, f->C,
                                CUDA_R_32F, CUSPARSE_SPMM_BSR_ALG1, &bytes),
        "cusparseSpMM_bufferSize"));
    return device->ops->alloc(device, bytes, &f->work);
}

static spmm_status_t open_bsr(const ladder_contender_t *who, const ladder_case_t *c, void **state)
{
    spmm_windows_t windows;
    spmm_status_t  status;
    bsr_t         *f;

    (void)who;
    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&c->o.device->env->err, 1, sizeof *f, "BSR");
    }
    *state = f;
    SPMM_TRY(spmmi_windows_create(c->o.device->env, c->o.block, SIDE, 0, &windows));
    status = upload_bsr(c, &windows, f);
    spmmi_windows_free(&windows);
    SPMM_TRY(status);
    return describe_bsr(c, f);
}

static spmm_status_t run_bsr(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    const bsr_t *f   = state;
    const float  one = 1.0f, zero = 0.0f;

    (void)who;
    return spmmi_cusparse_check(
        c->o.device,
        cusparseSpMM(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                     &one, f->A, f->B, &zero, f->C, CUDA_R_32F, CUSPARSE_SPMM_BSR_ALG1, f->work),
        "cusparseSpMM");
}

typedef struct {
    cublasHandle_t handle;
    void          *A; /* [n_rows x n_cols] FP16, row-major, device memory */
} dense_t;

static spmm_status_t check_blas(const ladder_case_t *c, cublasStatus_t code, const char *what)
{
    return code == CUBLAS_STATUS_SUCCESS
               ? SPMM_OK
               : spmmi_fail(&c->o.device->env->err, SPMM_ERR_DEVICE, "%s failed: %s", what,
                            cublasGetStatusString(code));
}

static void close_dense(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    dense_t *f = state;

    (void)who;
    if (f == NULL) {
        return;
    }
    if (f->handle != NULL) {
        (void)cublasDestroy(f->handle);
    }
    c->o.device->ops->release(c->o.device, f->A);
    spmmi_free(f);
}

static spmm_status_t open_dense(const ladder_contender_t *who, const ladder_case_t *c, void **state)
{
    const spmm_csr_t *block = c->o.block;
    const int64_t     size  = (int64_t)block->n_rows * block->n_cols;
    uint16_t         *A;
    dense_t          *f;
    spmm_status_t     status;

    (void)who;
    if (size > most_dense) {
        return spmmi_fail(&c->o.device->env->err, SPMM_ERR_UNSUPPORTED,
                          "cublas: a dense A of %lld values is more than %lld", (long long)size,
                          (long long)most_dense);
    }
    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&c->o.device->env->err, 1, sizeof *f, "cuBLAS");
    }
    *state = f;
    if (SPMM_NEW_ZERO(A, size) == NULL) {
        return spmmi_fail_memory(&c->o.device->env->err, size, sizeof *A, "a dense A");
    }
    for (int32_t i = 0; i < block->n_rows; i++) {
        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            A[(int64_t)i * block->n_cols + block->col_idx[k]] =
                ((const uint16_t *)block->values)[k];
        }
    }
    status = spmmi_device_upload(c->o.device, A, (size_t)size * sizeof *A, &f->A);
    spmmi_free(A);
    SPMM_TRY(status);
    SPMM_TRY(check_blas(c, cublasCreate(&f->handle), "cublasCreate"));
    return check_blas(c, cublasSetStream(f->handle, (cudaStream_t)c->o.stream), "cublasSetStream");
}

/* Row-major C = A B is column-major C^T = B^T A^T. */
static spmm_status_t run_dense(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    const dense_t *f   = state;
    const float    one = 1.0f, zero = 0.0f;
    const int      n = (int)c->o.n, rows = c->o.block->n_rows, cols = c->o.block->n_cols;

    (void)who;
    return check_blas(c,
                      cublasGemmEx(f->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, rows, cols, &one, c->o.B,
                                   CUDA_R_16F, n, f->A, CUDA_R_16F, cols, &zero, c->o.C, CUDA_R_16F,
                                   n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                      "cublasGemmEx");
}

const ladder_contender_t ladder_peers[] = {
    {"cusparse-bsr-16f", 0, open_bsr, run_bsr, close_bsr},
    {"cublas-dense", 0, open_dense, run_dense, close_dense},
};
const int ladder_n_peers = (int)(sizeof ladder_peers / sizeof ladder_peers[0]);

/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_peers.c  cuSPARSE on the same product in BSR. */
#include <string.h>

#include "base/alloc.h"
#include "engine/cusparse/product_cuda.h"
#include "engine/tc/windows.h"
#include "ladder_case.h"
#include "spmm_dist/context.h"

enum { SIDE = 16 };

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

const ladder_contender_t ladder_bsr = {"cusparse-bsr-16f", 0, open_bsr, run_bsr, close_bsr};

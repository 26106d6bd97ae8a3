/* SPDX-License-Identifier: Apache-2.0 */
/** @file fake_cusparse.c  What cusparse.h declares, and what the engine asks of a CUDA device. */
#include <cusparse.h>
#include <string.h>

#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"
#include "test_main.h"

struct fake_cusparse {
    int unused;
};
struct fake_descriptor {
    cudaDataType type;
};

fake_refusal_t fake_refusal;
int            fake_descriptors;

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream)
{
    memset(to, byte, bytes);
    return cudaSuccess;
}

spmm_status_t spmmi_cuda_use(const spmm_device_t *device)
{
    return SPMM_OK;
}

spmm_status_t spmmi_cuda_check(const spmm_device_t *device, cudaError_t code, const char *what)
{
    return SPMM_OK;
}

cudaError_t spmmi_cuda_merge_rows(const spmm_merge_args_t *args, cudaStream_t stream)
{
    return cudaSuccess;
}

const char *cusparseGetErrorString(cusparseStatus_t code)
{
    return code == CUSPARSE_STATUS_NOT_SUPPORTED ? "operation not supported" : "another failure";
}

static cusparseStatus_t make(struct fake_descriptor **descriptor, cudaDataType type)
{
    assert_non_null(SPMM_NEW_ZERO(*descriptor, 1));
    (*descriptor)->type = type;
    fake_descriptors++;
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t drop(struct fake_descriptor *descriptor)
{
    spmmi_free(descriptor);
    fake_descriptors--;
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t answer(int call, const struct fake_descriptor *ab,
                               const struct fake_descriptor *c, int algorithm)
{
    const fake_refusal_t *r = &fake_refusal;

    return (r->calls & call) != 0 && ab->type == r->ab && c->type == r->c &&
                   (r->algorithm == algorithm || (r->algorithm <= 0 && r->algorithm != -algorithm))
               ? r->code
               : CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
    static struct fake_cusparse one;

    *handle = &one;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version)
{
    *version = 12800;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream)
{
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *A, int64_t rows, int64_t cols, int64_t nnz,
                                   void *row_ptr, void *col_idx, void *values,
                                   cusparseIndexType_t row_type, cusparseIndexType_t col_type,
                                   cusparseIndexBase_t base, cudaDataType type)
{
    return make(A, type);
}

cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t A)
{
    return drop(A);
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *B, int64_t rows, int64_t cols,
                                     int64_t ld, void *values, cudaDataType type,
                                     cusparseOrder_t order)
{
    return make(B, type);
}

cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t B)
{
    return drop(B);
}

cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t B, void *values)
{
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *b, int64_t size, void *values,
                                     cudaDataType type)
{
    return make(b, type);
}

cusparseStatus_t cusparseDestroyDnVec(cusparseDnVecDescr_t b)
{
    return drop(b);
}

cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t b, void *values)
{
    return CUSPARSE_STATUS_SUCCESS;
}

FAKE_SPMM(cusparseSpMM_bufferSize, size_t *bytes)
{
    *bytes = 64;
    return answer(FAKE_SIZE, A, C, algorithm);
}

FAKE_SPMM(cusparseSpMM_preprocess, void *work)
{
    return answer(FAKE_PREPROCESS, A, C, algorithm);
}

FAKE_SPMM(cusparseSpMM, void *work)
{
    return answer(FAKE_PRODUCT, A, C, algorithm);
}

FAKE_SPMV(cusparseSpMV_bufferSize, size_t *bytes)
{
    *bytes = 64;
    return answer(FAKE_SIZE, A, c, (int)algorithm);
}

FAKE_SPMV(cusparseSpMV_preprocess, void *work)
{
    return answer(FAKE_PREPROCESS, A, c, (int)algorithm);
}

FAKE_SPMV(cusparseSpMV, void *work)
{
    return answer(FAKE_PRODUCT, A, c, (int)algorithm);
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file fake_cusparse.c  What cusparse.h declares, and what the engine asks of a CUDA device. */
#include <cusparse.h>

#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"
#include "test_main.h"

fake_refusal_t fake_refusal;
int            fake_descriptors;

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

cusparseStatus_t fake_make(fake_descriptor_t **descriptor, cudaDataType type)
{
    assert_non_null(SPMM_NEW_ZERO(*descriptor, 1));
    (*descriptor)->type = type;
    fake_descriptors++;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t fake_drop(fake_descriptor_t *descriptor)
{
    spmmi_free(descriptor);
    fake_descriptors--;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t fake_answer(int call, const fake_descriptor_t *ab, const fake_descriptor_t *c,
                             int algorithm)
{
    const fake_refusal_t *r = &fake_refusal;

    return (r->calls & call) != 0 && ab->type == r->ab && c->type == r->c &&
                   (r->algorithm == algorithm || (r->algorithm <= 0 && r->algorithm != -algorithm))
               ? r->code
               : CUSPARSE_STATUS_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "spmm_dist/context.h"
#include "spmm_dist/version.h"

const char *spmm_status_string(spmm_status_t status)
{
    switch (status) {
    case SPMM_OK:
        return "success";
    case SPMM_ERR_ARGUMENT:
        return "argument outside its documented range";
    case SPMM_ERR_MEMORY:
        return "out of host or device memory";
    case SPMM_ERR_UNSUPPORTED:
        return "not supported by this build or device";
    case SPMM_ERR_IO:
        return "file missing, malformed or not writable";
    case SPMM_ERR_DEVICE:
        return "CUDA call failed";
    case SPMM_ERR_COMM:
        return "MPI or NCCL call failed or timed out";
    case SPMM_ERR_RANGE:
        return "index or value does not fit its type";
    case SPMM_ERR_INTERNAL:
        return "internal check failed";
    }
    return "unknown status"; /* no default above: -Wswitch then reports a forgotten case */
}

const char *spmm_version(void)
{
    return SPMM_VERSION_STRING;
}

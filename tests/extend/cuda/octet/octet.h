/* SPDX-License-Identifier: Apache-2.0 */
/** @file octet.h  Launchers of the octet kernel, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_OCTET_H
#define SPMM_CUDA_OCTET_H

#include <cuda_runtime_api.h>

#include "engine/octet/args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernel on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_octet_preload(void);

/** C = alpha * A * B + beta * C on tensor cores, the arrays of A in device memory.  Entries that A
 *  does not store take no part, also where B holds Inf or NaN. */
cudaError_t spmmi_cuda_octet_mm(const spmm_octet_arrays_t *A, const spmm_tc_mm_args_t *args,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_OCTET_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file ablation.h  Kernels of bench_ablation, which the library does not have. */
#ifndef ABLATION_H
#define ABLATION_H

#include <cuda_runtime_api.h>

#include "engine/bittcf/args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a kernel leaves out. */
typedef enum {
    ABLATION_NOT_AHEAD,    /**< copies of lists and a tile of B and A ahead of their use */
    ABLATION_NOT_PERMUTED, /**< the order of lanes that L1 serves at its full rate */
    ABLATION_NARROW        /**< slices of more than 32 columns */
} ablation_kernel_t;

/** C = alpha * A * B + beta * C in TF32; B and C aligned to 16 bytes, n a multiple of 32. */
cudaError_t ablation_mm(ablation_kernel_t kernel, const spmm_bittcf_arrays_t *A,
                        const spmm_tc_work_t *work, const spmm_tc_mm_args_t *args,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* ABLATION_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file fixed.h  What fixed.c measures beside products: a kernel that does nothing. */
#ifndef BENCH_FIXED_H
#define BENCH_FIXED_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Enqueue one thread that ends at once. */
cudaError_t bench_fixed_empty(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* BENCH_FIXED_H */

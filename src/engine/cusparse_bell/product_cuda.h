/* SPDX-License-Identifier: Apache-2.0 */
/** @file product_cuda.h
 *  The format of engine cusparse-bell.  One format serves one execute at a time, in the order of
 *  its calls: copies of B and C are its own.
 */
#ifndef SPMM_ENGINE_CUSPARSE_BELL_CUDA_H
#define SPMM_ENGINE_CUSPARSE_BELL_CUDA_H

#include "engine/engine.h"

/* The operations of the engine. */
spmm_status_t spmmi_cusparse_bell_build(const spmm_csr_t *block, const spmm_problem_t *problem,
                                        const spmm_device_t *device, void **format);
spmm_status_t spmmi_cusparse_bell_refill(void *format, const void *values);
spmm_status_t spmmi_cusparse_bell_execute(void *format, const spmm_operands_t *x);
void spmmi_cusparse_bell_describe(const void *format, const spmm_pattern_t *pattern, FILE *out);
void spmmi_cusparse_bell_bytes(const void *format, size_t *host, size_t *device);
void spmmi_cusparse_bell_destroy(void *format);

#endif /* SPMM_ENGINE_CUSPARSE_BELL_CUDA_H */

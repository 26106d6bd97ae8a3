/* SPDX-License-Identifier: Apache-2.0 */
/** @file block_operands.h  B and C of products of one block by 16-bit engines, on host and device. */
#ifndef BENCH_BLOCK_OPERANDS_H
#define BENCH_BLOCK_OPERANDS_H

#include "device/device.h"
#include "matrix/csr.h"

typedef struct {
    void         *B, *C;           /**< device, owned */
    void         *host_B, *host_C; /**< owned; of C nothing is set */
    spmm_stream_t stream;
} bench_operands_t;

/** B [n_cols x n] random, C [c_rows x n], 16 bits an element.  @p o all zeros; close it after a failure,
 *  too. */
spmm_status_t bench_operands_open(const spmm_device_t *device, const spmm_csr_t *block, int64_t n,
                                  bench_operands_t *o);
void          bench_operands_close(const spmm_device_t *device, bench_operands_t *o);

#endif /* BENCH_BLOCK_OPERANDS_H */

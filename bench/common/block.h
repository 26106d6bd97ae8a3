/* SPDX-License-Identifier: Apache-2.0 */
/** @file block.h  A matrix as one block, for benchmarks below the public API. */
#ifndef BENCH_BLOCK_H
#define BENCH_BLOCK_H

#include "matrix/csr.h"
#include "partition/reorder/reorder.h"

/** The last part of a path; a spec as it is. */
const char *bench_block_name(const char *path);

/** Read the file, or generate it where @p path is a spec, on one rank, with values of @p type;
 *  *block is the caller's to free. */
spmm_status_t bench_block_read(spmm_env_t *env, const char *path, spmm_type_t type,
                               spmm_csr_t *block);

/** The rows of @p block in the order of @p method, into *permuted, the caller's to free.
 *  @param[out] seconds  NULL, or CPU seconds of all threads that the order took */
spmm_status_t bench_block_reorder(spmm_env_t *env, const spmm_reorderer_t *method,
                                  const spmm_csr_t *block, spmm_csr_t *permuted, double *seconds);

#endif /* BENCH_BLOCK_H */

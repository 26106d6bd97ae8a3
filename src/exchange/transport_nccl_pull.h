/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_nccl_pull.h */
#ifndef SPMM_EXCHANGE_TRANSPORT_NCCL_PULL_H
#define SPMM_EXCHANGE_TRANSPORT_NCCL_PULL_H

/** Most thread blocks of one exchange, a bound on the multiprocessors that it takes from the local
 *  product.  At least 1; for benchmarks. */
extern int spmmi_pull_max_blocks;

#endif /* SPMM_EXCHANGE_TRANSPORT_NCCL_PULL_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_nccl_push.h */
#ifndef SPMM_EXCHANGE_TRANSPORT_NCCL_PUSH_H
#define SPMM_EXCHANGE_TRANSPORT_NCCL_PUSH_H

/** Most thread blocks that send in one exchange, a bound on the multiprocessors that it takes from
 *  the local product; 112 at most count.  0: as many as the number of readers asks for.  For benchmarks. */
extern int spmmi_push_max_blocks;

/** Most bytes from rank to rank that travel word by word, SPMM_PUSH_QUICK at most; the same on all
 *  ranks.  For benchmarks and tests. */
extern int spmmi_push_quick_bytes;

#endif /* SPMM_EXCHANGE_TRANSPORT_NCCL_PUSH_H */

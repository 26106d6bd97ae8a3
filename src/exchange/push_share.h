/* SPDX-License-Identifier: Apache-2.0 */
/** @file push_share.h
 *  From the rows of one exchange to what the thread blocks of push.cu do, by arithmetic alone: no
 *  GPU and no NCCL.
 */
#ifndef SPMM_EXCHANGE_PUSH_SHARE_H
#define SPMM_EXCHANGE_PUSH_SHARE_H

#include "cuda/exchange/push_args.h"
#include "exchange/transport.h"

/** Bytes at the head of a window: a slot for each rank. */
size_t spmmi_push_slots_bytes(int n_ranks);
/** Likewise with the room for low-latency rows that follows them; rows of large exchanges come
 *  behind. */
size_t spmmi_push_head_bytes(int n_ranks);

/** Do @p count rows from rank to rank travel word by word?  The same on both ranks. */
bool spmmi_push_is_low_latency(const spmm_push_limits_t *limits, int64_t count, size_t row_bytes);

/** Fill in to, from, how many they are, their blocks and words, and row_bytes.
 *  @param[in]     first  [rank] row of the target of that rank that is the first of this one's
 *  @param[in,out] args   zeroed */
void spmmi_push_share(const spmm_push_limits_t *limits, const spmm_exchange_side_t *source,
                      const spmm_exchange_side_t *target, const int64_t *first, size_t row_bytes,
                      spmm_push_args_t *args);

#endif /* SPMM_EXCHANGE_PUSH_SHARE_H */

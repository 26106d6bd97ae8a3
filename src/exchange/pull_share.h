/* SPDX-License-Identifier: Apache-2.0 */
/** @file pull_share.h
 *  From the rows of one exchange to what the thread blocks of pull.cu do, by arithmetic alone: no GPU
 *  and no NCCL.
 */
#ifndef SPMM_EXCHANGE_PULL_SHARE_H
#define SPMM_EXCHANGE_PULL_SHARE_H

#include "cuda/exchange/pull_args.h"
#include "exchange/transport.h"

/** Fill in from and to but for their windows, how many they are, their blocks, and row_bytes.
 *  @param[in]     first  [rank] row among the packed ones of that rank that is the first for this one
 *  @param[in,out] args   zeroed */
void spmmi_pull_share(const spmm_exchange_side_t *source, const spmm_exchange_side_t *target,
                      const int64_t *first, size_t row_bytes, spmm_pull_args_t *args);

#endif /* SPMM_EXCHANGE_PULL_SHARE_H */

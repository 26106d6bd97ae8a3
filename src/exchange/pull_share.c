/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/pull_share.h"

#include "exchange/transport_nccl_pull.h"

int spmmi_pull_max_blocks = 64;

/* Thread blocks for each source, by its share of the rows. */
static void share_blocks(int64_t n_rows, spmm_pull_args_t *args)
{
    enum { BLOCK_BYTES = 32 * 1024 };
    const int64_t full  = n_rows * args->row_bytes / BLOCK_BYTES + 1;
    const int64_t wants = full < spmmi_pull_max_blocks ? full : spmmi_pull_max_blocks;

    for (int p = 0; p < args->n_from; p++) {
        spmm_pull_source_t *from  = &args->from[p];
        const int64_t       share = n_rows == 0 ? 0 : (wants * from->count + n_rows / 2) / n_rows;

        from->first_block = args->n_blocks;
        from->n_blocks    = share < 1 ? 1 : (int32_t)share;
        args->n_blocks += from->n_blocks;
    }
    if (args->n_blocks == 0) { /* peers only read here */
        args->n_blocks = 1;
    }
}

void spmmi_pull_share(const spmm_exchange_side_t *source, const spmm_exchange_side_t *target,
                      const int64_t *first, size_t row_bytes, spmm_pull_args_t *args)
{
    args->row_bytes = (int64_t)row_bytes;
    args->n_from    = target->n_peers;
    for (int p = 0; p < target->n_peers; p++) {
        const int rank = target->peer[p];

        args->from[p] = (spmm_pull_source_t){.begin = target->ptr[p],
                                             .count = target->ptr[p + 1] - target->ptr[p],
                                             .first = first[rank],
                                             .rank  = rank};
    }
    args->n_to = source->n_peers;
    for (int p = 0; p < source->n_peers; p++) {
        args->to_rank[p] = source->peer[p];
    }
    share_blocks(target->ptr[target->n_peers], args);
}

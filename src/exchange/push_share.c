/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/push_share.h"

size_t spmmi_push_slots_bytes(int n_ranks)
{
    const size_t bytes = (size_t)n_ranks * sizeof(spmm_push_slot_t);

    return (bytes + SPMM_PEER_ALIGN - 1) / SPMM_PEER_ALIGN * SPMM_PEER_ALIGN;
}

size_t spmmi_push_head_bytes(int n_ranks)
{
    return spmmi_push_slots_bytes(n_ranks) + 2 * (size_t)n_ranks * 2 * SPMM_PUSH_LOW_LATENCY;
}

static int most_low_latency_bytes(const spmm_push_limits_t *limits)
{
    const int most = limits->low_latency_bytes;

    return most < 0 ? 0 : most == 0 || most > SPMM_PUSH_LOW_LATENCY ? SPMM_PUSH_LOW_LATENCY : most;
}

/* No rows at all are low-latency: nobody waits for them. */
bool spmmi_push_is_low_latency(const spmm_push_limits_t *limits, int64_t count, size_t row_bytes)
{
    const int most = most_low_latency_bytes(limits);

    return count == 0 || (row_bytes % SPMM_PUSH_UNIT == 0 && row_bytes <= (size_t)most &&
                          count <= most / (int64_t)row_bytes);
}

static int64_t count_of(const spmm_exchange_side_t *side, int p)
{
    return side->ptr[p + 1] - side->ptr[p];
}

/* A block of 16 KiB at most has all units of its threads under way at a time; blocks of 4 KiB, as
 * long as those of all peers are few, take 1 to 2 us less. */
static int32_t low_latency_blocks(int64_t count, size_t row_bytes, int n_peers)
{
    enum { MOST_BYTES = 16 * 1024, FEW_BYTES = 4 * 1024, FEW = 64 };
    const int64_t bytes = count * (int64_t)row_bytes;
    const int64_t least = 1 + bytes / (MOST_BYTES + 1), most = 1 + bytes / (FEW_BYTES + 1);
    const int64_t share = FEW / n_peers;

    return (int32_t)(share < least ? least : share < most ? share : most);
}

static void name_owners(const spmm_push_limits_t *limits, const spmm_exchange_side_t *target,
                        size_t row_bytes, spmm_push_args_t *args)
{
    args->n_from         = target->n_peers;
    args->first_unpacker = args->n_blocks;
    for (int p = 0; p < target->n_peers; p++) {
        const int64_t count = count_of(target, p);
        const bool    fast  = spmmi_push_is_low_latency(limits, count, row_bytes);

        args->from[p] = (spmm_push_owner_t){
            .begin       = target->ptr[p],
            .count       = count,
            .rank        = target->peer[p],
            .first_block = args->n_blocks,
            .n_blocks    = fast ? low_latency_blocks(count, row_bytes, target->n_peers) : 0};
        args->n_blocks += args->from[p].n_blocks;
    }
}

/* Blocks for large readers, all in all.  To one of two H200 32 are as fast as 112; four GPUs take
 * from each other's memory at the same time, loads take longer, and more have to
 * be on their way. */
static int64_t most_blocks(const spmm_push_limits_t *limits, int readers)
{
    /* Each share is rounded up by less than 1: all fit their words. */
    enum { FEW = 32, MANY = 64, MOST = SPMM_PUSH_BLOCKS - SPMM_PEER_RANKS };
    const int most = limits->max_blocks > 0 ? limits->max_blocks : readers == 1 ? FEW : MANY;

    return most < MOST ? most : MOST;
}

/* Blocks of @p most that send to a large reader at first: by its share of the rows of all of these.
 * Each has a tile to send, without which the reader does not go on: a block that is late would else
 * wait for the word of an exchange that is over. */
static int32_t large_blocks(int64_t count, int64_t all, size_t row_bytes, int64_t most)
{
    enum { BLOCK_BYTES = SPMM_PUSH_THREADS / 32 * SPMM_PUSH_TILE };
    const int64_t full  = all * (int64_t)row_bytes / BLOCK_BYTES + 1;
    const int64_t tiled = (count * (int64_t)row_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
    const int64_t wants = full < most ? full : most;
    const int64_t share = (wants * count + all / 2) / all;

    return (int32_t)(share < 1 ? 1 : share < tiled ? share : tiled);
}

static void name_readers(const spmm_push_limits_t *limits, const spmm_exchange_side_t *source,
                         const int64_t *first, size_t row_bytes, spmm_push_args_t *args)
{
    int64_t large = 0, most;
    int32_t words = 0, readers = 0;

    args->n_to = source->n_peers;
    for (int p = 0; p < source->n_peers; p++) {
        const int64_t count = count_of(source, p);

        large += spmmi_push_is_low_latency(limits, count, row_bytes) ? 0 : count;
        readers += !spmmi_push_is_low_latency(limits, count, row_bytes);
    }
    most = most_blocks(limits, readers);
    for (int p = 0; p < source->n_peers; p++) {
        const int64_t count = count_of(source, p);
        const int     rank  = source->peer[p];
        const bool    fast  = spmmi_push_is_low_latency(limits, count, row_bytes);

        args->to[p] = (spmm_push_reader_t){
            .begin          = source->ptr[p],
            .count          = count,
            .first          = first[rank],
            .rank           = rank,
            .first_block    = args->n_blocks,
            .n_blocks       = fast ? low_latency_blocks(count, row_bytes, source->n_peers)
                                   : large_blocks(count, large, row_bytes, most),
            .first_word     = words,
            .is_low_latency = fast};
        words += fast ? 0 : args->to[p].n_blocks;
        args->n_blocks += args->to[p].n_blocks;
    }
}

void spmmi_push_share(const spmm_push_limits_t *limits, const spmm_exchange_side_t *source,
                      const spmm_exchange_side_t *target, const int64_t *first, size_t row_bytes,
                      spmm_push_args_t *args)
{
    args->row_bytes = (int64_t)row_bytes;
    args->n_blocks  = 1; /* tells the others and waits */
    name_readers(limits, source, first, row_bytes, args);
    name_owners(limits, target, row_bytes, args);
}

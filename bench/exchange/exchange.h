/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange.h  What the exchanges that bench_exchange times share. */
#ifndef SPMM_BENCH_EXCHANGE_H
#define SPMM_BENCH_EXCHANGE_H

#include <nccl.h>

#include "exchange/transport.h"

enum { ROW_BYTES = 512, ELEMENT = 4, RUNS = 30, POOL = 1 << 20 };

/** What the variants share. */
typedef struct {
    spmm_env_t              env;
    spmm_device_t           device;
    spmm_transport_shared_t shared;
    spmm_halo_t             halo;
    spmm_exchange_t         exchange;
    void                   *state;
    void                   *push_state; /**< NULL where nccl-push does not work */
    bool                    pushes;
    void                   *pool;     /**< POOL rows that packing picks from */
    int32_t                *send_row; /**< device */
    ncclComm_t              bare;
    spmm_stream_t           stream;
    spmm_event_t           *from, *to;
    bool                    is_wrong; /**< rows arrived that were not those sent */
} bench_t;

/** End the program, with all ranks, when @p status is not SPMM_OK. */
void bench_must(const bench_t *b, spmm_status_t status, const char *what);
void bench_must_nccl(const bench_t *b, ncclResult_t code, const char *what);

/** All to all, @p rows to and from each peer, random rows of the pool. */
void bench_make_halo(bench_t *b, int64_t rows);
void bench_free_graph(bench_t *b);
/** The row of its pool that @p rank sends as its @p i-th. */
int32_t bench_sent_row(int rank, int64_t i);

/** One exchange each, enqueued on the stream. */
void bench_run_bare(bench_t *b); /**< of the mirror as it is; likewise bench_run_transport() */
void bench_run_transport(bench_t *b);
void bench_run_packed(bench_t *b);
void bench_run_push(bench_t *b);

/** Median seconds of one of @p chain exchanges in a row, maximum over ranks. */
double bench_time(bench_t *b, void (*run)(bench_t *), int chain);

/* exchange_check.c */

/** What every rank can tell of each row, into the pool. */
void bench_fill_pool(bench_t *b);
/** One more exchange, over a @p target overwritten before, compared with what was sent: rows that
 *  differ are said by rank 0 and leave is_wrong set on all.  Collective. */
void bench_compare(bench_t *b, void (*run)(bench_t *), void *target, const char *what);

#endif /* SPMM_BENCH_EXCHANGE_H */

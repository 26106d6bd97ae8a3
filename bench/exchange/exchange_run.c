/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "tool_common.h"

enum { WARM = 5 };

static void stop(const bench_t *b, const char *what)
{
    (void)fprintf(stderr, "bench_exchange: %s: %s\n", what, b->env.err.text);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

void bench_must(const bench_t *b, spmm_status_t status, const char *what)
{
    if (status != SPMM_OK) {
        stop(b, what);
    }
}

void bench_must_nccl(const bench_t *b, ncclResult_t code, const char *what)
{
    if (code != ncclSuccess) {
        (void)fprintf(stderr, "bench_exchange: %s\n", ncclGetErrorString(code));
        stop(b, what);
    }
}

void bench_make_halo(bench_t *b, int64_t rows)
{
    const int peers = b->env.size - 1;
    int       k     = 0;

    b->halo = (spmm_halo_t){.n_send_peers = peers,
                            .n_recv_peers = peers,
                            .send_peer    = calloc((size_t)peers + 1, sizeof(int)),
                            .recv_peer    = calloc((size_t)peers + 1, sizeof(int)),
                            .send_ptr     = calloc((size_t)peers + 1, sizeof(int64_t)),
                            .recv_ptr     = calloc((size_t)peers + 1, sizeof(int64_t)),
                            .send_row     = calloc((size_t)(rows * peers) + 1, sizeof(int32_t))};
    for (int p = 0; p < b->env.size; p++) {
        if (p != b->env.rank) {
            b->halo.send_peer[k] = b->halo.recv_peer[k] = p;
            k++;
            b->halo.send_ptr[k] = b->halo.recv_ptr[k] = rows * k;
        }
    }
    for (int64_t i = 0; i < rows * peers; i++) {
        b->halo.send_row[i] = bench_sent_row(b->env.rank, i);
    }
}

int32_t bench_sent_row(int rank, int64_t i)
{
    return (int32_t)spmmi_below(spmmi_hash2(1, rank, i), POOL);
}

void bench_free_graph(bench_t *b)
{
    free(b->halo.send_peer);
    free(b->halo.recv_peer);
    free(b->halo.send_ptr);
    free(b->halo.recv_ptr);
    free(b->halo.send_row);
}

void bench_run_bare(bench_t *b)
{
    const cudaStream_t stream = (cudaStream_t)b->stream;
    const spmm_halo_t *h      = &b->halo;

    bench_must_nccl(b, ncclGroupStart(), "ncclGroupStart");
    for (int k = 0; k < h->n_send_peers; k++) {
        const size_t at    = (size_t)h->send_ptr[k] * ROW_BYTES;
        const size_t bytes = (size_t)(h->send_ptr[k + 1] - h->send_ptr[k]) * ROW_BYTES;

        bench_must_nccl(b,
                        ncclSend((char *)b->exchange.mirror + at, bytes, ncclInt8, h->send_peer[k],
                                 b->bare, stream),
                        "ncclSend");
        bench_must_nccl(b,
                        ncclRecv((char *)b->exchange.halo + at, bytes, ncclInt8, h->recv_peer[k],
                                 b->bare, stream),
                        "ncclRecv");
    }
    bench_must_nccl(b, ncclGroupEnd(), "ncclGroupEnd");
}

void bench_run_transport(bench_t *b)
{
    const spmm_transport_ops_t *nccl = spmmi_transport_find("nccl");

    bench_must(b, nccl->begin(b->state, &b->exchange, b->stream), "begin");
    bench_must(b, nccl->end(b->state, &b->exchange, b->stream), "end");
}

void bench_run_push(bench_t *b)
{
    const spmm_transport_ops_t *push = spmmi_transport_find("nccl-push");
    spmm_exchange_t             x    = b->exchange;

    x.in_place = b->pool;
    x.ld_bytes = ROW_BYTES;
    x.halo     = push->target_rows(b->push_state);
    bench_must(b, push->begin(b->push_state, &x, b->stream), "begin");
    bench_must(b, push->end(b->push_state, &x, b->stream), "end");
}

static void pack(bench_t *b, void *to)
{
    const spmm_gather_args_t args = {.src        = b->pool,
                                     .ld_src     = ROW_BYTES / ELEMENT,
                                     .src_layout = SPMM_LAYOUT_ROW,
                                     .row        = b->send_row,
                                     .n_rows     = spmmi_halo_send_rows(&b->halo),
                                     .n          = ROW_BYTES / ELEMENT,
                                     .elem_size  = ELEMENT,
                                     .dst        = to};

    bench_must(b, b->device.ops->gather_rows(&b->device, &args, b->stream), "gather_rows");
}

void bench_run_packed(bench_t *b)
{
    pack(b, b->exchange.mirror);
    bench_run_transport(b);
}

double bench_time(bench_t *b, void (*run)(bench_t *), int chain)
{
    double seconds[RUNS], median, worst;

    for (int k = -WARM; k < RUNS; k++) {
        MPI_Barrier(b->env.comm);
        bench_must(b, b->device.ops->event_record(&b->device, b->from, b->stream), "event");
        for (int i = 0; i < chain; i++) {
            run(b);
        }
        bench_must(b, b->device.ops->event_record(&b->device, b->to, b->stream), "event");
        bench_must(
            b, b->device.ops->event_elapsed(&b->device, b->from, b->to, &seconds[k < 0 ? 0 : k]),
            "event");
    }
    median = tool_median(seconds, RUNS);
    MPI_Allreduce(&median, &worst, 1, MPI_DOUBLE, MPI_MAX, b->env.comm);
    return worst / chain;
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange_check.c
 *  Are the rows that arrive those that were sent?  Each word of a pool says its rank and place, and
 *  every rank knows which rows each other one sends it.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "exchange.h"

enum { WORDS = ROW_BYTES / ELEMENT };

static uint32_t word_of(int rank, int64_t row, int k)
{
    return (uint32_t)rank * 0x9e3779b1u ^ (uint32_t)(row * WORDS + k);
}

static void must_cuda(const bench_t *b, cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        (void)fprintf(stderr, "bench_exchange: %s\n", cudaGetErrorString(code));
        bench_must(b, SPMM_ERR_DEVICE, what);
    }
}

static uint32_t *host_rows(const bench_t *b, int64_t rows)
{
    uint32_t *host = malloc(((size_t)rows * WORDS + 1) * sizeof *host);

    bench_must(b, host == NULL ? SPMM_ERR_MEMORY : SPMM_OK, "rows on the host");
    return host;
}

void bench_fill_pool(bench_t *b)
{
    uint32_t *host = host_rows(b, POOL);

    for (int64_t i = 0; i < POOL; i++) {
        for (int k = 0; k < WORDS; k++) {
            host[i * WORDS + k] = word_of(b->env.rank, i, k);
        }
    }
    must_cuda(b, cudaMemcpy(b->pool, host, (size_t)POOL * ROW_BYTES, cudaMemcpyHostToDevice),
              "the pool");
    free(host);
}

/* Rows of the halo that are not what their sender has. */
static int64_t count_wrong(const bench_t *b, const uint32_t *host)
{
    const spmm_halo_t *h     = &b->halo;
    int64_t            wrong = 0;

    for (int p = 0; p < h->n_recv_peers; p++) {
        const int     from  = h->recv_peer[p];
        const int64_t first = h->recv_ptr[p], rows = h->recv_ptr[p + 1] - first;
        /* The sender's peers ascend and leave out itself. */
        const int64_t sent = rows * (b->env.rank < from ? b->env.rank : b->env.rank - 1);

        for (int64_t i = 0; i < rows; i++) {
            const uint32_t *row  = host + (first + i) * WORDS;
            const int64_t   want = bench_sent_row(from, sent + i);
            bool            same = true;

            for (int k = 0; k < WORDS; k++) {
                same = same && row[k] == word_of(from, want, k);
            }
            wrong += !same;
        }
    }
    return wrong;
}

void bench_compare(bench_t *b, void (*run)(bench_t *), void *target, const char *what)
{
    const int64_t rows  = b->halo.recv_ptr[b->halo.n_recv_peers];
    const size_t  bytes = (size_t)rows * ROW_BYTES;
    uint32_t     *host  = host_rows(b, rows);
    int64_t       wrong;

    /* No rank may send before the target of every other one is overwritten. */
    must_cuda(b, cudaDeviceSynchronize(), what);
    MPI_Barrier(b->env.comm);
    must_cuda(b, cudaMemset(target, 0xff, bytes), what);
    must_cuda(b, cudaDeviceSynchronize(), what);
    MPI_Barrier(b->env.comm);
    run(b);
    bench_must(b, b->device.ops->stream_sync(&b->device, b->stream), what);
    must_cuda(b, cudaMemcpy(host, target, bytes, cudaMemcpyDeviceToHost), what);
    wrong = count_wrong(b, host);
    free(host);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, b->env.comm);
    if (wrong > 0 && b->env.rank == 0) {
        (void)fprintf(
            stderr, "bench_exchange: %s, %lld bytes to each peer: %lld rows arrived wrong\n", what,
            (long long)(b->halo.n_recv_peers > 0 ? b->halo.recv_ptr[1] * ROW_BYTES : 0),
            (long long)wrong);
    }
    b->is_wrong = b->is_wrong || wrong > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange.c
 *  How much of NCCL's own rate is left of the library's exchange, and what do loads and stores over
 *  NVLink gain?  Every rank sends the same number of 512-byte rows to every other rank: by bare
 *  ncclSend and ncclRecv of ready buffers, by transport nccl, with the packing of scattered rows
 *  before it, by nccl-pull, packed likewise or with the scattered rows read where they lie, and by
 *  nccl-push, which packs on the way.  One table, rank 0:
 *
 *      mpirun -n 4 bench_exchange [FILE.tsv [BLOCKS [QUICK]]]
 *          BLOCKS: most that move rows in the kernels of nccl-pull and nccl-push
 *          QUICK: bytes from rank to rank up to which nccl-push sends them word by word
 *
 *  Device time, median of RUNS after warm-up, maximum over ranks.
 */
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "exchange/transport.h"
#include "exchange/transport_nccl_pull.h"
#include "exchange/transport_nccl_push.h"

enum { ROW_BYTES = 512, ELEMENT = 4, WARM = 5, RUNS = 30, CHAIN = 16, POOL = 1 << 20 };

/** What the variants share. */
typedef struct {
    spmm_env_t              env;
    spmm_device_t           device;
    spmm_transport_shared_t shared;
    spmm_halo_t             halo;
    spmm_exchange_t         exchange;
    void                   *state;
    void                   *pull_state; /**< NULL where nccl-pull does not work */
    void                   *push_state; /**< likewise */
    void         *pool; /**< POOL rows that packing picks from; peers can read them then */
    bool          pulls;
    int32_t      *send_row; /**< device */
    ncclComm_t    bare;
    spmm_stream_t stream;
    spmm_event_t *from, *to;
} bench_t;

static void stop(const bench_t *b, const char *what)
{
    (void)fprintf(stderr, "bench_exchange: %s: %s\n", what, b->env.err.text);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

static void must(const bench_t *b, spmm_status_t status, const char *what)
{
    if (status != SPMM_OK) {
        stop(b, what);
    }
}

static void must_nccl(const bench_t *b, ncclResult_t code, const char *what)
{
    if (code != ncclSuccess) {
        (void)fprintf(stderr, "bench_exchange: %s\n", ncclGetErrorString(code));
        stop(b, what);
    }
}

/* All to all, @p rows to and from each peer, random rows of the pool. */
static void make_graph(bench_t *b, int64_t rows)
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
        b->halo.send_row[i] = (int32_t)spmm_below(spmm_hash2(1, b->env.rank, i), POOL);
    }
}

static void free_graph(bench_t *b)
{
    free(b->halo.send_peer);
    free(b->halo.recv_peer);
    free(b->halo.send_ptr);
    free(b->halo.recv_ptr);
    free(b->halo.send_row);
}

static void run_bare(bench_t *b)
{
    const cudaStream_t stream = (cudaStream_t)b->stream;
    const spmm_halo_t *h      = &b->halo;

    must_nccl(b, ncclGroupStart(), "ncclGroupStart");
    for (int k = 0; k < h->n_send_peers; k++) {
        const size_t at    = (size_t)h->send_ptr[k] * ROW_BYTES;
        const size_t bytes = (size_t)(h->send_ptr[k + 1] - h->send_ptr[k]) * ROW_BYTES;

        must_nccl(b,
                  ncclSend((char *)b->exchange.mirror + at, bytes, ncclInt8, h->send_peer[k],
                           b->bare, stream),
                  "ncclSend");
        must_nccl(b,
                  ncclRecv((char *)b->exchange.halo + at, bytes, ncclInt8, h->recv_peer[k], b->bare,
                           stream),
                  "ncclRecv");
    }
    must_nccl(b, ncclGroupEnd(), "ncclGroupEnd");
}

static void run_transport(bench_t *b)
{
    const spmm_transport_ops_t *nccl = spmm_transport_find("nccl");

    must(b, nccl->begin(b->state, &b->exchange, b->stream), "begin");
    must(b, nccl->end(b->state, &b->exchange, b->stream), "end");
}

static void run_pull(bench_t *b)
{
    const spmm_transport_ops_t *pull = spmm_transport_find("nccl-pull");
    spmm_exchange_t             x    = b->exchange;

    x.in_place = b->pool;
    x.ld_bytes = ROW_BYTES;
    must(b, pull->begin(b->pull_state, &x, b->stream), "begin");
    must(b, pull->end(b->pull_state, &x, b->stream), "end");
}

static void run_push(bench_t *b)
{
    const spmm_transport_ops_t *push = spmm_transport_find("nccl-push");
    spmm_exchange_t             x    = b->exchange;

    x.in_place = b->pool;
    x.ld_bytes = ROW_BYTES;
    x.halo     = push->target_rows(b->push_state);
    must(b, push->begin(b->push_state, &x, b->stream), "begin");
    must(b, push->end(b->push_state, &x, b->stream), "end");
}

static void pack(bench_t *b, void *to)
{
    const spmm_gather_args_t args = {.src        = b->pool,
                                     .ld_src     = ROW_BYTES / ELEMENT,
                                     .src_layout = SPMM_LAYOUT_ROW,
                                     .row        = b->send_row,
                                     .n_rows     = spmm_halo_send_rows(&b->halo),
                                     .n          = ROW_BYTES / ELEMENT,
                                     .elem_size  = ELEMENT,
                                     .dst        = to};

    must(b, b->device.ops->gather_rows(&b->device, &args, b->stream), "gather_rows");
}

static void run_packed(bench_t *b)
{
    pack(b, b->exchange.mirror);
    run_transport(b);
}

static void run_packed_pull(bench_t *b)
{
    const spmm_transport_ops_t *pull = spmm_transport_find("nccl-pull");
    spmm_exchange_t             x    = b->exchange;

    x.mirror = pull->rows(b->pull_state);
    pack(b, x.mirror);
    must(b, pull->begin(b->pull_state, &x, b->stream), "begin");
    must(b, pull->end(b->pull_state, &x, b->stream), "end");
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median seconds of one of @p chain exchanges in a row, maximum over ranks. */
static double time_chain(bench_t *b, void (*run)(bench_t *), int chain)
{
    double seconds[RUNS], worst;

    for (int k = -WARM; k < RUNS; k++) {
        MPI_Barrier(b->env.comm);
        must(b, b->device.ops->event_record(&b->device, b->from, b->stream), "event");
        for (int i = 0; i < chain; i++) {
            run(b);
        }
        must(b, b->device.ops->event_record(&b->device, b->to, b->stream), "event");
        must(b, b->device.ops->event_elapsed(&b->device, b->from, b->to, &seconds[k < 0 ? 0 : k]),
             "event");
    }
    qsort(seconds, RUNS, sizeof seconds[0], by_value);
    MPI_Allreduce(&seconds[RUNS / 2], &worst, 1, MPI_DOUBLE, MPI_MAX, b->env.comm);
    return worst / chain;
}

static double time_it(bench_t *b, void (*run)(bench_t *))
{
    return time_chain(b, run, 1);
}

/* Times of nccl-pull and nccl-push, or nothing where they do not work. */
static void bench_pull(bench_t *b, double packed, size_t all, FILE *out)
{
    double pull, packed_pull, many, many_pull, push, many_push;

    if (b->pull_state == NULL) {
        if (b->env.rank == 0) {
            (void)fprintf(out, "\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\n");
        }
        return;
    }
    pull        = time_it(b, run_pull);
    packed_pull = time_it(b, run_packed_pull);
    many        = time_chain(b, run_packed, CHAIN);
    many_pull   = time_chain(b, run_pull, CHAIN);
    push        = time_it(b, run_push);
    many_push   = time_chain(b, run_push, CHAIN);
    must(b, spmm_transport_check(&b->shared), "nccl-pull");
    if (b->env.rank == 0) {
        (void)fprintf(out, "\t%.2f\t%.2f\t%.3f\t%.3f\t%.1f\t%.2f\t%.2f\t%.3f", pull * 1e6,
                      packed_pull * 1e6, packed / pull, packed / packed_pull,
                      (double)all / pull * 1e-9, many * 1e6, many_pull * 1e6, many / many_pull);
        (void)fprintf(out, "\t%.2f\t%.3f\t%.1f\t%.2f\t%.3f\n", push * 1e6, packed / push,
                      (double)all / push * 1e-9, many_push * 1e6, many / many_push);
    }
}

static void bench_size(bench_t *b, int64_t rows, FILE *out)
{
    const spmm_device_ops_t    *ops  = b->device.ops;
    const spmm_transport_ops_t *nccl = spmm_transport_find("nccl");
    const spmm_transport_ops_t *pull = spmm_transport_find("nccl-pull");
    const spmm_transport_ops_t *push = spmm_transport_find("nccl-push");
    const size_t                all  = (size_t)(rows * (b->env.size - 1)) * ROW_BYTES;
    void                       *list = NULL;
    double                      bare, transport, packed;

    make_graph(b, rows);
    must(b,
         spmm_device_upload(&b->device, b->halo.send_row,
                            (size_t)spmm_halo_send_rows(&b->halo) * sizeof(int32_t), &list),
         "upload");
    b->send_row = list;
    b->exchange = (spmm_exchange_t){.direction = SPMM_HALO_FORWARD, .row_bytes = ROW_BYTES};
    must(b, ops->alloc(&b->device, all, &b->exchange.mirror), "alloc");
    must(b, ops->alloc(&b->device, all, &b->exchange.halo), "alloc");
    must(b, nccl->create(&b->shared, &b->halo, ROW_BYTES, &b->state), "create");
    b->pull_state = NULL;
    if (b->pulls) {
        must(b, pull->create(&b->shared, &b->halo, ROW_BYTES, &b->pull_state), "create");
        must(b, push->create(&b->shared, &b->halo, ROW_BYTES, &b->push_state), "create");
    }
    bare      = time_it(b, run_bare);
    transport = time_it(b, run_transport);
    packed    = time_it(b, run_packed);
    if (b->env.rank == 0) {
        (void)fprintf(out, "%d\t%lld\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\t%.1f\t%.1f", b->env.size,
                      (long long)(rows * ROW_BYTES), bare * 1e6, transport * 1e6, packed * 1e6,
                      bare / transport, bare / packed, (double)all / bare * 1e-9,
                      (double)all / transport * 1e-9);
    }
    bench_pull(b, packed, all, out);
    (void)fflush(out);
    nccl->destroy(b->state);
    if (b->pulls) {
        pull->destroy(b->pull_state);
        push->destroy(b->push_state);
    }
    ops->release(&b->device, b->exchange.mirror);
    ops->release(&b->device, b->exchange.halo);
    ops->release(&b->device, b->send_row);
    free_graph(b);
}

/* The pool where peers can read it, if they can at all. */
static void open_pool(bench_t *b)
{
    const spmm_transport_ops_t *pull  = spmm_transport_find("nccl-pull");
    const size_t                bytes = (size_t)POOL * ROW_BYTES;
    char                        why[SPMM_TRANSPORT_WHY];

    if (pull->supports(&b->shared, why) && b->env.size > 1) {
        must(b, pull->alloc_home(&b->shared, bytes, &b->pool), "nccl-pull");
    } else if (b->env.rank == 0) {
        (void)fprintf(stderr, "bench_exchange: transport nccl-pull %s\n", why);
    }
    b->pulls = b->pool != NULL;
    if (!b->pulls) {
        must(b, b->device.ops->alloc(&b->device, bytes, &b->pool), "pool");
    }
}

static void open_bench(bench_t *b)
{
    char         why[SPMM_TRANSPORT_WHY];
    ncclUniqueId id;

    MPI_Comm_dup(MPI_COMM_WORLD, &b->env.comm);
    MPI_Comm_rank(b->env.comm, &b->env.rank);
    MPI_Comm_size(b->env.comm, &b->env.size);
    must(b, spmm_device_open(&b->env, SPMM_DEVICE_CUDA, NULL, &b->device), "device");
    b->shared = (spmm_transport_shared_t){.env = &b->env, .device = &b->device};
    if (!spmm_transport_find("nccl")->supports(&b->shared, why)) {
        (void)fprintf(stderr, "bench_exchange: transport nccl %s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    if (b->env.rank == 0) {
        must_nccl(b, ncclGetUniqueId(&id), "ncclGetUniqueId");
    }
    MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, b->env.comm);
    must_nccl(b, ncclCommInitRank(&b->bare, b->env.size, id, b->env.rank), "ncclCommInitRank");
    must(b, b->device.ops->stream_create(&b->device, true, &b->stream), "stream");
    must(b, b->device.ops->event_create(&b->device, true, &b->from), "event");
    must(b, b->device.ops->event_create(&b->device, true, &b->to), "event");
    open_pool(b);
}

static void close_bench(bench_t *b)
{
    if (!spmm_transport_free_home(&b->shared, b->pool)) {
        b->device.ops->release(&b->device, b->pool);
    }
    b->device.ops->event_destroy(&b->device, b->from);
    b->device.ops->event_destroy(&b->device, b->to);
    b->device.ops->stream_destroy(&b->device, b->stream);
    (void)ncclCommDestroy(b->bare);
    for (int t = 0; t < spmm_n_transports; t++) {
        if (spmm_transports[t]->close != NULL) {
            spmm_transports[t]->close(&b->shared);
        }
    }
    spmm_device_close(&b->device);
    MPI_Comm_free(&b->env.comm);
}

int main(int argc, char **argv)
{
    static const int64_t size[] = {4096,    16384,   65536,    262144,
                                   1048576, 4194304, 16777216, 134217728}; /* bytes to each */
    bench_t              b      = {0};
    FILE                *out    = stdout;
    char                 date[32];
    time_t               now = time(NULL);
    struct tm            utc;

    MPI_Init(&argc, &argv);
    if (argc > 2 && atoi(argv[2]) > 0) {
        spmm_pull_max_blocks = spmm_push_max_blocks = atoi(argv[2]);
    }
    if (argc > 3) {
        spmm_push_quick_bytes = atoi(argv[3]);
    }
    open_bench(&b);
    if (b.env.rank == 0) {
        out = argc > 1 ? fopen(argv[1], "w") : stdout;
        if (out == NULL) {
            perror(argv[1]);
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
        (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
        (void)fprintf(
            out,
            "# %s, %d x %s, NCCL %d, rows of %d bytes, median of %d; pull and push in %d blocks at "
            "most, push word by word up to %d bytes\n",
            date, b.env.size, b.device.description, NCCL_VERSION_CODE, ROW_BYTES, RUNS,
            spmm_pull_max_blocks, spmm_push_quick_bytes);
        (void)fprintf(out, "gpus\tbytes_per_peer\tbare_us\ttransport_us\tpack_transport_us\t"
                           "bare/transport\tbare/pack_transport\tbare_GBps\ttransport_GBps\t"
                           "pull_us\tpack_pull_us\tpack_transport/pull\t"
                           "pack_transport/pack_pull\tpull_GBps\t"
                           "chained_pack_transport_us\tchained_pull_us\tchained_ratio\t"
                           "push_us\tpack_transport/push\tpush_GBps\tchained_push_us\t"
                           "chained_push_ratio\n");
    }
    for (size_t k = 0; k < sizeof size / sizeof size[0]; k++) {
        bench_size(&b, size[k] / ROW_BYTES, out);
    }
    if (out != stdout && b.env.rank == 0 && fclose(out) != 0) {
        perror(argv[1]);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    close_bench(&b);
    MPI_Finalize();
    return 0;
}

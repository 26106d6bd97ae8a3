/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange.c
 *  How much of NCCL's own rate is left of the library's exchange, and what do stores over NVLink
 *  gain?  Every rank sends the same number of 512-byte rows to every other rank: by bare ncclSend
 *  and ncclRecv of ready buffers, by transport nccl, with the packing of scattered rows before it,
 *  and by nccl-push, which packs on the way.  One table, rank 0:
 *
 *      mpirun -n 4 bench_exchange [FILE.tsv [BLOCKS[,BLOCKS...] [QUICK]]]
 *          BLOCKS: most that send in the kernel of nccl-push; several numbers: another table, with
 *          each of them beside packing and nccl
 *          QUICK: bytes from rank to rank up to which nccl-push sends them word by word
 *
 *  Device time, median of RUNS after warm-up, maximum over ranks.  After it the rows that arrive
 *  are compared with those that were sent, of every way and size; exit code 1: some differ.
 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cuda/exchange/push_args.h"

enum { CHAIN = 16, MOST_SWEPT = 8 };

/** Numbers of blocks to compare; none: the usual table. */
typedef struct {
    int blocks[MOST_SWEPT], count;
} sweep_t;

/* The mirror holds the packed rows first, which bare NCCL and the transport alone send. */
static void check_ways(bench_t *b)
{
    void *halo = b->exchange.halo;

    bench_compare(b, bench_run_packed, halo, "nccl with packing");
    bench_compare(b, bench_run_bare, halo, "bare NCCL");
    bench_compare(b, bench_run_transport, halo, "nccl");
}

static void check_push(bench_t *b)
{
    void *target = spmmi_transport_find("nccl-push")->target_rows(b->push_state);

    bench_compare(b, bench_run_push, target, "nccl-push");
}

/* One row of the sweep: single exchanges, and one of CHAIN in a row. */
static void bench_sweep(bench_t *b, const sweep_t *sweep, size_t all, FILE *out)
{
    const double packed = bench_time(b, bench_run_packed, 1);
    const double many   = bench_time(b, bench_run_packed, CHAIN);

    if (b->env.rank == 0) {
        (void)fprintf(out, "%d\t%zu\t%.2f\t%.2f", b->env.size, all / (size_t)(b->env.size - 1),
                      packed * 1e6, many * 1e6);
    }
    for (int k = 0; k < sweep->count; k++) {
        double push, many_push;

        b->shared.push.max_blocks = sweep->blocks[k];
        push                      = bench_time(b, bench_run_push, 1);
        many_push                 = bench_time(b, bench_run_push, CHAIN);
        check_push(b);
        if (b->env.rank == 0) {
            (void)fprintf(out, "\t%.2f\t%.3f\t%.2f\t%.3f\t%.1f", push * 1e6, packed / push,
                          many_push * 1e6, many / many_push, (double)all / many_push * 1e-9);
        }
    }
    bench_must(b, spmmi_transport_check(&b->shared), "nccl-push");
    if (b->env.rank == 0) {
        (void)fputc('\n', out);
    }
}

static void bench_sweep_titles(const sweep_t *sweep, FILE *out)
{
    (void)fputs("gpus\tbytes_per_peer\tpack_transport_us\tchained_pack_transport_us", out);
    for (int k = 0; k < sweep->count; k++) {
        (void)fprintf(out,
                      "\tb%d_us\tb%d_ratio\tb%d_chained_us\tb%d_chained_ratio\tb%d_chained_GBps",
                      sweep->blocks[k], sweep->blocks[k], sweep->blocks[k], sweep->blocks[k],
                      sweep->blocks[k]);
    }
    (void)fputc('\n', out);
}

static void parse_blocks(bench_t *b, const char *text, sweep_t *sweep)
{
    char *rest;

    for (long n = strtol(text, &rest, 10); n > 0 && sweep->count < MOST_SWEPT;
         n      = *rest == ',' ? strtol(rest + 1, &rest, 10) : 0) {
        sweep->blocks[sweep->count++] = (int)n;
    }
    if (sweep->count == 1) {
        b->shared.push.max_blocks = sweep->blocks[0];
        sweep->count              = 0;
    }
}

/* Times of nccl-push, or nothing where it does not work. */
static void bench_push(bench_t *b, double packed, size_t all, FILE *out)
{
    double many, push, many_push;

    if (!b->pushes) {
        if (b->env.rank == 0) {
            (void)fprintf(out, "\t-\t-\t-\t-\t-\t-\n");
        }
        return;
    }
    many      = bench_time(b, bench_run_packed, CHAIN);
    push      = bench_time(b, bench_run_push, 1);
    many_push = bench_time(b, bench_run_push, CHAIN);
    bench_must(b, spmmi_transport_check(&b->shared), "nccl-push");
    if (b->env.rank == 0) {
        (void)fprintf(out, "\t%.2f\t%.2f\t%.3f\t%.1f\t%.2f\t%.3f\n", many * 1e6, push * 1e6,
                      packed / push, (double)all / push * 1e-9, many_push * 1e6, many / many_push);
    }
}

static void bench_ways(bench_t *b, int64_t rows, size_t all, FILE *out)
{
    const double bare      = bench_time(b, bench_run_bare, 1);
    const double transport = bench_time(b, bench_run_transport, 1);
    const double packed    = bench_time(b, bench_run_packed, 1);

    if (b->env.rank == 0) {
        (void)fprintf(out, "%d\t%lld\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\t%.1f\t%.1f", b->env.size,
                      (long long)(rows * ROW_BYTES), bare * 1e6, transport * 1e6, packed * 1e6,
                      bare / transport, bare / packed, (double)all / bare * 1e-9,
                      (double)all / transport * 1e-9);
    }
    bench_push(b, packed, all, out);
    if (b->pushes) {
        check_push(b);
    }
}

static void bench_size(bench_t *b, int64_t rows, const sweep_t *sweep, FILE *out)
{
    const spmm_device_ops_t    *ops  = b->device.ops;
    const spmm_transport_ops_t *nccl = spmmi_transport_find("nccl");
    const spmm_transport_ops_t *push = spmmi_transport_find("nccl-push");
    const size_t                all  = (size_t)(rows * (b->env.size - 1)) * ROW_BYTES;
    void                       *list = NULL;

    bench_make_halo(b, rows);
    bench_must(b,
               spmmi_device_upload(&b->device, b->halo.send_row,
                                   (size_t)spmmi_halo_send_rows(&b->halo) * sizeof(int32_t), &list),
               "upload");
    b->send_row = list;
    b->exchange = (spmm_exchange_t){.direction = SPMM_HALO_FORWARD, .row_bytes = ROW_BYTES};
    bench_must(b, ops->alloc(&b->device, all, &b->exchange.mirror), "alloc");
    bench_must(b, ops->alloc(&b->device, all, &b->exchange.halo), "alloc");
    bench_must(b, nccl->create(&b->shared, &b->halo, ROW_BYTES, &b->state), "create");
    if (b->pushes) {
        bench_must(b, push->create(&b->shared, &b->halo, ROW_BYTES, &b->push_state), "create");
    }
    if (sweep->count > 0) {
        bench_sweep(b, sweep, all, out);
    } else {
        bench_ways(b, rows, all, out);
    }
    (void)fflush(out);
    check_ways(b);
    nccl->destroy(b->state);
    if (b->pushes) {
        push->destroy(b->push_state);
    }
    ops->release(&b->device, b->exchange.mirror);
    ops->release(&b->device, b->exchange.halo);
    ops->release(&b->device, b->send_row);
    bench_free_graph(b);
}

static void open_pool(bench_t *b)
{
    char why[SPMM_WHY];

    b->pushes = b->env.size > 1 && spmmi_transport_find("nccl-push")->supports(&b->shared, why);
    if (!b->pushes && b->env.size > 1 && b->env.rank == 0) {
        (void)fprintf(stderr, "bench_exchange: transport nccl-push %s\n", why);
    }
    bench_must(b, b->device.ops->alloc(&b->device, (size_t)POOL * ROW_BYTES, &b->pool), "pool");
    bench_fill_pool(b);
}

static void open_bench(bench_t *b)
{
    char         why[SPMM_WHY];
    ncclUniqueId id;

    MPI_Comm_dup(MPI_COMM_WORLD, &b->env.comm);
    MPI_Comm_rank(b->env.comm, &b->env.rank);
    MPI_Comm_size(b->env.comm, &b->env.size);
    bench_must(b, spmmi_device_open(&b->env, SPMM_DEVICE_CUDA, NULL, &b->device), "device");
    b->shared.env    = &b->env;
    b->shared.device = &b->device;
    if (!spmmi_transport_find("nccl")->supports(&b->shared, why)) {
        (void)fprintf(stderr, "bench_exchange: transport nccl %s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    if (b->env.rank == 0) {
        bench_must_nccl(b, ncclGetUniqueId(&id), "ncclGetUniqueId");
    }
    MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, b->env.comm);
    bench_must_nccl(b, ncclCommInitRank(&b->bare, b->env.size, id, b->env.rank),
                    "ncclCommInitRank");
    bench_must(b, b->device.ops->stream_create(&b->device, true, &b->stream), "stream");
    bench_must(b, b->device.ops->event_create(&b->device, true, &b->from), "event");
    bench_must(b, b->device.ops->event_create(&b->device, true, &b->to), "event");
    open_pool(b);
}

static void close_bench(bench_t *b)
{
    b->device.ops->release(&b->device, b->pool);
    b->device.ops->event_destroy(&b->device, b->from);
    b->device.ops->event_destroy(&b->device, b->to);
    b->device.ops->stream_destroy(&b->device, b->stream);
    (void)ncclCommDestroy(b->bare);
    for (int t = 0; t < spmmi_n_transports; t++) {
        if (spmmi_transports[t]->close != NULL) {
            spmmi_transports[t]->close(&b->shared);
        }
    }
    spmmi_device_close(&b->device);
    MPI_Comm_free(&b->env.comm);
}

static void print_titles(const sweep_t *sweep, FILE *out)
{
    if (sweep->count > 0) {
        bench_sweep_titles(sweep, out);
        return;
    }
    (void)fprintf(out, "gpus\tbytes_per_peer\tbare_us\ttransport_us\tpack_transport_us\t"
                       "bare/transport\tbare/pack_transport\tbare_GBps\ttransport_GBps\t"
                       "chained_pack_transport_us\tpush_us\tpack_transport/push\tpush_GBps\t"
                       "chained_push_us\tchained_push_ratio\n");
}

int main(int argc, char **argv)
{
    static const int64_t size[] = {4096,    16384,   65536,    262144,
                                   1048576, 4194304, 16777216, 134217728}; /* bytes to each */
    bench_t              b      = {0};
    sweep_t              sweep  = {.count = 0};
    FILE                *out    = stdout;
    char                 date[32];
    time_t               now = time(NULL);
    struct tm            utc;

    MPI_Init(&argc, &argv);
    if (argc > 2) {
        parse_blocks(&b, argv[2], &sweep);
    }
    if (argc > 3) {
        b.shared.push.quick_bytes = atoi(argv[3]) > 0 ? atoi(argv[3]) : -1;
    }
    open_bench(&b);
    sweep.count = b.pushes ? sweep.count : 0;
    if (b.env.rank == 0) {
        out = argc > 1 ? fopen(argv[1], "w") : stdout;
        if (out == NULL) {
            perror(argv[1]);
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
        (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
        (void)fprintf(
            out,
            "# %s, %d x %s, NCCL %d, rows of %d bytes, median of %d; push in %d blocks at most "
            "(0: by its readers), word by word up to %d bytes\n",
            date, b.env.size, b.device.description, NCCL_VERSION_CODE, ROW_BYTES, RUNS,
            b.shared.push.max_blocks,
            b.shared.push.quick_bytes == 0 ? SPMM_PUSH_QUICK : b.shared.push.quick_bytes);
        print_titles(&sweep, out);
    }
    for (size_t k = 0; k < sizeof size / sizeof size[0]; k++) {
        bench_size(&b, size[k] / ROW_BYTES, &sweep, out);
    }
    if (out != stdout && b.env.rank == 0 && fclose(out) != 0) {
        perror(argv[1]);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    close_bench(&b);
    MPI_Finalize();
    return b.is_wrong ? 1 : 0;
}

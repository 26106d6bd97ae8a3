/* SPDX-License-Identifier: Apache-2.0 */
/** @file dist_base.c
 *  What a careful user writes without this library, each in stream order without a host wait:
 *
 *  allgather        ncclAllGather of all rows of B (padded to the largest rank) or, where it is
 *                   faster, a group of ncclBroadcast of as many rows as each rank has; one
 *                   cusparseSpMM
 *  needed           pack, one group of ncclSend and ncclRecv of the rows that are needed, own rows
 *                   of B copied before the received ones, one cusparseSpMM
 *  needed-in-place  the same without the copy: for a program that keeps B with room for ghost rows
 *
 *  cuSPARSE runs as engine cusparse does: the fastest of its CSR algorithms, measured,
 *  preprocessed.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "dist.h"

const char *const dist_baseline_names[DIST_BASELINES] = {"allgather", "needed", "needed-in-place"};

enum { ALLGATHER, NEEDED };

struct dist_base {
    const dist_case_t       *c;
    const spmm_engine_ops_t *cusparse;
    dist_blocks_t            blocks;
    void                    *all, *needed; /**< formats of cusparse */
    void                    *B_all;        /**< device [size x stride, n] */
    void                    *B_needed;     /**< device [own + ghost rows, n] */
    void                    *send_rows;    /**< device [send rows, n] */
    int32_t                 *send_row;     /**< device */
    size_t                   row_bytes;
    int                      now;   /**< the baseline being timed */
    bool                     exact; /**< allgather by broadcasts */
};

static void build(dist_base_t *base, spmm_csr_t *csr, void **format)
{
    const dist_bench_t  *b       = base->c->bench;
    const spmm_problem_t problem = {.ab_type = base->c->info.type,
                                    .c_type  = base->c->info.type,
                                    .compute = base->blocks.parts.compute,
                                    .layout  = SPMM_LAYOUT_ROW,
                                    .n       = base->c->n};

    dist_must(b, base->cusparse->build(base->cusparse, csr, &problem, &b->ctx->device, format),
              "cuSPARSE of a baseline");
    spmmi_csr_free(csr);
}

static void *take(const dist_bench_t *b, int64_t rows, size_t row_bytes)
{
    void *ptr = NULL;

    dist_must(b, b->ctx->device.ops->alloc(&b->ctx->device, (size_t)rows * row_bytes, &ptr),
              "memory of a baseline");
    return ptr;
}

dist_base_t *dist_base_create(const dist_case_t *c, const spmm_plan_t *plan)
{
    const dist_bench_t *b    = c->bench;
    dist_base_t        *base = calloc(1, sizeof *base);
    const spmm_halo_t  *halo;
    int64_t             n_halo, n_send;
    void               *list = NULL;

    if (base == NULL) {
        dist_must(b, SPMM_ERR_MEMORY, "baselines");
        return NULL;
    }
    base->c         = c;
    base->cusparse  = spmmi_engine_find("cusparse");
    base->row_bytes = (size_t)c->n * spmm_type_size(c->info.type);
    dist_blocks_create(c, plan, &base->blocks);
    halo   = &base->blocks.parts.exchange.halo;
    n_halo = spmmi_halo_recv_rows(halo);
    n_send = spmmi_halo_send_rows(halo);
    build(base, &base->blocks.needed, &base->needed);
    base->B_needed = take(b, c->b_rows + n_halo, base->row_bytes);
    if (b->job.size > 1) {
        build(base, &base->blocks.all, &base->all);
        base->B_all     = take(b, base->blocks.stride * b->job.size, base->row_bytes);
        base->send_rows = take(b, n_send, base->row_bytes);
        dist_must(b,
                  spmmi_device_upload(&b->ctx->device, halo->send_row,
                                      (size_t)n_send * sizeof *halo->send_row, &list),
                  "rows to send");
        base->send_row = list;
    }
    dist_must_cuda(b,
                   cudaMemcpy(base->B_needed, c->B, (size_t)c->b_rows * base->row_bytes,
                              cudaMemcpyDeviceToDevice),
                   "a copy of B");
    return base;
}

void dist_base_destroy(dist_base_t *base)
{
    const spmm_device_t *device;

    if (base == NULL) {
        return;
    }
    device = &base->c->bench->ctx->device;
    base->cusparse->destroy(base->all);
    base->cusparse->destroy(base->needed);
    device->ops->release(device, base->B_all);
    device->ops->release(device, base->B_needed);
    device->ops->release(device, base->send_rows);
    device->ops->release(device, base->send_row);
    dist_blocks_free(&base->blocks);
    free(base);
}

/* A rank with fewer rows than the stride sends what follows them too: nobody reads it. */
static void gather_padded(const dist_base_t *base)
{
    const dist_bench_t *b = base->c->bench;

    dist_must_nccl(b,
                   ncclAllGather(base->c->B, base->B_all,
                                 (size_t)base->blocks.stride * base->row_bytes, ncclInt8, b->nccl,
                                 b->stream),
                   "ncclAllGather");
}

static void gather_exact(const dist_base_t *base)
{
    const dist_bench_t *b      = base->c->bench;
    const int64_t      *offset = base->blocks.parts.cols.offset;

    dist_must_nccl(b, ncclGroupStart(), "ncclGroupStart");
    for (int p = 0; p < b->job.size; p++) {
        char *to = (char *)base->B_all + (size_t)(p * base->blocks.stride) * base->row_bytes;

        dist_must_nccl(b,
                       ncclBroadcast(base->c->B, to,
                                     (size_t)(offset[p + 1] - offset[p]) * base->row_bytes,
                                     ncclInt8, p, b->nccl, b->stream),
                       "ncclBroadcast");
    }
    dist_must_nccl(b, ncclGroupEnd(), "ncclGroupEnd");
}

static void send_needed(const dist_base_t *base)
{
    const dist_bench_t      *b    = base->c->bench;
    const spmm_halo_t       *h    = &base->blocks.parts.exchange.halo;
    const size_t             size = base->row_bytes;
    char                    *to   = (char *)base->B_needed + (size_t)base->c->b_rows * size;
    const spmm_gather_args_t args = {.src        = base->c->B,
                                     .ld_src     = base->c->n,
                                     .src_layout = SPMM_LAYOUT_ROW,
                                     .row        = base->send_row,
                                     .n_rows     = spmmi_halo_send_rows(h),
                                     .n          = base->c->n,
                                     .elem_size  = spmm_type_size(base->c->info.type),
                                     .dst        = base->send_rows};

    if (args.n_rows > 0) {
        dist_must(b, b->ctx->device.ops->gather_rows(&b->ctx->device, &args, b->stream), "packing");
    }
    dist_must_nccl(b, ncclGroupStart(), "ncclGroupStart");
    for (int p = 0; p < h->n_send_peers; p++) {
        dist_must_nccl(b,
                       ncclSend((char *)base->send_rows + (size_t)h->send_ptr[p] * size,
                                (size_t)(h->send_ptr[p + 1] - h->send_ptr[p]) * size, ncclInt8,
                                h->send_peer[p], b->nccl, b->stream),
                       "ncclSend");
    }
    for (int p = 0; p < h->n_recv_peers; p++) {
        dist_must_nccl(b,
                       ncclRecv(to + (size_t)h->recv_ptr[p] * size,
                                (size_t)(h->recv_ptr[p + 1] - h->recv_ptr[p]) * size, ncclInt8,
                                h->recv_peer[p], b->nccl, b->stream),
                       "ncclRecv");
    }
    dist_must_nccl(b, ncclGroupEnd(), "ncclGroupEnd");
}

static void exchange(void *self)
{
    const dist_base_t *base = self;

    if (base->c->bench->job.size == 1) {
        return;
    }
    if (base->now != ALLGATHER) {
        send_needed(base);
    } else if (base->exact) {
        gather_exact(base);
    } else {
        gather_padded(base);
    }
}

static void multiply(void *self)
{
    const dist_base_t    *base = self;
    const dist_bench_t   *b    = base->c->bench;
    const bool            all  = base->now == ALLGATHER && b->job.size > 1;
    const spmm_operands_t x    = {.ab_type = base->c->info.type,
                                  .c_type  = base->c->info.type,
                                  .layout  = SPMM_LAYOUT_ROW,
                                  .n       = base->c->n,
                                  .alpha   = {.re = 1.0},
                                  .B       = all ? base->B_all : base->B_needed,
                                  .ldb     = base->c->n,
                                  .C       = base->c->C,
                                  .ldc     = base->c->n,
                                  .stream  = b->stream};

    dist_must(b, base->cusparse->execute(all ? base->all : base->needed, &x), "cusparseSpMM");
}

static void product(void *self)
{
    const dist_base_t  *base = self;
    const dist_bench_t *b    = base->c->bench;

    if (base->now == NEEDED && b->job.size > 1) {
        dist_must_cuda(b,
                       cudaMemcpyAsync(base->B_needed, base->c->B,
                                       (size_t)base->c->b_rows * base->row_bytes,
                                       cudaMemcpyDeviceToDevice, b->stream),
                       "the copy of B");
    }
    exchange(self);
    multiply(self);
}

void dist_base_run(dist_base_t *base, int k)
{
    base->now = k;
    product(base);
}

void dist_base_time(dist_base_t *base, int k, dist_times_t *times)
{
    const dist_bench_t *b = base->c->bench;

    base->now          = k;
    times->exchange_ms = b->job.size > 1 ? dist_time(b, exchange, base) : 0.0;
    if (k == ALLGATHER && b->job.size > 1) {
        double exact_ms;

        base->exact        = true;
        exact_ms           = dist_time(b, exchange, base);
        base->exact        = exact_ms < times->exchange_ms;
        times->exchange_ms = base->exact ? exact_ms : times->exchange_ms;
    }
    times->local_ms = dist_time(b, multiply, base);
    times->total_ms = dist_time(b, product, base);
    times->loop_ms  = dist_time_loop(b, product, base);
}

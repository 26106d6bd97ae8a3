/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_run.c  One contender's product, timed and checked, and its operands. */
#include <math.h>

#include "base/alloc.h"
#include "block_main.h"
#include "ladder_case.h"
#include "spmm_dist/context.h"

static const double most_seconds = 0.2; /* of one contender's timed products */

/** What bench_block_median() repeats. */
typedef struct {
    const ladder_contender_t *who;
    const ladder_case_t      *c;
    void                     *state;
} product_t;

static spmm_status_t run(void *self)
{
    const product_t *p = self;

    return p->who->run(p->who, p->c, p->state);
}

static spmm_status_t measure(product_t *p, int64_t iterations, double *median)
{
    const bench_operands_t *o = &p->c->o;

    SPMM_TRY(bench_block_median(o->device, o->stream, 1, run, p, median));
    if ((double)iterations * *median > most_seconds) {
        iterations = (int64_t)fmax(3.0, most_seconds / *median);
    }
    return bench_block_median(o->device, o->stream, iterations, run, p, median);
}

spmm_status_t ladder_compete(const ladder_contender_t *who, const ladder_case_t *c,
                             int64_t iterations, ladder_result_t *result)
{
    product_t     product = {who, c, NULL};
    spmm_status_t status  = who->open(who, c, &product.state);

    if (status == SPMM_OK) {
        status = bench_operands_poison(&c->o);
    }
    if (status == SPMM_OK) {
        status = measure(&product, iterations, &result->seconds);
    }
    if (status == SPMM_OK) {
        status = bench_operands_error(&c->o, &result->error);
    }
    who->close(who, c, product.state);
    result->name = who->name;
    return status;
}

spmm_status_t ladder_open_operands(ladder_case_t *c, const spmm_device_t *device,
                                   const spmm_csr_t *block, int64_t n)
{
    const int64_t   rows = block->n_cols;
    const uint16_t *B;
    uint16_t       *Bt;
    spmm_status_t   status;

    SPMM_TRY(bench_operands_open(device, block, n, &c->o));
    if (SPMM_NEW(Bt, rows * n) == NULL) {
        return spmmi_fail_memory(&device->env->err, rows * n, sizeof *Bt, "B");
    }
    B = c->o.host_B;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < n; j++) {
            Bt[j * rows + i] = B[i * n + j];
        }
    }
    status = spmmi_device_upload(device, Bt, (size_t)(rows * n) * sizeof *Bt, &c->Bt);
    spmmi_free(Bt);
    return status;
}

void ladder_close_operands(ladder_case_t *c)
{
    c->o.device->ops->release(c->o.device, c->Bt);
    c->Bt = NULL;
    bench_operands_close(&c->o);
}

spmm_status_t ladder_upload(const spmm_device_t *device, const ladder_host_t *h,
                            void *owned[LADDER_ARRAYS], ladder_tiles_t *tiles)
{
    const size_t rows  = ((size_t)h->n_tile_rows + 1) * sizeof(int32_t);
    const size_t dense = (size_t)h->n_dense, sparse = (size_t)h->n_sparse, all = (size_t)h->n_tiles;
    const struct {
        const void *from;
        size_t      bytes;
    } arrays[LADDER_ARRAYS] = {
        {h->map, (size_t)h->n_tile_rows * (size_t)h->n_tile_cols * sizeof *h->map},
        {h->row_ptr, rows},
        {h->col, all * sizeof *h->col},
        {h->at, all * sizeof *h->at},
        {h->sp24, all},
        {h->dense_ptr, rows},
        {h->dense_col, dense * sizeof *h->dense_col},
        {h->dense, dense * LADDER_ROWS * (size_t)h->width * sizeof *h->dense},
        {h->sparse_ptr, rows},
        {h->sparse_col, sparse * sizeof *h->sparse_col},
        {h->packed, sparse * LADDER_PACKED * sizeof *h->packed},
        {h->meta, sparse * LADDER_META * sizeof *h->meta},
    };

    for (int k = 0; k < LADDER_ARRAYS; k++) {
        SPMM_TRY(spmmi_device_upload(device, arrays[k].from, arrays[k].bytes, &owned[k]));
    }
    *tiles = (ladder_tiles_t){.n_tile_rows = h->n_tile_rows,
                              .n_tile_cols = h->n_tile_cols,
                              .width       = h->width,
                              .map         = owned[0],
                              .row_ptr     = owned[1],
                              .col         = owned[2],
                              .at          = owned[3],
                              .sp24        = owned[4],
                              .dense_ptr   = owned[5],
                              .dense_col   = owned[6],
                              .dense       = owned[7],
                              .sparse_ptr  = owned[8],
                              .sparse_col  = owned[9],
                              .packed      = owned[10],
                              .meta        = owned[11]};
    return SPMM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_run.c  One contender's product, timed and checked, and its operands. */
#include <math.h>

#include "base/alloc.h"
#include "bell.h"
#include "block.h"
#include "ladder_case.h"
#include "ladder_mm.h"
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
    const product_t     *p    = self;
    const ladder_case_t *c    = p->c;
    const ladder_step_t  step = p->who->step;

    if (p->who->engine != NULL) {
        return bench_operands_multiply(&c->o, p->who->engine, p->state);
    }
    if (p->who->bell > 0) {
        return bell_multiply(p->state);
    }
    return spmmi_cuda_check(c->o.device,
                            ladder_mm(step, &c->tiles[ladder_form(step)], c->Bt, c->o.block->n_cols,
                                      c->o.C, c->o.n, (cudaStream_t)c->o.stream),
                            p->who->name);
}

static spmm_status_t open_engine(const spmm_engine_ops_t *engine, const ladder_case_t *c,
                                 void **state)
{
    char                 why[SPMM_WHY] = "";
    const spmm_problem_t problem       = {.ab_type = SPMM_R_16F,
                                          .c_type  = SPMM_R_16F,
                                          .compute = SPMM_COMPUTE_32F,
                                          .layout  = SPMM_LAYOUT_ROW,
                                          .n       = c->o.n};

    if (!engine->supports(&problem, c->o.device, why)) {
        return spmmi_fail(&c->o.device->env->err, SPMM_ERR_UNSUPPORTED, "engine %s %s",
                          engine->name, why);
    }
    return engine->build(c->o.block, &problem, c->o.device, state);
}

/* Whether the kernel of a step takes the case. */
static spmm_status_t check_step(const ladder_contender_t *who, const ladder_case_t *c)
{
    const ladder_tiles_t *tiles = &c->tiles[ladder_form(who->step)];

    if (who->step == LADDER_OBT_TILED && c->o.n % (LADDER_BLOCK * LADDER_COLUMNS) != 0) {
        return spmmi_fail(&c->o.device->env->err, SPMM_ERR_UNSUPPORTED, "%s takes multiples of %d",
                          who->name, LADDER_BLOCK * LADDER_COLUMNS);
    }
    if (ladder_has_map(who->step) && tiles->map == NULL) {
        return spmmi_fail(&c->o.device->env->err, SPMM_ERR_UNSUPPORTED,
                          "%s asks every tile, and A has too many", who->name);
    }
    return SPMM_OK;
}

static spmm_status_t open_state(const ladder_contender_t *who, const ladder_case_t *c, void **state)
{
    bell_t       *bell   = NULL;
    spmm_status_t status = SPMM_OK;

    if (who->engine != NULL) {
        return open_engine(who->engine, c, state);
    }
    if (who->bell == 0) {
        return check_step(who, c);
    }
    status = bell_open(&c->o, who->bell, &bell);
    *state = bell;
    return status;
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
    spmm_status_t status;

    status = open_state(who, c, &product.state);
    if (status == SPMM_OK) {
        status = bench_operands_poison(&c->o);
    }
    if (status == SPMM_OK) {
        status = measure(&product, iterations, &result->seconds);
    }
    if (status == SPMM_OK) {
        status = bench_operands_error(&c->o, &result->error);
    }
    if (who->engine != NULL) {
        who->engine->destroy(product.state);
    } else if (who->bell > 0) {
        bell_close(product.state);
    }
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
    const size_t map   = (size_t)h->n_tile_rows * (size_t)h->n_tile_cols;
    const size_t dense = (size_t)h->n_dense, sparse = (size_t)h->n_sparse;
    const size_t all = dense + sparse, width = (size_t)h->width;
    const size_t size = (h->list == NULL ? width : LADDER_ROWS) * width; /* of a dense tile */
    const struct {
        const void *from;
        size_t      bytes;
    } arrays[LADDER_ARRAYS] = {
        {h->map, h->map == NULL ? 0 : map * sizeof *h->map},
        {h->ptr, h->ptr == NULL ? 0 : rows},
        {h->list, h->list == NULL ? 0 : all * sizeof *h->list},
        {h->dense_ptr, rows},
        {h->dense_col, dense * sizeof *h->dense_col},
        {h->dense, dense * size * sizeof *h->dense},
        {h->sparse_ptr, h->sparse_ptr == NULL ? 0 : rows},
        {h->sparse_col, sparse * sizeof *h->sparse_col},
        {h->packed, sparse * LADDER_ROWS * width / 2 * sizeof *h->packed},
        {h->meta, sparse * width / 2 * sizeof *h->meta},
    };

    for (int k = 0; k < LADDER_ARRAYS; k++) {
        SPMM_TRY(spmmi_device_upload(device, arrays[k].from, arrays[k].bytes, &owned[k]));
    }
    *tiles = (ladder_tiles_t){.n_tile_rows = h->n_tile_rows,
                              .n_tile_cols = h->n_tile_cols,
                              .width       = h->width,
                              .map         = h->map == NULL ? NULL : owned[0],
                              .ptr         = owned[1],
                              .list        = owned[2],
                              .dense_ptr   = owned[3],
                              .dense_col   = owned[4],
                              .dense       = owned[5],
                              .sparse_ptr  = owned[6],
                              .sparse_col  = owned[7],
                              .packed      = owned[8],
                              .meta        = owned[9]};
    return SPMM_OK;
}

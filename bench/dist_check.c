/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dist.h"
#include "tool_common.h"

static const double reference_work = 2e8; /* products of entries and columns on a rank, at most */

void dist_poison(const dist_case_t *c)
{
    const size_t bytes = (size_t)(c->c_rows * c->n) * spmm_type_size(c->info.type);

    /* 0xff everywhere is a NaN in every type. */
    dist_must_cuda(c->bench, cudaMemsetAsync(c->C, 0xff, bytes, c->bench->stream), "poison");
}

/* Rows of the original matrix to look at: every @p step-th one of this rank's. */
typedef struct {
    driver_rows_t rows;
    int32_t      *place; /**< [rows.n_rows] local row */
    int64_t      *row_ptr, *col;
    void         *values;
} sample_t;

static int64_t choose_step(const dist_case_t *c, const int64_t *row_ptr)
{
    const double work = (double)(row_ptr[c->info.local_rows] + c->info.local_rows) * (double)c->n;

    return 1 + (int64_t)(work / reference_work);
}

static void take_sample(const dist_case_t *c, sample_t *s)
{
    const dist_bench_t *b    = c->bench;
    const size_t        size = spmm_type_size(c->info.type);
    const int64_t      *row_ptr, *col;
    const void         *values;
    int64_t             step, nnz = 0, n = 0;

    memset(s, 0, sizeof *s);
    dist_must(b, spmm_matrix_get_csr(c->A, &row_ptr, &col, &values), "the original matrix");
    step = choose_step(c, row_ptr);
    for (int64_t i = 0; i < c->info.local_rows; i += step) {
        nnz += row_ptr[i + 1] - row_ptr[i];
        n++;
    }
    SPMM_NEW(s->place, n);
    SPMM_NEW(s->row_ptr, n + 1);
    SPMM_NEW(s->col, nnz);
    s->values = spmm_alloc(nnz, size);
    if (s->place == NULL || s->row_ptr == NULL || s->col == NULL || s->values == NULL) {
        dist_must(b, SPMM_ERR_MEMORY, "rows to compare");
        return;
    }
    s->row_ptr[0] = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = k * step, count = row_ptr[i + 1] - row_ptr[i], at = s->row_ptr[k];

        s->place[k]       = (int32_t)i;
        s->row_ptr[k + 1] = at + count;
        memcpy(s->col + at, col + row_ptr[i], (size_t)count * sizeof *col);
        memcpy((char *)s->values + (size_t)at * size,
               (const char *)values + (size_t)row_ptr[i] * size, (size_t)count * size);
    }
    s->rows = (driver_rows_t){.n_rows  = n,
                              .row_ptr = s->row_ptr,
                              .col     = s->col,
                              .values  = s->values,
                              .type    = c->info.type};
}

static void free_sample(sample_t *s)
{
    spmm_free(s->place);
    spmm_free(s->row_ptr);
    spmm_free(s->col);
    spmm_free(s->values);
}

/* Sampled rows of C in the original distribution, on the host. */
static void *fetch(const dist_case_t *c, spmm_plan_t *plan, const sample_t *s)
{
    const dist_bench_t      *b      = c->bench;
    const spmm_device_t     *device = &b->ctx->device;
    const size_t             row    = (size_t)c->n * spmm_type_size(c->info.type);
    void                    *home = NULL, *picked = NULL, *list = NULL, *host;
    const spmm_gather_args_t args = {.ld_src     = c->n,
                                     .src_layout = SPMM_LAYOUT_ROW,
                                     .n_rows     = s->rows.n_rows,
                                     .n          = c->n,
                                     .elem_size  = spmm_type_size(c->info.type)};
    spmm_gather_args_t       pick = args;

    dist_must(b, device->ops->alloc(device, (size_t)c->info.local_rows * row, &home), "C");
    dist_must(b, device->ops->alloc(device, (size_t)s->rows.n_rows * row, &picked), "C");
    dist_must(
        b, spmm_device_upload(device, s->place, (size_t)s->rows.n_rows * sizeof *s->place, &list),
        "rows to compare");
    dist_must(b, spmm_plan_gather(plan, SPMM_OPERAND_C, c->n, c->C, c->n, home, c->n, b->stream),
              "C in the original order");
    pick.src = home;
    pick.row = list;
    pick.dst = picked;
    if (pick.n_rows > 0) {
        dist_must(b, device->ops->gather_rows(device, &pick, b->stream), "rows to compare");
    }
    dist_must_cuda(b, cudaStreamSynchronize(b->stream), "the stream");
    host = spmm_alloc(s->rows.n_rows, row);
    if (host == NULL) {
        dist_must(b, SPMM_ERR_MEMORY, "rows to compare");
    }
    dist_must(b, device->ops->fetch(device, host, picked, (size_t)s->rows.n_rows * row), "C");
    device->ops->release(device, home);
    device->ops->release(device, picked);
    device->ops->release(device, list);
    return host;
}

void dist_check(const dist_case_t *c, spmm_plan_t *plan, dist_row_t *row)
{
    const dist_bench_t *b     = c->bench;
    driver_block_t      block = {
             .columns = c->n, .ld = c->n, .layout = SPMM_LAYOUT_ROW, .type = c->info.type};
    driver_job_t     job = b->job;
    driver_product_t product;
    driver_verdict_t verdict;
    sample_t         sample;
    void            *host;

    take_sample(c, &sample);
    host       = fetch(c, plan, &sample);
    block.rows = sample.rows.n_rows;
    product    = (driver_product_t){
           .rows = &sample.rows, .B = c->dense, .alpha = 1.0, .block = &block, .C = host};
    verdict        = driver_compare(&product);
    verdict        = driver_verdict_reduce(&job, &verdict);
    row->max_error = verdict.max_error;
    row->passed    = verdict.max_error <= tool_tolerance(c->info.type, plan->compute);
    spmm_free(host);
    free_sample(&sample);
}

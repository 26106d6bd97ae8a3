/* SPDX-License-Identifier: Apache-2.0 */
/** @file dist_check.c
 *  C against the original matrix: sampled rows of C go to the ranks that hold those rows of A as it
 *  was read or generated, and are compared there with the FP64 product.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "dist.h"
#include "tool_common.h"

static const double reference_work  = 2e8;  /* products of entries and columns on a rank, about */
static const double most_unverified = 0.01; /* share of elements that may leave the range */

void dist_poison(const dist_case_t *c)
{
    const size_t bytes = (size_t)(c->c_rows * c->n) * spmm_type_size(c->info.type);

    /* 0xff everywhere is a NaN in every type. */
    dist_must_cuda(c->bench, cudaMemsetAsync(c->C, 0xff, bytes, c->bench->stream), "poison");
}

/** Rows of C on their way, grouped by the rank they go to. */
typedef struct {
    int64_t *to_count, *from_count; /**< [size] */
    int32_t *place;                 /**< [n_to] local row */
    int64_t *to, *from;             /**< [n_to], [n_from] original row */
    char    *to_rows, *from_rows;   /**< host [n_to x n], [n_from x n] */
    int64_t  n_to, n_from;
} trip_t;

static void *need(const dist_case_t *c, void *ptr)
{
    if (ptr == NULL) {
        dist_must(c->bench, SPMM_ERR_MEMORY, "rows to compare");
    }
    return ptr;
}

/* Every step-th original row; odd, so that no power of two of a grid is missed. */
static int64_t choose_step(const dist_case_t *c)
{
    const double work = ((double)c->info.nnz + (double)c->info.rows) * (double)c->n;

    return (int64_t)(work / (reference_work * c->bench->job.size)) | 1;
}

/* Original rows ascend on each rank and original owners too: rows are grouped as they come. */
static void choose_rows(const dist_case_t *c, const spmm_plan_t *plan, trip_t *t)
{
    const spmm_layout_map_t *map  = &plan->rows;
    const int64_t            step = choose_step(c);

    t->to_count   = need(c, spmmi_alloc_zero(c->bench->job.size, sizeof *t->to_count));
    t->from_count = need(c, spmmi_alloc_zero(c->bench->job.size, sizeof *t->from_count));
    t->place      = need(c, spmmi_alloc(map->n_local, sizeof *t->place));
    t->to         = need(c, spmmi_alloc(map->n_local, sizeof *t->to));
    for (int32_t i = 0; i < map->n_local; i++) {
        const int64_t row = spmmi_layout_original(map, i);

        if (row % step == 0) {
            t->to_count[spmmi_owner(map->orig_offset, c->bench->job.size, row)]++;
            t->place[t->n_to] = i;
            t->to[t->n_to++]  = row;
        }
    }
}

/* The chosen rows of C, to the host. */
static void fetch(const dist_case_t *c, trip_t *t)
{
    const dist_bench_t  *b      = c->bench;
    const spmm_device_t *device = &b->ctx->device;
    const size_t         bytes  = (size_t)(t->n_to * c->n) * spmm_type_size(c->info.type);
    spmm_gather_args_t   args   = {.src        = c->C,
                                   .ld_src     = c->n,
                                   .src_layout = SPMM_LAYOUT_ROW,
                                   .n_rows     = t->n_to,
                                   .n          = c->n,
                                   .elem_size  = spmm_type_size(c->info.type)};
    void                *list = NULL, *picked = NULL;

    t->to_rows = need(c, spmmi_alloc((int64_t)bytes, 1));
    dist_must(b, spmmi_device_upload(device, t->place, (size_t)t->n_to * sizeof *t->place, &list),
              "rows to compare");
    dist_must(b, device->ops->alloc(device, bytes, &picked), "rows to compare");
    args.row = list;
    args.dst = picked;
    if (t->n_to > 0) {
        dist_must(b, device->ops->gather_rows(device, &args, b->stream), "rows to compare");
    }
    dist_must(b, device->ops->stream_sync(device, b->stream), "the stream");
    dist_must(b, device->ops->fetch(device, t->to_rows, picked, bytes), "rows to compare");
    device->ops->release(device, picked);
    device->ops->release(device, list);
}

static void send(const dist_case_t *c, trip_t *t)
{
    const dist_bench_t *b   = c->bench;
    spmm_env_t         *env = &b->ctx->env;
    const size_t        row = (size_t)c->n * spmm_type_size(c->info.type);

    dist_must(b, spmmi_alltoall_counts(env, t->to_count, t->from_count, &t->n_from), "counts");
    t->from      = need(c, spmmi_alloc(t->n_from, sizeof *t->from));
    t->from_rows = need(c, spmmi_alloc(t->n_from, row));
    dist_must(b, spmmi_alltoallv(env, t->to, t->to_count, t->from, t->from_count, sizeof *t->from),
              "rows to compare");
    dist_must(b, spmmi_alltoallv(env, t->to_rows, t->to_count, t->from_rows, t->from_count, row),
              "rows to compare");
}

/* Compare what has arrived, in the order of arrival. */
static driver_verdict_t compare(const dist_case_t *c, const trip_t *t)
{
    const int64_t   *row_ptr, *col;
    const void      *values;
    const size_t     size  = spmm_type_size(c->info.type);
    driver_block_t   block = {.rows    = t->n_from,
                              .columns = c->n,
                              .ld      = c->n,
                              .layout  = SPMM_LAYOUT_ROW,
                              .type    = c->info.type};
    driver_rows_t    rows  = {.n_rows = t->n_from, .type = c->info.type};
    int64_t         *ptr, *my_col;
    char            *my_values;
    driver_verdict_t verdict;

    dist_must(c->bench, spmm_matrix_get_csr(c->A, &row_ptr, &col, &values), "the matrix");
    ptr    = need(c, spmmi_alloc(t->n_from + 1, sizeof *ptr));
    ptr[0] = 0;
    for (int64_t k = 0; k < t->n_from; k++) {
        const int64_t i = t->from[k] - c->info.first_row;

        ptr[k + 1] = ptr[k] + row_ptr[i + 1] - row_ptr[i];
    }
    my_col    = need(c, spmmi_alloc(ptr[t->n_from], sizeof *my_col));
    my_values = need(c, spmmi_alloc(ptr[t->n_from], size));
    for (int64_t k = 0; k < t->n_from; k++) {
        const int64_t from  = row_ptr[t->from[k] - c->info.first_row];
        const size_t  count = (size_t)(ptr[k + 1] - ptr[k]);

        memcpy(my_col + ptr[k], col + from, count * sizeof *col);
        memcpy(my_values + (size_t)ptr[k] * size, (const char *)values + (size_t)from * size,
               count * size);
    }
    rows.row_ptr = ptr;
    rows.col     = my_col;
    rows.values  = my_values;
    verdict      = driver_compare(&(driver_product_t){
             .rows = &rows, .B = c->dense, .alpha = 1.0, .block = &block, .C = t->from_rows});
    spmmi_free_all(ptr, my_col, my_values);
    return verdict;
}

/* Elements that may leave the range of the type are no evidence: only few may be such. */
static bool is_right(const dist_case_t *c, const spmm_plan_t *plan, const dist_row_t *row,
                     const driver_verdict_t *verdict)
{
    const double all = (double)verdict->compared + (double)verdict->out_of_range;

    if (verdict->out_of_range > 0 && c->bench->job.rank == 0) {
        (void)fprintf(stderr,
                      "bench_dist: %s, %s: %" PRId64 " of %.0f elements may leave the range of %s "
                      "and were not compared\n",
                      c->name, row->variant, verdict->out_of_range, all,
                      tool_word_name(tool_types, (int)c->info.type));
    }
    return verdict->compared > 0 && (double)verdict->out_of_range <= most_unverified * all &&
           verdict->max_error <= tool_tolerance(c->info.type, plan->compute);
}

void dist_check(const dist_case_t *c, const spmm_plan_t *plan, dist_row_t *row)
{
    driver_job_t     job = c->bench->job;
    driver_verdict_t verdict;
    trip_t           trip = {.n_to = 0};

    choose_rows(c, plan, &trip);
    fetch(c, &trip);
    send(c, &trip);
    verdict        = compare(c, &trip);
    verdict        = driver_verdict_reduce(&job, &verdict);
    row->max_error = verdict.max_error;
    row->passed    = is_right(c, plan, row, &verdict);
    spmmi_free_all(trip.to_count, trip.from_count, trip.place, trip.to, trip.from, trip.to_rows,
                   trip.from_rows);
}

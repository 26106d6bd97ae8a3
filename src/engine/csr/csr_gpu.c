/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu.c
 *  CSR on the CUDA cores of a GPU, entries dealt out evenly: for patterns in which rows close to
 *  each other share almost no column.
 */
#include <math.h>
#include <stdio.h>

#include "base/scalar.h"
#include "engine/csr/csr_gpu_work.h"
#include "engine/engine.h"
#include "engine/gpu.h"
#include "engine/tune/roofline.h"
#include "spmm_dist/context.h"

#ifdef SPMM_HAVE_CUDA
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cuda/csr/csr_gpu.h"
#include "device/device_cuda.h"

typedef struct {
    const spmm_device_t *device;
    spmm_csr_items_t     items;   /* device arrays, as of the next */
    spmm_csr_rows_t      rows;    /* for products that wait */
    spmm_uploads_t       uploads; /* they */
} csr_gpu_t;

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    (void)device;
    if (!spmmi_gpu_supports(problem, why)) {
        return false;
    }
    if (problem->layout != SPMM_LAYOUT_ROW) {
        (void)snprintf(why, SPMM_WHY, "multiplies row-major blocks");
        return false;
    }
    return true;
}

static void destroy(void *format)
{
    csr_gpu_t *f = format;

    if (f == NULL) {
        return;
    }
    spmmi_uploads_free(&f->uploads);
    spmmi_free(f);
}

/* Sums of the parts of split rows, and zeros to count those that are done in. */
static spmm_status_t make_room(csr_gpu_t *f, int32_t n_splits, const spmm_problem_t *problem)
{
    spmm_csr_items_t *A      = &f->items;
    const size_t      sum    = spmm_type_size(spmmi_accum_type(problem->ab_type));
    const int64_t     slices = (problem->n + SPMM_CSR_SLICE - 1) / SPMM_CSR_SLICE;
    size_t            bytes;
    uint32_t         *zeros;
    spmm_status_t     status = SPMM_OK;

    if (slices > INT32_MAX ||
        !spmmi_size_mul((size_t)A->n_partial * sum, (size_t)slices * SPMM_CSR_SLICE, &bytes)) {
        return spmmi_fail_memory(&f->device->env->err, A->n_partial, (size_t)problem->n * sum,
                                 "sums of work items");
    }
    if (SPMM_NEW_ZERO(zeros, n_splits * slices) == NULL) {
        return spmmi_fail_memory(&f->device->env->err, n_splits * slices, sizeof *zeros,
                                 "counts of work items");
    }
    A->partial  = spmmi_upload_room(&f->uploads, bytes, &status);
    A->arrived  = SPMM_UPLOAD(&f->uploads, zeros, n_splits * slices, &status);
    A->n_slices = (int32_t)slices;
    spmmi_free(zeros);
    return status;
}

static spmm_status_t upload_block(csr_gpu_t *f, const spmm_csr_t *block,
                                  const spmm_csr_work_t *work)
{
    const int64_t     nnz    = spmmi_csr_nnz(block);
    spmm_uploads_t   *up     = &f->uploads;
    spmm_csr_items_t *to     = &f->items;
    spmm_status_t     status = SPMM_OK;

    to->n_entries = nnz;
    to->n_empty   = work->n_empty;
    to->n_items   = work->n_items;
    to->n_partial = work->n_partial;
    to->n_splits  = work->n_splits;
    to->col       = SPMM_UPLOAD(up, block->col_idx, nnz, &status);
    to->row       = SPMM_UPLOAD(up, work->row, nnz, &status);
    to->values =
        spmmi_upload(up, block->values, (size_t)nnz * spmm_type_size(block->type), 0, &status);
    to->empty = SPMM_UPLOAD(up, work->empty, work->n_empty, &status);
    to->item  = SPMM_UPLOAD(up, work->item, work->n_items, &status);
    to->split = SPMM_UPLOAD(up, work->split, work->n_splits, &status);
    return status;
}

static spmm_status_t count_columns(spmm_env_t *env, const spmm_csr_t *block, int32_t *used)
{
    const int64_t nnz = spmmi_csr_nnz(block);
    char         *seen;

    *used = 0;
    if (SPMM_NEW_ZERO(seen, block->n_cols) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_cols, 1, "columns of a block");
    }
    for (int64_t k = 0; k < nnz; k++) {
        char *const one = &seen[block->col_idx[k]];

        *used += *one == 0;
        *one = 1;
    }
    spmmi_free(seen);
    return SPMM_OK;
}

/* Rows by the way they are taken: more than SPMM_CSR_LONG entries first. */
static int32_t list_rows(const spmm_csr_t *block, bool is_long, spmm_csr_row_t *to)
{
    int32_t count = 0;

    for (int32_t i = 0; i < block->n_rows; i++) {
        const int64_t n = block->row_ptr[i + 1] - block->row_ptr[i];

        if (n > 0 && (n > SPMM_CSR_LONG) == is_long) {
            to[count++] = (spmm_csr_row_t){.entry     = (uint32_t)block->row_ptr[i],
                                           .n_entries = (int32_t)n,
                                           .row = block->row_map == NULL ? i : block->row_map[i]};
        }
    }
    return count;
}

static bool has_short_rows(const spmm_csr_t *block)
{
    for (int32_t i = 0; i < block->n_rows; i++) {
        if (block->row_ptr[i + 1] - block->row_ptr[i] > SPMM_CSR_WAITS) {
            return false;
        }
    }
    return block->n_rows > 0;
}

/* Half of the multiprocessors are left to the exchange that the product waits for. */
static spmm_status_t make_rows(csr_gpu_t *f, const spmm_csr_t *block)
{
    spmm_csr_row_t *list;
    spmm_status_t   status = SPMM_OK;

    if (!has_short_rows(block)) {
        return SPMM_OK;
    }
    if (SPMM_NEW(list, block->n_rows) == NULL) {
        return spmmi_fail_memory(&f->device->env->err, block->n_rows, sizeof *list,
                                 "rows of a block");
    }
    f->rows.n_long      = list_rows(block, true, list);
    f->rows.n_rows      = f->rows.n_long + list_rows(block, false, list + f->rows.n_long);
    f->rows.most_blocks = (f->device->n_sm + 1) / 2;
    f->rows.row         = SPMM_UPLOAD(&f->uploads, list, f->rows.n_rows, &status);
    spmmi_free(list);
    return status;
}

static spmm_status_t fill(csr_gpu_t *f, const spmm_csr_t *block, const spmm_problem_t *problem)
{
    spmm_env_t     *env = f->device->env;
    int64_t         limit;
    spmm_csr_work_t work;
    spmm_status_t   status;

    f->items.type     = block->type;
    f->items.by_rows  = problem->in_order;
    f->items.c_rows   = block->c_rows;
    f->items.last_col = block->n_cols - 1;
    if (problem->layout == SPMM_LAYOUT_MIXED && block->row_map == NULL && !problem->in_order) {
        f->items.tile_rows = spmmi_csr_tile_rows(block->n_rows, spmmi_csr_nnz(block), problem->n,
                                                 (int64_t)spmm_type_size(block->type));
    }
    if (problem->pattern != NULL) {
        f->items.used_cols = (int32_t)problem->pattern->used_cols;
    } else {
        SPMM_TRY(count_columns(env, block, &f->items.used_cols));
    }
    limit = problem->in_order
                ? SPMM_CSR_CHAIN
                : spmmi_csr_work_limit(block, problem->n, f->items.used_cols, f->device->n_sm,
                                       !problem->shares, f->items.tile_rows);
    SPMM_TRY(spmmi_csr_work_create(env, block, limit, problem->in_order, f->items.tile_rows,
                                   f->device->threads, &work));
    if (!problem->in_order &&
        problem->n * (int64_t)spmm_type_size(block->type) % SPMM_CSR_ACCESS != 0) {
        spmmi_csr_work_mark(block, f->device->threads, &work);
        f->items.is_marked = true;
    }
    status = upload_block(f, block, &work);
    if (status == SPMM_OK) {
        status = make_room(f, work.n_splits, problem);
    }
    if (status == SPMM_OK && problem->waits && !problem->in_order) {
        status = make_rows(f, block);
    }
    spmmi_log(env, "format csr-gpu: %d work items of about %lld entries, %d rows in %d of them",
              (int)work.n_items, (long long)limit, (int)work.n_splits, (int)work.n_partial);
    spmmi_csr_work_free(&work);
    return status == SPMM_OK ? f->device->ops->stream_sync(f->device, NULL) : status;
}

static spmm_status_t build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                           const spmm_problem_t *problem, const spmm_device_t *device,
                           void **format)
{
    csr_gpu_t    *f;
    spmm_status_t status;

    (void)engine;
    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "a CSR engine");
    }
    f->device         = device;
    f->uploads.device = device;
    status            = fill(f, block, problem);
    if (status != SPMM_OK) {
        destroy(f);
        return status;
    }
    *format = f;
    return SPMM_OK;
}

static spmm_status_t places(const void *format, void **values, int64_t *count, int32_t **from)
{
    const csr_gpu_t *f = format;

    *values = (void *)(uintptr_t)f->items.values;
    *count  = f->items.n_entries;
    *from   = NULL;
    return SPMM_OK;
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_csr_preload(), "loading the kernels of CSR");
}

static spmm_status_t execute(void *format, const spmm_operands_t *x)
{
    const csr_gpu_t *f = format;

    SPMM_TRY(spmmi_cuda_use(f->device));
    if (x->until.word != NULL) {
        return spmmi_cuda_check(
            f->device, spmmi_cuda_csr_wait_mm(&f->items, &f->rows, x, (cudaStream_t)x->stream),
            "the kernel csr_mm_waits");
    }
    return spmmi_cuda_check(f->device, spmmi_cuda_csr_mm(&f->items, x, (cudaStream_t)x->stream),
                            "the kernel csr_mm");
}

static void bytes(const void *format, size_t *host, size_t *device)
{
    const csr_gpu_t *f = format;

    *host   = sizeof *f;
    *device = f->uploads.bytes;
}
#endif

const spmm_engine_ops_t spmmi_engine_csr_gpu = {
    .facts.name           = "csr-gpu",
    .facts.description    = "CSR on CUDA cores, entries dealt out evenly; all types",
    .facts.lacks          = SPMM_LACKS_CUDA,
    .facts.device         = SPMM_DEVICE_CUDA,
    .facts.few_entries    = true, /* test_huge has not run on a GPU */
    .facts.stores_columns = true,
    .facts.in_order       = true,
    .facts.waits          = SPMM_CSR_WAITS,
    .facts.follows        = true,
    .cost                 = spmmi_csr_gpu_terms,
#ifdef SPMM_HAVE_CUDA
    .preload  = preload,
    .supports = supports,
    .build    = build,
    .places   = places,
    .execute  = execute,
    .bytes    = bytes,
    .destroy  = destroy,
#endif
};

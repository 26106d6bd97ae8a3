/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sddmm/sddmm.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "cpu/sddmm/sddmm.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/cuda_kernels.h"
#include "cuda/sddmm/sddmm.h"
#include "device/device_cuda.h"
#endif

static bool asks_for(const spmm_sampling_t *what, const char *kernel)
{
    return what->kernel != NULL && strcmp(what->kernel, kernel) == 0;
}

spmm_status_t spmmi_sampler_check(const spmm_device_t *device, const spmm_sampling_t *what)
{
    spmm_error_t *err   = &device->env->err;
    const bool    named = what->kernel != NULL && strcmp(what->kernel, "auto") != 0;
    const bool    tiles = asks_for(what, "cvse");
    const bool    half = spmm_type_size(what->type) == 2, dense = asks_for(what, "dense");
    const bool    mma = tiles || dense || (asks_for(what, "panels") && half);

    if (spmmi_is_complex(what->type)) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "SDDMM is of real matrices: this mask has type %s",
                          spmmi_type_name(what->type));
    }
    if (!spmmi_cpu_sddmm_supports(what->type, what->s_type)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "S must have the type of X and Y, or 32f where they are 16f or 16bf");
    }
    if (named && !asks_for(what, "csr") && !asks_for(what, "panels") && !tiles && !dense) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "there is no SDDMM kernel \"%.40s\": csr, panels, cvse, dense or auto",
                          what->kernel);
    }
    if (tiles && what->type == SPMM_R_64F) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "the SDDMM kernel cvse needs X and Y of type 32f, 16f or 16bf, not %s",
                          spmmi_type_name(what->type));
    }
    if (dense && !half) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "the SDDMM kernel dense needs X and Y of type 16f or 16bf, not %s",
                          spmmi_type_name(what->type));
    }
    if (mma && device->kind == SPMM_DEVICE_CUDA && device->cc < 80) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "the SDDMM kernel %s needs a GPU of compute capability 8.0 or later",
                          what->kernel);
    }
    return SPMM_OK;
}

const char *spmmi_sampler_kernel(const spmm_sampler_t *sampler)
{
    static const char *const name[] = {[SPMM_SAMPLER_CSR]    = "csr",
                                       [SPMM_SAMPLER_PANELS] = "panels",
                                       [SPMM_SAMPLER_CVSE]   = "cvse",
                                       [SPMM_SAMPLER_DENSE]  = "dense"};

    return name[sampler->format];
}

/* Device memory of @p bytes, filled from @p host. */
static spmm_status_t upload_bytes(spmm_sampler_t *s, const void *host, size_t bytes, void **device)
{
    SPMM_TRY(s->device->ops->alloc_cached(s->device, bytes, device));
    s->upload[s->n_uploads++] = *device;
    s->device_bytes += bytes;
    return s->device->ops->stage(s->device, *device, host, bytes);
}

/* The same of @p count elements of an array that the host holds. */
static spmm_status_t upload(spmm_sampler_t *s, const int32_t *host, int64_t count,
                            const int32_t **device)
{
    void               *memory = NULL;
    const spmm_status_t status = upload_bytes(s, host, (size_t)count * sizeof *host, &memory);

    *device = memory;
    return status;
}

static spmm_status_t upload_tiles(spmm_sampler_t *s, const spmm_csr_t *block,
                                  const spmm_sddmm_tile_list_t *list)
{
    s->vectors       = list->vectors;
    s->tiles.n_rows  = block->n_rows;
    s->tiles.n_tiles = list->n_tiles;
    s->tiles.height  = list->height;
    s->tiles.order   = list->order;
    SPMM_TRY(upload(s, list->window, list->n_tiles, &s->tiles.window));
    SPMM_TRY(upload(s, list->col, (int64_t)list->n_tiles * SPMM_SDDMM_TILE, &s->tiles.col));
    SPMM_TRY(upload(s, list->place, list->n_places, &s->tiles.place));
    return block->row_map == NULL ? SPMM_OK
                                  : upload(s, block->row_map, block->n_rows, &s->tiles.row_map);
}

static spmm_status_t make_tiles(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_sddmm_tile_list_t list;
    spmm_status_t          status;

    SPMM_TRY(
        spmmi_sddmm_make_tiles(s->device->env, block, s->height, place, s->device->threads, &list));
    status = upload_tiles(s, block, &list);
    spmmi_sddmm_free_tiles(&list);
    return status;
}

static spmm_status_t upload_place(spmm_sampler_t *s, const int64_t *place)
{
    int32_t      *narrow;
    spmm_status_t status;

    if (SPMM_NEW(narrow, s->nnz) == NULL) {
        return spmmi_fail_memory(&s->device->env->err, s->nnz, sizeof *narrow,
                                 "the places of an SDDMM");
    }
    for (int64_t e = 0; e < s->nnz; e++) {
        narrow[e] = (int32_t)place[e];
    }
    status = upload(s, narrow, s->nnz, &s->tasks.place);
    spmmi_free(narrow);
    return status;
}

static spmm_status_t make_tasks(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_sddmm_task_list_t list;
    spmm_status_t          status;

    SPMM_TRY(spmmi_sddmm_make_tasks(s->device->env, block, &list));
    s->tasks.n_tasks = list.n_tasks;
    status           = upload(s, list.row, list.n_tasks, &s->tasks.row);
    if (status == SPMM_OK) {
        status = upload(s, list.first, (int64_t)list.n_tasks + 1, &s->tasks.first);
    }
    spmmi_sddmm_free_tasks(&list);
    SPMM_TRY(status);
    SPMM_TRY(upload(s, block->col_idx, s->nnz, &s->tasks.col));
    return place == NULL ? SPMM_OK : upload_place(s, place);
}

static spmm_status_t upload_batches(spmm_sampler_t *s, const spmm_sddmm_batch_list_t *list)
{
    const int64_t places = (int64_t)list->n_batches * list->size;

    s->batches.n_batches = list->n_batches;
    s->batches.size      = list->size;
    s->batches.rows      = list->rows;
    s->batches.height    = list->height;
    SPMM_TRY(upload(s, list->row, (int64_t)list->n_batches * list->rows, &s->batches.row));
    SPMM_TRY(upload(s, list->entry, places, &s->batches.entry));
    return upload(s, list->place, places * list->height, &s->batches.place);
}

static spmm_status_t make_panels(spmm_sampler_t *s, const spmm_csr_t *block,
                                 const spmm_sampler_choice_t *choice, bool half,
                                 const int64_t *place)
{
    const int32_t           size = half ? SPMM_SDDMM_BATCH : SPMM_SDDMM_TASK;
    const int32_t           rows = half ? SPMM_SDDMM_BATCH_ROWS : 1;
    spmm_sddmm_sequence_t   sequence;
    spmm_sddmm_batch_list_t list;
    spmm_status_t           status;

    if (block->n_cols > INT32_MAX / rows) { /* entries hold rows * column + row */
        return spmmi_fail(&s->device->env->err, SPMM_ERR_RANGE,
                          "a mask with %d columns on rank %d: the SDDMM kernel panels takes fewer "
                          "than 2^28 in 16 bits; use csr or cvse",
                          (int)block->n_cols, s->device->env->rank);
    }
    SPMM_TRY(
        spmmi_sddmm_make_sequence(s->device->env, block, choice->width, choice->pair, &sequence));
    status = spmmi_sddmm_make_batches(s->device->env, block, &sequence, place, size, rows, &list);
    spmmi_sddmm_free_sequence(&sequence);
    SPMM_TRY(status);
    status = upload_batches(s, &list);
    spmmi_sddmm_free_batches(&list);
    return status;
}

static spmm_status_t upload_squares(spmm_sampler_t *s, const spmm_csr_t *block,
                                    const spmm_sddmm_square_list_t *list)
{
    void *entry = NULL;

    s->squares.n_rows    = block->n_rows;
    s->squares.n_cols    = block->n_cols;
    s->squares.n_squares = list->n_squares;
    SPMM_TRY(upload(s, list->corner, 2 * (int64_t)list->n_squares, &s->squares.corner));
    SPMM_TRY(upload(s, list->first, (int64_t)list->n_squares * SPMM_SDDMM_STRIPS + 1,
                    &s->squares.first));
    SPMM_TRY(list->shift == NULL
                 ? upload(s, list->place, s->nnz, &s->squares.place)
                 : upload(s, list->shift, (int64_t)list->n_squares * SPMM_SDDMM_SQUARE,
                          &s->squares.shift));
    SPMM_TRY(upload_bytes(s, list->entry, (size_t)s->nnz * sizeof *list->entry, &entry));
    s->squares.entry = entry;
    return block->row_map == NULL ? SPMM_OK
                                  : upload(s, block->row_map, block->n_rows, &s->squares.row_map);
}

static spmm_status_t make_squares(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_sddmm_square_list_t list;
    spmm_status_t            status;

    SPMM_TRY(spmmi_sddmm_make_squares(s->device->env, block, place, &list));
    status = upload_squares(s, block, &list);
    spmmi_sddmm_free_squares(&list);
    return status;
}

static spmm_status_t make_form(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place,
                               const spmm_sampling_t *what)
{
    spmm_sampler_choice_t choice;

    SPMM_TRY(spmmi_sampler_choose(s->device, block, what, &choice));
    s->format = choice.format;
    switch (choice.format) {
    case SPMM_SAMPLER_CSR:
        return make_tasks(s, block, place);
    case SPMM_SAMPLER_PANELS:
        return make_panels(s, block, &choice, spmm_type_size(what->type) == 2, place);
    case SPMM_SAMPLER_DENSE:
        return make_squares(s, block, place);
    case SPMM_SAMPLER_CVSE:
        s->height = choice.height;
        break;
    }
    return make_tiles(s, block, place);
}

spmm_status_t spmmi_sampler_create(const spmm_device_t *device, const spmm_csr_t *block,
                                   const int64_t *place, const spmm_sampling_t *what,
                                   spmm_sampler_t *sampler)
{
    spmm_sampler_t made = {.device = device, .nnz = spmmi_csr_nnz(block)};
    spmm_status_t  status;

    if (made.nnz > INT32_MAX) {
        return spmmi_fail(&device->env->err, SPMM_ERR_RANGE,
                          "a mask with %" PRId64
                          " entries on rank %d: an SDDMM takes up to 2^31 - 1 "
                          "on each; use more ranks",
                          made.nnz, device->env->rank);
    }
    status = make_form(&made, block, place, what);
    if (status == SPMM_OK) {
        status = device->ops->stream_sync(device, NULL);
    }
    if (status != SPMM_OK) {
        spmmi_sampler_free(&made);
        return status;
    }
    *sampler = made;
    return SPMM_OK;
}

void spmmi_sampler_free(spmm_sampler_t *sampler)
{
    for (int k = 0; k < sampler->n_uploads; k++) {
        sampler->device->ops->release(sampler->device, sampler->upload[k]);
    }
    memset(sampler, 0, sizeof *sampler);
}

#ifdef SPMM_HAVE_CUDA
static cudaError_t run_cuda(const spmm_sampler_t *s, const spmm_sddmm_args_t *args,
                            cudaStream_t stream)
{
    switch (s->format) {
    case SPMM_SAMPLER_CSR:
        return spmmi_cuda_sddmm_tasks(&s->tasks, args, stream);
    case SPMM_SAMPLER_PANELS:
        return s->batches.rows > 1 ? spmmi_cuda_sddmm_batches(&s->batches, args, stream)
                                   : spmmi_cuda_sddmm_panels(&s->batches, args, stream);
    case SPMM_SAMPLER_DENSE:
        return spmmi_cuda_sddmm_squares(&s->squares, args, stream);
    case SPMM_SAMPLER_CVSE:
        break;
    }
    return spmmi_cuda_sddmm_tiles(&s->tiles, args, stream);
}
#endif

/* Formats that were not made have no work. */
static void run_cpu(const spmm_sampler_t *s, const spmm_sddmm_args_t *args)
{
    spmmi_cpu_sddmm_tiles(&s->tiles, args);
    spmmi_cpu_sddmm_batches(&s->batches, args);
    spmmi_cpu_sddmm_tasks(&s->tasks, args);
    spmmi_cpu_sddmm_squares(&s->squares, args);
}

spmm_status_t spmmi_sampler_run(const spmm_sampler_t *sampler, const spmm_sddmm_args_t *args,
                                spmm_stream_t stream)
{
    const spmm_device_t *device = sampler->device;
    spmm_sddmm_args_t    mine   = *args;

    mine.n_sm    = device->n_sm;
    mine.cc      = device->cc;
    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU) {
        run_cpu(sampler, &mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmmi_cuda_use(device));
        return spmmi_cuda_check(device, run_cuda(sampler, &mine, (cudaStream_t)stream),
                                "the kernel sddmm");
    }
#else
    (void)stream;
#endif
    return SPMM_OK;
}

spmm_status_t spmmi_row_softmax(const spmm_device_t *device, const spmm_softmax_args_t *args,
                                spmm_stream_t stream)
{
    spmm_softmax_args_t mine = *args;

    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU) {
        spmmi_cpu_row_softmax(&mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmmi_cuda_use(device));
        return spmmi_cuda_check(device, spmmi_cuda_row_softmax(&mine, (cudaStream_t)stream),
                                "the kernel row_softmax");
    }
#else
    (void)stream;
#endif
    return SPMM_OK;
}

spmm_status_t spmmi_place_values(const spmm_device_t *device, const spmm_place_args_t *args,
                                 spmm_stream_t stream)
{
    spmm_place_args_t mine = *args;

    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU) {
        spmmi_cpu_place_values(&mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmmi_cuda_use(device));
        return spmmi_cuda_check(device, spmmi_cuda_place_values(&mine, (cudaStream_t)stream),
                                "the kernel place_values");
    }
#else
    (void)stream;
#endif
    return SPMM_OK;
}

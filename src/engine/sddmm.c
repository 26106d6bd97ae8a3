/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sddmm.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "engine/windows.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"
#endif

static bool has_tiles(spmm_type_t type)
{
    return type != SPMM_R_64F;
}

static bool asks_for(const spmm_sampling_t *what, const char *kernel)
{
    return what->kernel != NULL && strcmp(what->kernel, kernel) == 0;
}

spmm_status_t spmm_sampler_check(const spmm_device_t *device, const spmm_sampling_t *what)
{
    spmm_error_t *err   = &device->env->err;
    const bool    named = what->kernel != NULL && strcmp(what->kernel, "auto") != 0;

    if (!spmm_cpu_sddmm_supports(what->type, what->s_type)) {
        return spmm_fail(err, SPMM_ERR_ARGUMENT,
                         "S must have the type of X and Y, or 32f where they are 16f or 16bf");
    }
    if (named && !asks_for(what, "csr") && !asks_for(what, "cvse")) {
        return spmm_fail(err, SPMM_ERR_ARGUMENT,
                         "there is no SDDMM kernel \"%.40s\": csr, cvse or auto", what->kernel);
    }
    if (asks_for(what, "cvse") && !has_tiles(what->type)) {
        return spmm_fail(err, SPMM_ERR_UNSUPPORTED,
                         "the SDDMM kernel cvse needs X and Y of type 32f, 16f or 16bf, not %s",
                         spmm_type_name(what->type));
    }
    if (asks_for(what, "cvse") && device->kind == SPMM_DEVICE_CUDA && device->cc < 80) {
        return spmm_fail(err, SPMM_ERR_UNSUPPORTED,
                         "the SDDMM kernel cvse needs a GPU of compute capability 8.0 or later");
    }
    return SPMM_OK;
}

static spmm_status_t count_vectors(const spmm_device_t *device, const spmm_csr_t *block,
                                   int32_t height, double *vectors)
{
    spmm_windows_t windows;

    SPMM_TRY(spmm_windows_create(device->env, block, height, device->threads, &windows));
    *vectors = 0.0;
    for (int32_t w = 0; w < windows.n_windows; w++) {
        *vectors += windows.count[w];
    }
    spmm_windows_free(&windows);
    return SPMM_OK;
}

/* Bytes that a product takes with windows of @p height rows; 0: csr.  A row of Y for each entry or each
 * vector, what says where they stand and go (a place for each row of a vector where masks are not in
 * the order of CSR or of vectors, which is not known here), results; and, as bytes that the L2 could
 * have brought meanwhile, half of what three TF32 products for one of FP32 take. */
static double bytes_of(const spmm_csr_t *block, const spmm_sampling_t *what, int32_t height,
                       double vectors)
{
    const double k = (double)what->k, nnz = (double)spmm_csr_nnz(block);
    const double row   = k * (double)spmm_type_size(what->type);
    const double extra = what->type == SPMM_R_32F ? 0.1 * k * height : 0.0;
    const double s     = (double)spmm_type_size(what->s_type);

    return height == 0 ? nnz * (row + 4.0 + s) : vectors * (row + 4.0 + height + extra) + nnz * s;
}

/* V = 16 takes twice the sums in registers, so that fewer warps are resident; and bytes are no
 * promise.  In FP32 tiles were ahead by 1.1 to 1.6 on an H200 where they move a third of the bytes, behind by
 * 1.1 to 1.9 where they move seven tenths. */
static spmm_status_t choose_height(const spmm_device_t *device, const spmm_csr_t *block,
                                   const spmm_sampling_t *what, int32_t *height)
{
    const double taller = 0.9, worth_it = what->type == SPMM_R_32F ? 0.6 : 0.8;
    double       of8, of16, csr;
    bool         tall;

    *height = 0;
    if (!has_tiles(what->type) || asks_for(what, "csr") ||
        (!asks_for(what, "cvse") && (device->kind != SPMM_DEVICE_CUDA || device->cc < 80))) {
        return SPMM_OK;
    }
    SPMM_TRY(count_vectors(device, block, 8, &of8));
    SPMM_TRY(count_vectors(device, block, 16, &of16));
    of8  = bytes_of(block, what, 8, of8);
    of16 = bytes_of(block, what, 16, of16);
    csr  = bytes_of(block, what, 0, 0.0);
    tall = of16 < taller * of8;
    if (asks_for(what, "cvse") || (tall ? of16 : of8) < worth_it * csr) {
        *height = tall ? 16 : 8;
    }
    return SPMM_OK;
}

/* Device memory of @p count elements, filled from @p host. */
static spmm_status_t upload(spmm_sampler_t *s, const int32_t *host, int64_t count,
                            const int32_t **device)
{
    const size_t bytes  = (size_t)count * sizeof *host; /* of an array that the host holds */
    void        *memory = NULL;

    SPMM_TRY(s->device->ops->alloc_cached(s->device, bytes, &memory));
    s->upload[s->n_uploads++] = memory;
    s->device_bytes += bytes;
    *device = memory;
    return s->device->ops->stage(s->device, memory, host, bytes);
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
        spmm_sddmm_make_tiles(s->device->env, block, s->height, place, s->device->threads, &list));
    status = upload_tiles(s, block, &list);
    spmm_sddmm_free_tiles(&list);
    return status;
}

static spmm_status_t upload_place(spmm_sampler_t *s, const int64_t *place)
{
    int32_t      *narrow;
    spmm_status_t status;

    if (SPMM_NEW(narrow, s->nnz) == NULL) {
        return spmm_fail_memory(&s->device->env->err, s->nnz, sizeof *narrow,
                                "the places of an SDDMM");
    }
    for (int64_t e = 0; e < s->nnz; e++) {
        narrow[e] = (int32_t)place[e];
    }
    status = upload(s, narrow, s->nnz, &s->tasks.place);
    spmm_free(narrow);
    return status;
}

static spmm_status_t make_tasks(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_sddmm_task_list_t list;
    spmm_status_t          status;

    SPMM_TRY(spmm_sddmm_make_tasks(s->device->env, block, &list));
    s->tasks.n_tasks = list.n_tasks;
    status           = upload(s, list.row, list.n_tasks, &s->tasks.row);
    if (status == SPMM_OK) {
        status = upload(s, list.first, (int64_t)list.n_tasks + 1, &s->tasks.first);
    }
    spmm_sddmm_free_tasks(&list);
    SPMM_TRY(status);
    SPMM_TRY(upload(s, block->col_idx, s->nnz, &s->tasks.col));
    return place == NULL ? SPMM_OK : upload_place(s, place);
}

spmm_status_t spmm_sampler_create(const spmm_device_t *device, const spmm_csr_t *block,
                                  const int64_t *place, const spmm_sampling_t *what,
                                  spmm_sampler_t *sampler)
{
    spmm_sampler_t made = {.device = device, .nnz = spmm_csr_nnz(block)};
    spmm_status_t  status;

    if (made.nnz > INT32_MAX) {
        return spmm_fail(&device->env->err, SPMM_ERR_RANGE,
                         "a mask with %" PRId64
                         " entries on rank %d: an SDDMM takes up to 2^31 - 1 "
                         "on each; use more ranks",
                         made.nnz, device->env->rank);
    }
    SPMM_TRY(choose_height(device, block, what, &made.height));
    status = made.height > 0 ? make_tiles(&made, block, place) : make_tasks(&made, block, place);
    if (status == SPMM_OK) {
        status = device->ops->stream_sync(device, NULL);
    }
    if (status != SPMM_OK) {
        spmm_sampler_free(&made);
        return status;
    }
    *sampler = made;
    return SPMM_OK;
}

void spmm_sampler_free(spmm_sampler_t *sampler)
{
    for (int k = 0; k < sampler->n_uploads; k++) {
        sampler->device->ops->release(sampler->device, sampler->upload[k]);
    }
    memset(sampler, 0, sizeof *sampler);
}

spmm_status_t spmm_sampler_run(const spmm_sampler_t *sampler, const spmm_sddmm_args_t *args,
                               spmm_stream_t stream)
{
    const spmm_device_t *device = sampler->device;
    spmm_sddmm_args_t    mine   = *args;

    mine.n_sm    = device->n_sm;
    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU && sampler->height > 0) {
        spmm_cpu_sddmm_tiles(&sampler->tiles, &mine);
    } else if (device->kind == SPMM_DEVICE_CPU) {
        spmm_cpu_sddmm_tasks(&sampler->tasks, &mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmm_cuda_use(device));
        return spmm_cuda_check(
            device,
            sampler->height > 0
                ? spmm_cuda_sddmm_tiles(&sampler->tiles, &mine, (cudaStream_t)stream)
                : spmm_cuda_sddmm_tasks(&sampler->tasks, &mine, (cudaStream_t)stream),
            "the kernel sddmm");
    }
#else
    (void)stream;
#endif
    return SPMM_OK;
}

spmm_status_t spmm_row_softmax(const spmm_device_t *device, const spmm_softmax_args_t *args,
                               spmm_stream_t stream)
{
    spmm_softmax_args_t mine = *args;

    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU) {
        spmm_cpu_row_softmax(&mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmm_cuda_use(device));
        return spmm_cuda_check(device, spmm_cuda_row_softmax(&mine, (cudaStream_t)stream),
                               "the kernel row_softmax");
    }
#else
    (void)stream;
#endif
    return SPMM_OK;
}

spmm_status_t spmm_place_values(const spmm_device_t *device, const spmm_place_args_t *args,
                                spmm_stream_t stream)
{
    spmm_place_args_t mine = *args;

    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU) {
        spmm_cpu_place_values(&mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmm_cuda_use(device));
        return spmm_cuda_check(device, spmm_cuda_place_values(&mine, (cudaStream_t)stream),
                               "the kernel place_values");
    }
#else
    (void)stream;
#endif
    return SPMM_OK;
}

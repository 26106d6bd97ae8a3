/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sddmm/sddmm.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "cpu/sddmm/sddmm.h"
#include "engine/windows/windows.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/cuda_kernels.h"
#include "cuda/sddmm/sddmm.h"
#include "device/device_cuda.h"
#endif

/* Masks as their kernels take them, from the host to the device. */

/* NULL: the identity. */
static const int32_t *upload_row_map(spmm_sampler_t *s, const spmm_csr_t *block,
                                     spmm_status_t *status)
{
    return block->row_map == NULL ? NULL
                                  : SPMM_UPLOAD(&s->uploads, block->row_map, block->n_rows, status);
}

static spmm_status_t make_tiles(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_uploads_t        *up     = &s->uploads;
    spmm_status_t          status = SPMM_OK;
    spmm_sddmm_tile_list_t list;

    SPMM_TRY(
        spmmi_sddmm_make_tiles(s->device->env, block, s->height, place, s->device->threads, &list));
    s->vectors       = list.vectors;
    s->tiles.n_rows  = block->n_rows;
    s->tiles.n_tiles = list.n_tiles;
    s->tiles.height  = list.height;
    s->tiles.order   = list.order;
    s->tiles.window  = SPMM_UPLOAD(up, list.window, list.n_tiles, &status);
    s->tiles.col     = SPMM_UPLOAD(up, list.col, (int64_t)list.n_tiles * SPMM_SDDMM_TILE, &status);
    s->tiles.place   = SPMM_UPLOAD(up, list.place, list.n_places, &status);
    s->tiles.row_map = upload_row_map(s, block, &status);
    spmmi_sddmm_free_tiles(&list);
    return status;
}

static spmm_status_t upload_place(spmm_sampler_t *s, const int64_t *place)
{
    int32_t      *narrow;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW(narrow, s->nnz) == NULL) {
        return spmmi_fail_memory(&s->device->env->err, s->nnz, sizeof *narrow,
                                 "the places of an SDDMM");
    }
    for (int64_t e = 0; e < s->nnz; e++) {
        narrow[e] = (int32_t)place[e];
    }
    s->tasks.place = SPMM_UPLOAD(&s->uploads, narrow, s->nnz, &status);
    spmmi_free(narrow);
    return status;
}

static spmm_status_t make_tasks(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_uploads_t        *up     = &s->uploads;
    spmm_status_t          status = SPMM_OK;
    spmm_sddmm_task_list_t list;

    SPMM_TRY(spmmi_sddmm_make_tasks(s->device->env, block, &list));
    s->tasks.n_tasks = list.n_tasks;
    s->tasks.row     = SPMM_UPLOAD(up, list.row, list.n_tasks, &status);
    s->tasks.first   = SPMM_UPLOAD(up, list.first, (int64_t)list.n_tasks + 1, &status);
    s->tasks.col     = SPMM_UPLOAD(up, block->col_idx, s->nnz, &status);
    spmmi_sddmm_free_tasks(&list);
    return status == SPMM_OK && place != NULL ? upload_place(s, place) : status;
}

static spmm_status_t make_squares(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_uploads_t          *up     = &s->uploads;
    spmm_sddmm_squares_t    *to     = &s->squares;
    spmm_status_t            status = SPMM_OK;
    spmm_sddmm_square_list_t list;
    int64_t                  n;

    SPMM_TRY(spmmi_sddmm_make_squares(s->device->env, block, place, &list));
    n             = list.n_squares;
    to->n_rows    = block->n_rows;
    to->n_cols    = block->n_cols;
    to->n_squares = list.n_squares;
    to->corner    = SPMM_UPLOAD(up, list.corner, 2 * n, &status);
    to->first     = SPMM_UPLOAD(up, list.first, n * SPMM_SDDMM_STRIPS + 1, &status);
    to->entry     = SPMM_UPLOAD(up, list.entry, s->nnz, &status);
    if (list.shift == NULL) {
        to->place = SPMM_UPLOAD(up, list.place, s->nnz, &status);
    } else {
        to->shift = SPMM_UPLOAD(up, list.shift, n * SPMM_SDDMM_SQUARE, &status);
    }
    to->row_map = upload_row_map(s, block, &status);
    spmmi_sddmm_free_squares(&list);
    return status;
}

static spmm_status_t make_rectangles(spmm_sampler_t *s, const spmm_csr_t *block,
                                     const spmm_sampler_choice_t *choice, bool half,
                                     const int64_t *place)
{
    spmm_uploads_t             *up     = &s->uploads;
    spmm_sddmm_rectangles_t    *to     = &s->rectangles;
    spmm_status_t               status = SPMM_OK;
    spmm_sddmm_rectangle_list_t list;

    SPMM_TRY(half ? spmmi_sddmm_make_rectangle_batches(s->device->env, block, place, choice->height,
                                                       choice->width, &list)
                  : spmmi_sddmm_make_rectangles(s->device->env, block, place, choice->height,
                                                choice->width, &list));
    to->n_rectangles = list.n_rectangles;
    to->n_rows       = block->n_rows;
    to->n_cols       = block->n_cols;
    to->rows         = list.rows;
    to->cols         = list.cols;
    to->range        = SPMM_UPLOAD(up, list.range, 4 * (int64_t)list.n_rectangles, &status);
    if (half) {
        to->entry = SPMM_UPLOAD(up, list.entry, list.n_tasks * SPMM_SDDMM_BATCH, &status);
        to->place = SPMM_UPLOAD(up, list.place, list.n_tasks * SPMM_SDDMM_BATCH, &status);
        to->row   = SPMM_UPLOAD(up, list.row, list.n_tasks * SPMM_SDDMM_BATCH_ROWS, &status);
    } else {
        to->task = SPMM_UPLOAD(up, list.task, 2 * list.n_tasks, &status);
        to->col  = SPMM_UPLOAD(up, list.col, list.n_tasks * SPMM_SDDMM_TASK, &status);
    }
    to->row_map = upload_row_map(s, block, &status);
    spmmi_sddmm_free_rectangles(&list);
    return status;
}

/* Choose a format of @p block and put its arrays on the device of @p sampler, which owns them.
 * @param[in] place  as in spmmi_sampler_create() */
static spmm_status_t sampler_make_format(spmm_sampler_t *s, const spmm_csr_t *block,
                                         const int64_t *place, const spmm_sampling_t *what)
{
    spmm_sampler_choice_t choice;

    SPMM_TRY(spmmi_sampler_choose(s->device, block, place, what, &choice));
    s->format = choice.format;
    switch (choice.format) {
    case SPMM_SAMPLER_CSR:
        return make_tasks(s, block, place);
    case SPMM_SAMPLER_RECTANGLES:
        return make_rectangles(s, block, &choice, spmm_type_size(what->type) == 2, place);
    case SPMM_SAMPLER_DENSE:
        return make_squares(s, block, place);
    case SPMM_SAMPLER_CVSE:
        s->height = choice.height;
        break;
    }
    return make_tiles(s, block, place);
}

/* Which format of a mask, and how large its rectangles are. */

enum { SOME_SM = 16 }; /**< multiprocessors of a device that has none */

/** Picoseconds on an H200: of each row of Y, and of each byte of it. */
typedef struct {
    double row, byte;
} cost_t;

/* Fits to times of pruned masks of 8192 x 8192; csr_wide is for an H100. */
static const cost_t csr_wide = {1.7, 0.12}, csr_half = {10.0, 0.097};
static const cost_t low_wide = {35.0, 0.122}, low_half = {22.0, 0.098}; /* V = 8 */
static const cost_t tall_wide = {52.0, 0.147}, tall_half = {43.0, 0.100};

/* Of rectangles, picoseconds of a multiprocessor: of a byte that arrives; of 128 bytes of an entry
 * or a task, and of an entry besides; in 16 bits of a batch, and of a line of it; and what their
 * start takes longer.  Fits to masks of 4096 and 8192 with 90 to 98 % zeros on an H100. */
static const double rect_byte = 15.0, rect_line = 545.0, rect_entry = 380.0, rect_start = 2.7e6;
static const double batch_start = 11.6e3, batch_line = 28e3, half_start = 1.7e6;

/* Does the build have code for them?  Devices of other capabilities do not run it. */
static bool has_sweeps(const spmm_device_t *device)
{
#ifdef SPMM_HAVE_CUDA
    return device->cc == 90 && spmmi_cuda_sddmm_sweeps_built();
#else
    (void)device;
    return false;
#endif
}

static bool has_rectangles(const spmm_device_t *device)
{
#ifdef SPMM_HAVE_CUDA
    return spmmi_sddmm_holds_rectangles(device->cc) && spmmi_device_runs(device, 90);
#else
    (void)device;
    return false;
#endif
}

static int multiprocessors(const spmm_device_t *device)
{
    return device->n_sm > 0 ? device->n_sm : SOME_SM;
}

static bool is_half(const spmm_sampling_t *what)
{
    return spmm_type_size(what->type) == 2;
}

static double row_bytes(const spmm_sampling_t *what)
{
    return (double)what->k * (double)spmm_type_size(what->type);
}

static double time_of(const spmm_sampling_t *what, double rows, const cost_t *cost)
{
    return rows * (cost->row + cost->byte * row_bytes(what));
}

static spmm_status_t count_vectors(const spmm_device_t *device, const spmm_csr_t *block,
                                   int32_t height, double *vectors)
{
    spmm_windows_t windows;

    SPMM_TRY(spmmi_windows_create(device->env, block, height, device->threads, &windows));
    *vectors = 0.0;
    for (int32_t w = 0; w < windows.n_windows; w++) {
        *vectors += windows.count[w];
    }
    spmmi_windows_free(&windows);
    return SPMM_OK;
}

/* Windows of which height, and are they worth it: bytes are no promise.  In FP32 tiles were ahead
 * of csr by 1.1 to 1.6 on an H200 where they move a third of the bytes, behind by 1.1 to 1.9 where
 * they move seven tenths. */
static spmm_status_t consider_tiles(const spmm_device_t *device, const spmm_csr_t *block,
                                    const spmm_sampling_t *what, spmm_sampler_choice_t *choice,
                                    double *time)
{
    const bool   half     = is_half(what);
    const double worth_it = half ? 0.8 : 0.6, extra = half ? 0.0 : 0.1 * (double)what->k;
    const double s = (double)spmm_type_size(what->s_type), row = row_bytes(what) + 4.0;
    const double nnz = (double)spmmi_csr_nnz(block);
    double       of8, of16, bytes;

    SPMM_TRY(count_vectors(device, block, 8, &of8));
    SPMM_TRY(count_vectors(device, block, 16, &of16));
    choice->height = time_of(what, of16, half ? &tall_half : &tall_wide) <
                             time_of(what, of8, half ? &low_half : &low_wide)
                         ? 16
                         : 8;
    bytes =
        choice->height == 16 ? of16 * (row + 16 * (1.0 + extra)) : of8 * (row + 8 * (1.0 + extra));
    if (spmmi_asks_for(what, "cvse") || bytes + nnz * s < worth_it * nnz * (row + s)) {
        choice->format = SPMM_SAMPLER_CVSE;
        *time          = choice->height == 16 ? time_of(what, of16, half ? &tall_half : &tall_wide)
                                              : time_of(what, of8, half ? &low_half : &low_wide);
    }
    return SPMM_OK;
}

/* Whole waves of two squares for each multiprocessor; picoseconds on an H200 of each square, of
 * each column of X and Y in it, and of each entry: a fit to masks of 8192 x 8192 with 90 and 98 %
 * zeros, K = 64 and 256.  Of sweeps, on an H100, the same of couples, one for each multiprocessor,
 * and what their start takes longer: a fit to masks of 4096 and 8192 with 90 to 98 % zeros. */
static double time_of_squares(const spmm_device_t *device, const spmm_csr_t *block,
                              const spmm_sampling_t *what)
{
    const bool sweeps = has_sweeps(device) && what->s_type == what->type &&
                        what->k <= SPMM_SDDMM_SWEPT && what->k % 8 == 0;
    const double start = sweeps ? 3.2e6 : 0.0, entry = sweeps ? 0.95 : 3.55;
    const double round   = sweeps ? 330e3 + 12e3 * (double)what->k
                                  : device->n_sm * 2.0 * (7200.0 + 77.0 * (double)what->k);
    const double squares = ceil(block->n_rows / (double)SPMM_SDDMM_SQUARE) *
                           ceil(block->n_cols / (double)SPMM_SDDMM_SQUARE);

    return start + ceil(squares / (2.0 * device->n_sm)) * round +
           entry * (double)spmmi_csr_nnz(block);
}

/* The longer of both: what arrives, and what is read of it; or of the rectangle with the most. */
static double time_of_weight(const spmm_device_t *device, const spmm_sampling_t *what, double nnz,
                             const spmm_sampler_choice_t *choice, const spmm_sddmm_weight_t *w)
{
    const double lines = ceil(row_bytes(what) / SPMM_SDDMM_LINE);
    const double bytes = lines * SPMM_SDDMM_LINE * ((double)choice->height + choice->width);
    const double waves = ceil((double)w->rectangles / device->n_sm);
    const double each  = (double)w->tasks / device->n_sm;
    const double reads =
        is_half(what) ? fmax(each, (double)w->most) * (batch_start + lines * batch_line)
                      : fmax(nnz / device->n_sm + each, (double)w->most) * lines * rect_line +
                            nnz / device->n_sm * rect_entry;

    return (is_half(what) ? half_start : rect_start) + fmax(waves * bytes * rect_byte, reads);
}

/* Rectangles without row_map, of rows as tensor maps take them; of many an entry each is no use. */
static spmm_status_t consider_rectangles(const spmm_device_t *device, const spmm_csr_t *block,
                                         const int64_t *place, const spmm_sampling_t *what,
                                         spmm_sampler_choice_t *choice, double *time)
{
    const double          nnz = (double)spmmi_csr_nnz(block), share = 16.0;
    spmm_sampler_choice_t mine = {.format = SPMM_SAMPLER_RECTANGLES};
    spmm_sddmm_weight_t   weight;
    double                predicted;

    if (!has_rectangles(device) || block->row_map != NULL || fmod(row_bytes(what), 16.0) != 0.0 ||
        !spmmi_sddmm_rectangle_shape(block, is_half(what), device->n_sm, nnz / share, &mine.height,
                                     &mine.width)) {
        return SPMM_OK;
    }
    SPMM_TRY(is_half(what)
                 ? spmmi_sddmm_weigh_batches(device->env, block, mine.height, mine.width, &weight)
                 : spmmi_sddmm_weigh_rectangles(device->env, block, place, mine.height, mine.width,
                                                &weight));
    predicted = time_of_weight(device, what, nnz, &mine, &weight);
    if (predicted < *time) {
        *time   = predicted;
        *choice = mine;
    }
    return SPMM_OK;
}

/* Every rectangle is looked at, those without an entry too: of very many that is endless. */
static spmm_status_t take_rectangles(const spmm_device_t *device, const spmm_csr_t *block,
                                     const spmm_sampling_t *what, spmm_sampler_choice_t *choice)
{
    const double few = 1 << 20, each = 16.0;
    const double most = few + each * (double)spmmi_csr_nnz(block);

    choice->format = SPMM_SAMPLER_RECTANGLES;
    if (!spmmi_sddmm_rectangle_shape(block, is_half(what), multiprocessors(device), most,
                                     &choice->height, &choice->width)) {
        return spmmi_fail(&device->env->err, SPMM_ERR_RANGE,
                          "a mask of %d x %d with %" PRId64 " entries on rank %d: the SDDMM kernel "
                          "rectangles would have more than %.0f of them; use csr",
                          (int)block->n_rows, (int)block->n_cols, spmmi_csr_nnz(block),
                          device->env->rank, most);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_sampler_choose(const spmm_device_t *device, const spmm_csr_t *block,
                                   const int64_t *place, const spmm_sampling_t *what,
                                   spmm_sampler_choice_t *choice)
{
    const bool   named = !spmmi_candidate_is_auto(what->kernel);
    const bool   gpu   = device->kind == SPMM_DEVICE_CUDA && device->cc >= 80;
    const double ahead = 0.9;
    double       time =
        time_of(what, (double)spmmi_csr_nnz(block), is_half(what) ? &csr_half : &csr_wide);

    *choice = (spmm_sampler_choice_t){.format = SPMM_SAMPLER_CSR};
    if (spmmi_asks_for(what, "csr") || (!named && !gpu)) {
        return SPMM_OK;
    }
    if (spmmi_asks_for(what, "rectangles")) {
        return take_rectangles(device, block, what, choice);
    }
    if (what->type != SPMM_R_64F && !spmmi_asks_for(what, "dense")) {
        SPMM_TRY(consider_tiles(device, block, what, choice, &time));
    }
    if (spmmi_asks_for(what, "dense")) {
        choice->format = SPMM_SAMPLER_DENSE;
        return SPMM_OK;
    }
    if (!named && is_half(what) && spmmi_sddmm_has_squares(block)) {
        const double squares = time_of_squares(device, block, what);

        if (squares < ahead * time) {
            time           = squares;
            choice->format = SPMM_SAMPLER_DENSE;
        }
    }
    return named ? SPMM_OK : consider_rectangles(device, block, place, what, choice, &time);
}

spmm_status_t spmmi_sampler_check(const spmm_device_t *device, const spmm_sampling_t *what)
{
    spmm_error_t *err   = &device->env->err;
    const bool    named = !spmmi_candidate_is_auto(what->kernel);
    const bool    tiles = spmmi_asks_for(what, "cvse");
    const bool    half = spmm_type_size(what->type) == 2, dense = spmmi_asks_for(what, "dense");
    const bool    mma = tiles || dense;

    if (spmmi_is_complex(what->type)) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "SDDMM is of real matrices: this mask has type %s",
                          spmmi_type_name(what->type));
    }
    if (!spmmi_cpu_sddmm_supports(what->type, what->s_type)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "S must have the type of X and Y, or 32f where they are 16f or 16bf");
    }
    if (named && !spmmi_asks_for(what, "csr") && !spmmi_asks_for(what, "rectangles") && !tiles &&
        !dense) {
        return spmmi_fail(
            err, SPMM_ERR_ARGUMENT,
            "there is no SDDMM kernel \"%.40s\": csr, rectangles, cvse, dense or auto",
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
    static const char *const name[] = {[SPMM_SAMPLER_CSR]        = "csr",
                                       [SPMM_SAMPLER_RECTANGLES] = "rectangles",
                                       [SPMM_SAMPLER_CVSE]       = "cvse",
                                       [SPMM_SAMPLER_DENSE]      = "dense"};

    return name[sampler->format];
}

spmm_status_t spmmi_sampler_create(const spmm_device_t *device, const spmm_csr_t *block,
                                   const int64_t *place, const spmm_sampling_t *what,
                                   spmm_sampler_t *sampler)
{
    spmm_sampler_t made = {.device = device, .nnz = spmmi_csr_nnz(block), .uploads.device = device};
    spmm_status_t  status;

    if (made.nnz > INT32_MAX) {
        return spmmi_fail(&device->env->err, SPMM_ERR_RANGE,
                          "a mask with %" PRId64
                          " entries on rank %d: an SDDMM takes up to 2^31 - 1 "
                          "on each; use more ranks",
                          made.nnz, device->env->rank);
    }
    status = sampler_make_format(&made, block, place, what);
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
    spmmi_uploads_free(&sampler->uploads);
    memset(sampler, 0, sizeof *sampler);
}

#ifdef SPMM_HAVE_CUDA
static cudaError_t run_cuda(const spmm_sampler_t *s, const spmm_sddmm_args_t *args,
                            cudaStream_t stream)
{
    switch (s->format) {
    case SPMM_SAMPLER_CSR:
        return spmmi_cuda_sddmm_tasks(&s->tasks, args, stream);
    case SPMM_SAMPLER_RECTANGLES:
        return spmmi_cuda_sddmm_rectangles(&s->rectangles, args, stream);
    case SPMM_SAMPLER_DENSE:
        return spmmi_cuda_sddmm_squares(&s->squares, args, stream);
    case SPMM_SAMPLER_CVSE:
        break;
    }
    return spmmi_cuda_sddmm_tiles(&s->tiles, args, stream);
}
#endif

/* On CPUs formats that were not made have no work. */
static spmm_status_t run(const spmm_sampler_t *s, const spmm_sddmm_args_t *args,
                         spmm_stream_t stream)
{
    SPMM_RUN_CUDA(s->device, "the kernel sddmm", run_cuda(s, args, (cudaStream_t)stream));
    spmmi_cpu_sddmm_tiles(&s->tiles, args);
    spmmi_cpu_sddmm_rectangles(&s->rectangles, args);
    spmmi_cpu_sddmm_tasks(&s->tasks, args);
    spmmi_cpu_sddmm_squares(&s->squares, args);
    return SPMM_OK;
}

spmm_status_t spmmi_sampler_run(const spmm_sampler_t *sampler, const spmm_sddmm_args_t *args,
                                spmm_stream_t stream)
{
    const spmm_device_t *device = sampler->device;
    spmm_sddmm_args_t    mine   = *args;
    bool                 no_map = false;

    mine.no_map  = &no_map;
    mine.n_sm    = device->n_sm;
    mine.cc      = device->cc;
    mine.threads = device->threads;
    SPMM_TRY(run(sampler, &mine, stream));
    if (no_map) {
        spmmi_log(device->env, "SDDMM: the driver makes no tensor map of X or Y: the kernel that "
                               "does without is slower");
    }
    return SPMM_OK;
}

spmm_status_t spmmi_row_softmax(const spmm_device_t *device, const spmm_softmax_args_t *args,
                                spmm_stream_t stream)
{
    spmm_softmax_args_t mine = *args;

    mine.threads = device->threads;
    SPMM_RUN_CUDA(device, "the kernel row_softmax",
                  spmmi_cuda_row_softmax(&mine, (cudaStream_t)stream));
    spmmi_cpu_row_softmax(&mine);
    return SPMM_OK;
}

spmm_status_t spmmi_place_values(const spmm_device_t *device, const spmm_place_args_t *args,
                                 spmm_stream_t stream)
{
    spmm_place_args_t mine = *args;

    mine.threads = device->threads;
    SPMM_RUN_CUDA(device, "the kernel place_values",
                  spmmi_cuda_place_values(&mine, (cudaStream_t)stream));
    spmmi_cpu_place_values(&mine);
    return SPMM_OK;
}

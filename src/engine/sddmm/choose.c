/* SPDX-License-Identifier: Apache-2.0 */
/** @file choose.c  Which format of a mask, and how large its rectangles are. */
#include <inttypes.h>
#include <math.h>

#include "engine/sddmm/rectangles.h"
#include "engine/sddmm/sddmm.h"
#include "engine/tc/windows.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/sddmm/sddmm.h"
#include "device/device_cuda.h"
#endif

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

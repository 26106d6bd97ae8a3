/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_choose.c  Which form of a mask, and how wide its panels are. */
#include <math.h>
#include <string.h>

#include "engine/sddmm.h"
#include "engine/windows.h"
#include "spmm_dist/context.h"

enum {
    L1_BYTES    = 144 << 10, /**< of rows of Y in a panel: the rest of 256 KiB is for rows of X */
    SLICE_BYTES = 512,       /**< of longer rows at a time, where sums may stay in S meanwhile */
    SOME_SM     = 16         /**< of a device that has no multiprocessors */
};

/** Picoseconds on an H200: of each row of Y, and of each byte of it. */
typedef struct {
    double row, byte;
} cost_t;

/* Fits to bench/results/sddmm.tsv: pruned masks of 8192 x 8192. */
static const cost_t csr_wide = {1.5, 0.105}, csr_half = {10.0, 0.097};
static const cost_t low_wide = {35.0, 0.122}, low_half = {22.0, 0.098}; /* V = 8 */
static const cost_t tall_wide = {52.0, 0.147}, tall_half = {43.0, 0.100};
/* By the width of L1 (128 bytes in a cycle) and of L2, at three quarters of the peak; and 20 or 60
 * instructions for each warp of 8 or 32 entries. */
static const cost_t panel_wide = {3.0, 0.045}, panel_half = {6.0, 0.045};
static const double fetch_byte = 0.15; /* ps for a byte from L2 */

static bool asks_for(const spmm_sampling_t *what, const char *kernel)
{
    return what->kernel != NULL && strcmp(what->kernel, kernel) == 0;
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

    SPMM_TRY(spmm_windows_create(device->env, block, height, device->threads, &windows));
    *vectors = 0.0;
    for (int32_t w = 0; w < windows.n_windows; w++) {
        *vectors += windows.count[w];
    }
    spmm_windows_free(&windows);
    return SPMM_OK;
}

/* Rows fetched are the fewest where the part of the mask that a multiprocessor has is as many rows as
 * columns; L1 sets a limit. */
static void set_width(const spmm_device_t *device, const spmm_csr_t *block,
                      const spmm_sampling_t *what, spmm_sampler_choice_t *choice)
{
    const double n_sm = device->n_sm > 0 ? device->n_sm : SOME_SM;
    const double row  = is_half(what) ? row_bytes(what) : fmin(row_bytes(what), SPMM_SDDMM_SLICE);
    double       width;
    int64_t      panels;

    width         = fmin(L1_BYTES / row, sqrt((double)block->n_rows * block->n_cols / n_sm));
    width         = fmin(fmax(width, 1.0), fmax((double)block->n_cols, 1.0));
    panels        = (int64_t)ceil(block->n_cols / width);
    choice->width = panels == 0 ? 1 : (int32_t)(((int64_t)block->n_cols + panels - 1) / panels);
}

/* Every entry from L1, every row of a panel of X and every row of a panel of Y on each multiprocessor
 * from L2. */
static double time_of_panels(const spmm_device_t *device, const spmm_csr_t *block,
                             const spmm_sampling_t *what, const spmm_sampler_choice_t *choice)
{
    const double nnz     = (double)spmm_csr_nnz(block);
    const double x       = (double)spmm_sddmm_count_segments(block, choice->width, device->threads);
    const double y       = fmax(block->n_cols, (double)device->n_sm * choice->width);
    const double fetched = fmin(x + y, nnz + x);

    return time_of(what, nnz, is_half(what) ? &panel_half : &panel_wide) +
           fetched * row_bytes(what) * fetch_byte;
}

/* Windows of which height, and are they worth it: bytes are no promise.  In FP32 tiles were ahead of csr by
 * 1.1 to 1.6 on an H200 where they move a third of the bytes, behind by 1.1 to 1.9 where they move seven
 * tenths. */
static spmm_status_t consider_tiles(const spmm_device_t *device, const spmm_csr_t *block,
                                    const spmm_sampling_t *what, spmm_sampler_choice_t *choice,
                                    double *time)
{
    const bool   half     = is_half(what);
    const double worth_it = half ? 0.8 : 0.6, extra = half ? 0.0 : 0.1 * (double)what->k;
    const double s = (double)spmm_type_size(what->s_type), row = row_bytes(what) + 4.0;
    const double nnz = (double)spmm_csr_nnz(block);
    double       of8, of16, bytes;

    SPMM_TRY(count_vectors(device, block, 8, &of8));
    SPMM_TRY(count_vectors(device, block, 16, &of16));
    choice->height = time_of(what, of16, half ? &tall_half : &tall_wide) <
                             time_of(what, of8, half ? &low_half : &low_wide)
                         ? 16
                         : 8;
    bytes =
        choice->height == 16 ? of16 * (row + 16 * (1.0 + extra)) : of8 * (row + 8 * (1.0 + extra));
    if (asks_for(what, "cvse") || bytes + nnz * s < worth_it * nnz * (row + s)) {
        choice->form = SPMM_SAMPLER_CVSE;
        *time        = choice->height == 16 ? time_of(what, of16, half ? &tall_half : &tall_wide)
                                            : time_of(what, of8, half ? &low_half : &low_wide);
    }
    return SPMM_OK;
}

spmm_status_t spmm_sampler_choose(const spmm_device_t *device, const spmm_csr_t *block,
                                  const spmm_sampling_t *what, spmm_sampler_choice_t *choice)
{
    const bool   named = what->kernel != NULL && strcmp(what->kernel, "auto") != 0;
    const bool   gpu   = device->kind == SPMM_DEVICE_CUDA && device->cc >= 80;
    const double ahead = 0.9;
    double time = time_of(what, (double)spmm_csr_nnz(block), is_half(what) ? &csr_half : &csr_wide);

    *choice = (spmm_sampler_choice_t){.form = SPMM_SAMPLER_CSR};
    if (asks_for(what, "csr") || (!named && !gpu)) {
        return SPMM_OK;
    }
    set_width(device, block, what, choice);
    if (asks_for(what, "panels")) {
        choice->form = SPMM_SAMPLER_PANELS;
        return SPMM_OK;
    }
    if (what->type != SPMM_R_64F) {
        SPMM_TRY(consider_tiles(device, block, what, choice, &time));
    }
    if (!named && block->n_cols <= INT32_MAX / SPMM_SDDMM_BATCH_ROWS &&
        time_of_panels(device, block, what, choice) < ahead * time) {
        choice->form = SPMM_SAMPLER_PANELS;
    }
    return SPMM_OK;
}

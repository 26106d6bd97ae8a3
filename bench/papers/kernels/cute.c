/* SPDX-License-Identifier: Apache-2.0 */
/** @file cute.c  cuTeSpMM: formats and virtual panels. */
#include "cute.h"

#include <math.h>

#include "base/alloc.h"
#include "device/device_cuda.h"
#include "engine/hrpb/format.h"
#include "engine/tc/work.h"
#include "published.h"
#include "spmm_dist/context.h"

/** Which panels are cut (section 5). */
typedef enum {
    CUT_NONE,
    CUT_MEAN,  /**< all that are longer than the mean, into pieces of that */
    CUT_WAVES, /**< by the number of waves */
    CUT_OURS   /**< as engine hrpb does */
} cut_t;

typedef struct {
    int32_t panel_rows;
    cut_t   cut;
    bool    atomic;
} variant_t;

static const char *const names[]    = {"TM 16",           "TM 32",       "no virtual panels",
                                       "cut at the mean", "cut as hrpb", "ordered sums",
                                       "mean and ordered"};
static const variant_t   variants[] = {
      {16, CUT_WAVES, true}, {32, CUT_WAVES, true},  {16, CUT_NONE, true}, {16, CUT_MEAN, true},
      {16, CUT_OURS, true},  {16, CUT_WAVES, false}, {16, CUT_MEAN, false}};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

typedef struct {
    cute_work_t        work;
    published_arrays_t arrays;
} state_t;

/* Blocks from which on a panel is cut, into pieces of at most that many. */
static int32_t longest(cut_t cut, const published_case_t *c, const spmm_hrpb_t *f, int resident)
{
    const double mean   = f->n_panels > 0 ? (double)f->n_blocks / f->n_panels : 0.0;
    const double slices = ceil((double)c->n / 128.0);
    const double waves  = f->n_panels * slices / ((double)c->device->n_sm * resident);
    const double warps  = f->n_panels * (double)c->n / 32.0 / (24.0 * c->device->n_sm);
    double       most   = INT32_MAX;

    switch (cut) {
    case CUT_NONE:
        break;
    case CUT_MEAN:
        most = ceil(mean);
        break;
    case CUT_WAVES:
        most = mean * ceil(waves);
        break;
    case CUT_OURS:
        most = warps < 0.5 ? 16.0 : fmax(16.0, mean * fmax(2.0, warps));
        break;
    }
    return (int32_t)fmin(fmax(ceil(most), 1.0), INT32_MAX);
}

static spmm_status_t make_work(const published_case_t *c, const spmm_hrpb_t *f, const variant_t *v,
                               state_t *s)
{
    spmm_tc_work_t  *work     = &s->work.work;
    int              resident = 1;
    int32_t          most;
    spmm_tc_pieces_t p;
    spmm_status_t    status;

    SPMM_TRY(spmmi_cuda_check(c->device, cute_resident(v->panel_rows, c->n, &resident),
                              "what a multiprocessor holds"));
    most = longest(v->cut, c, f, resident);
    SPMM_TRY(spmmi_tc_pieces_create(c->device->env, f->n_panels, f->block_ptr, NULL,
                                    (spmm_tc_limits_t){.team = most, .cut = most}, &p));
    *work       = (spmm_tc_work_t){.n_pieces  = p.n_pieces,
                                   .n_partial = p.n_partial,
                                   .n_team    = p.n_team,
                                   .n_splits  = p.n_splits};
    status      = SPMM_OK;
    work->piece = published_upload(c->device, p.piece, (size_t)p.n_pieces * sizeof *p.piece,
                                   &s->arrays, &status);
    work->split = published_upload(c->device, p.split, (size_t)p.n_splits * sizeof *p.split,
                                   &s->arrays, &status);
    if (status == SPMM_OK && !v->atomic) {
        const size_t bytes =
            (size_t)p.n_partial * (size_t)v->panel_rows * (size_t)c->n * sizeof(float);

        status                         = c->device->ops->alloc(c->device, bytes, &work->partial);
        s->arrays.array[s->arrays.n++] = work->partial;
    }
    spmmi_tc_pieces_free(&p);
    return status;
}

static spmm_status_t build(const published_case_t *c, int k, void **state)
{
    const variant_t    *v      = &variants[k];
    spmm_hrpb_t         format = {0};
    spmm_hrpb_arrays_t *a;
    state_t            *s;
    spmm_status_t       status;

    if (SPMM_NEW_ZERO(s, 1) == NULL) {
        return spmmi_fail_memory(&c->device->env->err, 1, sizeof *s, "a format");
    }
    *state = s;
    a      = &s->work.A;
    SPMM_TRY(spmmi_hrpb_create(c->device->env, c->block, NULL, v->panel_rows, c->device->threads,
                               &format));
    *a     = spmmi_hrpb_arrays(&format);
    status = make_work(c, &format, v, s);
    a->size_ptr =
        published_upload(c->device, a->size_ptr, ((size_t)format.n_blocks + 1) * sizeof(int32_t),
                         &s->arrays, &status);
    a->col         = published_upload(c->device, a->col,
                                      (size_t)format.n_blocks * SPMM_HRPB_BLOCK * sizeof(int32_t),
                                      &s->arrays, &status);
    a->packed      = published_upload(c->device, a->packed,
                                      (size_t)format.size_ptr[format.n_blocks] * SPMM_HRPB_UNIT,
                                      &s->arrays, &status);
    s->work.atomic = v->atomic;
    spmmi_hrpb_free(&format);
    return status;
}

static cudaError_t run(const void *state, const void *B, void *C, int64_t n, cudaStream_t stream)
{
    return cute_mm(&((const state_t *)state)->work, B, C, n, stream);
}

static void destroy(const spmm_device_t *device, void *state)
{
    if (state != NULL) {
        published_release(device, &((state_t *)state)->arrays);
        spmmi_free(state);
    }
}

const published_t published_cute = {.name       = "cutespmm",
                                    .type       = SPMM_R_32F,
                                    .compute    = SPMM_COMPUTE_32F_FAST_TF32,
                                    .engine     = "hrpb",
                                    .n_variants = VARIANTS,
                                    .variants   = names,
                                    .build      = build,
                                    .run        = run,
                                    .destroy    = destroy};

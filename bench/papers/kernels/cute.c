/* SPDX-License-Identifier: Apache-2.0 */
/** @file cute.c  cuTeSpMM: formats and virtual panels. */
#include "cute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/device_cuda.h"
#include "engine/windows/hrpb_format.h"
#include "engine/windows/tc_work.h"
#include "published.h"
#include "spmm_dist/context.h"

/** Which panels are cut (section 5). */
typedef enum {
    CUT_NONE,
    CUT_MEAN,  /**< all that are longer than the mean, into work items of that */
    CUT_WAVES, /**< by the number of waves */
    CUT_OURS,  /**< as engine hrpb does */
    CUT_SORTED /**< none, but the heaviest first */
} cut_t;

/** Explicit zeros in A, that its format keeps. */
typedef enum {
    FILL_NONE,
    FILL_COLUMNS, /**< neighbours of active columns, to bricks of four from a multiple of four on */
    FILL_BRICKS   /**< all places of bricks */
} fill_t;

typedef struct {
    int32_t panel_rows;
    cut_t   cut;
    bool    in_turn; /**< sums of cut panels in the order of the work items; else by atomics */
    cute_kernel_t kernel;
    fill_t        fill;
} variant_t;

static const char *const names[]    = {"TM 16",
                                       "TM 32",
                                       "no virtual panels",
                                       "cut at the mean",
                                       "cut as hrpb",
                                       "ordered sums",
                                       "mean and ordered",
                                       "heaviest first",
                                       "columns not compacted",
                                       "full bricks",
                                       "TN 8",
                                       "not unrolled",
                                       "one warp a thread block",
                                       "two stages"};
static const variant_t   variants[] = {
      {.panel_rows = 16, .cut = CUT_WAVES},
      {.panel_rows = 32, .cut = CUT_WAVES},
      {.panel_rows = 16, .cut = CUT_NONE},
      {.panel_rows = 16, .cut = CUT_MEAN},
      {.panel_rows = 16, .cut = CUT_OURS},
      {.panel_rows = 16, .cut = CUT_WAVES, .in_turn = true},
      {.panel_rows = 16, .cut = CUT_MEAN, .in_turn = true},
      {.panel_rows = 16, .cut = CUT_SORTED},
      {.panel_rows = 16, .cut = CUT_WAVES, .fill = FILL_COLUMNS},
      {.panel_rows = 16, .cut = CUT_WAVES, .fill = FILL_BRICKS},
      {.panel_rows = 16, .cut = CUT_WAVES, .kernel = CUTE_TN_8},
      {.panel_rows = 16, .cut = CUT_WAVES, .kernel = CUTE_NOT_UNROLL},
      {.panel_rows = 16, .cut = CUT_WAVES, .kernel = CUTE_ONE_WARP},
      {.panel_rows = 16, .cut = CUT_WAVES, .kernel = CUTE_TWO_STAGES}};
enum { VARIANTS = sizeof variants / sizeof variants[0], MOST_FILLED = 1 << 28 };

typedef struct {
    published_arrays_t arrays;
    cute_work_t        work;
} state_t;

/* Blocks from which on a panel is cut, into work items of at most that many. */
static int32_t longest(cut_t cut, cute_kernel_t kernel, const published_case_t *c,
                       const spmm_hrpb_t *f, int resident)
{
    const double mean   = f->n_panels > 0 ? (double)f->n_blocks / f->n_panels : 0.0;
    const double slices = ceil((double)c->n / (kernel == CUTE_ONE_WARP ? 32.0 : 128.0));
    const double waves  = f->n_panels * slices / ((double)c->device->n_sm * resident);
    const double warps  = f->n_panels * (double)c->n / 32.0 / (24.0 * c->device->n_sm);
    double       most   = INT32_MAX;

    switch (cut) {
    case CUT_NONE:
    case CUT_SORTED:
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

static int heavier(const void *a, const void *b)
{
    const spmm_tc_item_t *x = a, *y = b;

    return x->n_blocks != y->n_blocks ? (x->n_blocks < y->n_blocks ? 1 : -1)
                                      : (x->window > y->window) - (x->window < y->window);
}

static spmm_status_t make_work(const published_case_t *c, const spmm_hrpb_t *f, const variant_t *v,
                               state_t *s)
{
    spmm_tc_work_t *work     = &s->work.work;
    int             resident = 1;
    int32_t         most;
    spmm_tc_items_t p;
    spmm_status_t   status;

    SPMM_TRY(spmmi_cuda_check(c->device, cute_resident(v->kernel, v->panel_rows, c->n, &resident),
                              "what a multiprocessor holds"));
    most = longest(v->cut, v->kernel, c, f, resident);
    SPMM_TRY(spmmi_tc_items_create(c->device->env, f->n_panels, f->block_ptr, NULL,
                                   (spmm_tc_limits_t){.team = most, .cut = most}, &p));
    if (v->cut == CUT_SORTED) {
        qsort(p.item, (size_t)p.n_items, sizeof *p.item, heavier);
    }
    *work = (spmm_tc_work_t){
        .n_items = p.n_items, .n_partial = p.n_partial, .n_team = p.n_team, .n_splits = p.n_splits};
    status     = SPMM_OK;
    work->item = published_upload(c->device, p.item, (size_t)p.n_items * sizeof *p.item, &s->arrays,
                                  &status);
    work->split = published_upload(c->device, p.split, (size_t)p.n_splits * sizeof *p.split,
                                   &s->arrays, &status);
    if (status == SPMM_OK && v->in_turn) {
        const size_t bytes =
            (size_t)p.n_partial * (size_t)v->panel_rows * (size_t)c->n * sizeof(float);

        status                         = c->device->ops->alloc(c->device, bytes, &work->partial);
        s->arrays.array[s->arrays.n++] = work->partial;
    }
    spmmi_tc_items_free(&p);
    return status;
}

/* Columns that row @p r of a panel is to have besides its own: the panel's @p n active ones, or
 * those that complete groups of four, which its first row has.  @return how many */
static int32_t wanted(fill_t fill, const int32_t *active, int32_t n, int32_t n_cols, int32_t r,
                      int32_t *to)
{
    int32_t count = 0;

    if (fill == FILL_BRICKS) {
        memcpy(to, active, (size_t)n * sizeof *to);
        return n;
    }
    for (int32_t k = 0; r == 0 && k < n; k++) {
        const int32_t first = active[k] / 4 * 4;

        for (int32_t j = first; (k == 0 || active[k - 1] < first) && j < first + 4 && j < n_cols;
             j++) {
            to[count++] = j;
        }
    }
    return count;
}

/* Row @p i of A with the wanted columns, zeros in the new places.  @return its length */
static int64_t merge(const spmm_csr_t *from, int32_t i, const int32_t *more, int32_t n,
                     int32_t *col, float *values)
{
    int64_t at = from->row_ptr[i], count = 0;

    for (int32_t k = 0; k < n || at < from->row_ptr[i + 1]; count++) {
        const bool    own = at < from->row_ptr[i + 1] && (k == n || from->col_idx[at] <= more[k]);
        const int32_t j   = own ? from->col_idx[at] : more[k];

        if (values != NULL) {
            col[count]    = j;
            values[count] = own ? ((const float *)from->values)[at] : 0.0f;
        }
        at += own;
        k += k < n && more[k] == j;
    }
    return count;
}

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* The rows of A with zeros.  @param[out] to  NULL: only count.  @return entries */
static int64_t fill_all(const spmm_csr_t *from, fill_t fill, int32_t *active, int32_t *more,
                        spmm_csr_t *to)
{
    int64_t count = 0;

    for (int32_t first = 0; first < from->n_rows; first += SPMM_HRPB_BRICK_M) {
        const int32_t last =
            first + SPMM_HRPB_BRICK_M < from->n_rows ? first + SPMM_HRPB_BRICK_M : from->n_rows;
        const int64_t begin = from->row_ptr[first], all = from->row_ptr[last] - begin;
        int32_t       n = 0;

        memcpy(active, from->col_idx + begin, (size_t)all * sizeof *active);
        qsort(active, (size_t)all, sizeof *active, ascending);
        for (int64_t k = 0; k < all; k++) {
            if (k == 0 || active[k] != active[n - 1]) {
                active[n++] = active[k];
            }
        }
        for (int32_t i = first; i < last; i++) {
            const int32_t m = wanted(fill, active, n, from->n_cols, i - first, more);

            count += merge(from, i, more, m, to == NULL ? NULL : to->col_idx + count,
                           to == NULL ? NULL : (float *)to->values + count);
            if (to != NULL) {
                to->row_ptr[i + 1] = count;
            }
        }
    }
    return count;
}

static spmm_status_t fill_panels(const published_case_t *c, fill_t fill, spmm_csr_t *to)
{
    const spmm_csr_t *from = c->block;
    int32_t          *active, *more;
    int64_t           count;
    spmm_status_t     status = SPMM_OK;

    SPMM_NEW(active, spmmi_csr_nnz(from));
    SPMM_NEW(more, (int64_t)from->n_cols + 1);
    if (active == NULL || more == NULL) {
        status = spmmi_fail_memory(&c->device->env->err, from->n_cols, sizeof *more, "columns");
    } else if ((count = fill_all(from, fill, active, more, NULL)) > MOST_FILLED) {
        status = spmmi_fail(&c->device->env->err, SPMM_ERR_UNSUPPORTED, "too many zeros");
    } else {
        status = spmmi_csr_alloc(c->device->env, from->n_rows, from->n_cols, count, from->type, to);
        if (status == SPMM_OK) {
            to->row_ptr[0] = 0;
            (void)fill_all(from, fill, active, more, to);
        }
    }
    spmmi_free_all(active, more);
    return status;
}

static spmm_status_t build(const published_case_t *c, int k, void *state)
{
    const variant_t    *v      = &variants[k];
    spmm_hrpb_t         format = {0};
    spmm_csr_t          filled = {0};
    state_t            *s      = state;
    spmm_hrpb_arrays_t *a      = &s->work.A;
    spmm_status_t       status;

    s->work.kernel = v->kernel;
    status         = v->fill == FILL_NONE ? SPMM_OK : fill_panels(c, v->fill, &filled);
    if (status == SPMM_OK) {
        status = spmmi_hrpb_create(c->device->env, v->fill == FILL_NONE ? c->block : &filled, NULL,
                                   v->panel_rows, c->device->threads, &format);
    }
    spmmi_csr_free(&filled);
    SPMM_TRY(status);
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
    s->work.atomic = !v->in_turn;
    spmmi_hrpb_free(&format);
    return status;
}

static cudaError_t run(const void *state, const void *B, void *C, int64_t n, cudaStream_t stream)
{
    return cute_mm(&((const state_t *)state)->work, B, C, n, stream);
}

const published_t published_cute = {.name       = "cutespmm",
                                    .type       = SPMM_R_32F,
                                    .compute    = SPMM_COMPUTE_32F_FAST_TF32,
                                    .engine     = "hrpb",
                                    .unit       = 32,
                                    .n_variants = VARIANTS,
                                    .variants   = names,
                                    .build      = build,
                                    .state_size = sizeof(state_t),
                                    .run        = run};

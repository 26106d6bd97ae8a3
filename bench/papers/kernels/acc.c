/* SPDX-License-Identifier: Apache-2.0 */
/** @file acc.c  Acc-SpMM: formats, thread blocks and the ablation of its figure 15. */
#include "acc.h"

#include <math.h>

#include "base/alloc.h"
#include "engine/windows/bittcf_format.h"
#include "orders.h"
#include "published.h"
#include "spmm_dist/context.h"

static const double most_ibd = 8.0; /* above, thread blocks are balanced (section 3.5) */

/** What a variant does. */
enum {
    BITS     = 1,
    HINTS    = 2,
    PIPELINE = 4,
    ORDER    = 8,
    BALANCE  = 16, /**< where IBD says so */
    ALL      = 31,
    ALWAYS   = 32, /**< balances whatever IBD says */
    IN_TURN  = 64  /**< adds the parts of cut windows up in their order, without atomics */
};

typedef struct {
    unsigned   does;
    acc_form_t form;
} variant_t;

static const char *const names[] = {
    "all",         "ME-TCF",       "rows as given",   "no hints",     "columns not shared",
    "one buffer",  "no balancing", "always balanced", "ordered sums", "m16n8k4",
    "none of them"};
static const variant_t variants[] = {{ALL, ACC_PAPER},
                                     {ALL & ~BITS, ACC_PAPER},
                                     {ALL & ~ORDER, ACC_PAPER},
                                     {ALL & ~HINTS, ACC_PAPER},
                                     {ALL, ACC_NO_SHARED},
                                     {ALL & ~PIPELINE, ACC_PAPER},
                                     {ALL & ~BALANCE, ACC_PAPER},
                                     {ALL | ALWAYS, ACC_PAPER},
                                     {ALL | IN_TURN, ACC_PAPER},
                                     {ALL, ACC_K4},
                                     {0, ACC_PAPER}};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

typedef struct {
    published_arrays_t arrays;
    acc_choice_t       choice;
    acc_work_t         work;
} state_t;

/* Mean |TC blocks of a window - their mean|. */
static double ibd_of(const spmm_bittcf_t *f)
{
    const double mean = f->n_windows > 0 ? (double)f->n_blocks / f->n_windows : 0.0;
    double       sum  = 0.0;

    for (int32_t w = 0; w < f->n_windows; w++) {
        sum += fabs((double)(f->window_ptr[w + 1] - f->window_ptr[w]) - mean);
    }
    return f->n_windows > 0 ? sum / f->n_windows : 0.0;
}

/* The model of section 3.5: seconds of a thread block that loads for @p blocks TC blocks and writes
 * @p windows times.  The paper counts elements where bandwidth is in bytes, and one mma for all;
 * here it is four bytes, and one for each TC block. */
static double model_s(const spmm_device_t *device, double n, double blocks, double windows)
{
    const double side = SPMM_BITTCF_SIDE, flops = 7.5 * device->fp32_peak; /* of TF32, H100 */
    const double row = 4.0 * side * n / device->mem_bw;

    return row * blocks + side * (2.0 * side - 1.0) * n * blocks / flops + row * windows;
}

/* Thread blocks of nearly equal modelled time, at most ACC_MOST TC blocks each, windows joined and
 * cut; as many as the GPU holds where the matrix gives them work.
 * @param[in]  empty  work items for windows without blocks, too, for whom C is not zeroed
 * @param[out] item  [windows + blocks], block_ptr [windows + blocks + 1] */
static int32_t deal(const spmm_device_t *device, const spmm_bittcf_t *f, int64_t n, bool empty,
                    acc_item_t *item, int32_t *block_ptr)
{
    const double warps = (double)(n / 16 < 8 ? n / 16 : 8), slots = device->n_sm * 64.0 / warps;
    const double total   = model_s(device, (double)n, f->n_blocks, f->n_windows);
    const double most    = fmin(model_s(device, (double)n, ACC_MOST, 1.0), total / slots);
    int32_t      n_items = 0, n_thread_blocks = 0, held = 0;
    double       windows = 0.0;

    block_ptr[0] = 0;
    for (int32_t w = 0; w < f->n_windows; w++) {
        const int32_t end = f->window_ptr[w + 1];
        int32_t       at  = f->window_ptr[w];

        do {
            int32_t take = 0;

            windows += 1.0;
            while (at + take < end && held + take < ACC_MOST &&
                   (held + take == 0 ||
                    model_s(device, (double)n, held + take + 1.0, windows) <= most)) {
                take++;
            }
            if (take > 0 || (empty && f->window_ptr[w] == end)) {
                item[n_items++] = (acc_item_t){
                    .window = w, .first = at, .n = take, .part = take < end - f->window_ptr[w]};
            }
            at += take;
            held += take;
            if (at < end) { /* full */
                block_ptr[++n_thread_blocks] = n_items;
                held                         = 0;
                windows                      = 0.0;
            }
        } while (at < end);
    }
    if (n_items > block_ptr[n_thread_blocks]) {
        block_ptr[++n_thread_blocks] = n_items;
    }
    return n_thread_blocks;
}

/* Number the parts, and room for their sums. */
static spmm_status_t put_in_order(const published_case_t *c, acc_item_t *item, int32_t n_items,
                                  state_t *s)
{
    acc_work_t   *work    = &s->work;
    acc_split_t  *split   = NULL;
    int32_t       n_parts = 0;
    spmm_status_t status  = SPMM_OK;

    if (SPMM_NEW(split, n_items) == NULL) {
        return spmmi_fail_memory(&c->device->env->err, n_items, sizeof *split, "split windows");
    }
    for (int32_t p = 0; p < n_items; p++) {
        if (item[p].part != 0) {
            if (work->n_splits == 0 || split[work->n_splits - 1].window != item[p].window) {
                split[work->n_splits++] = (acc_split_t){.window = item[p].window, .first = n_parts};
            }
            split[work->n_splits - 1].n++;
            item[p].part = ++n_parts;
        }
    }
    work->split = published_upload(c->device, split, (size_t)work->n_splits * sizeof *split,
                                   &s->arrays, &status);
    if (status == SPMM_OK) {
        void *room = NULL;

        status = c->device->ops->alloc(
            c->device, (size_t)n_parts * SPMM_BITTCF_SIDE * (size_t)c->n * sizeof(float), &room);
        s->arrays.array[s->arrays.n++] = work->partial = room;
    }
    spmmi_free(split);
    return status;
}

static spmm_status_t make_work(const published_case_t *c, const spmm_bittcf_t *f, bool balanced,
                               bool in_turn, state_t *s)
{
    const int64_t most      = (int64_t)f->n_windows + f->n_blocks;
    acc_item_t   *item      = NULL;
    int32_t      *block_ptr = NULL;
    acc_work_t   *work      = &s->work;
    spmm_status_t status    = SPMM_OK;

    SPMM_NEW(item, most);
    SPMM_NEW(block_ptr, most + 1);
    if (item == NULL || block_ptr == NULL) {
        status = spmmi_fail_memory(&c->device->env->err, most, sizeof *item, "work items");
    } else {
        work->n_thread_blocks = f->n_windows;
        for (int32_t w = 0; w < f->n_windows && !balanced; w++) {
            item[w]      = (acc_item_t){.window = w,
                                        .first  = f->window_ptr[w],
                                        .n      = f->window_ptr[w + 1] - f->window_ptr[w]};
            block_ptr[w] = w;
        }
        block_ptr[f->n_windows] = f->n_windows;
        if (balanced) {
            work->n_thread_blocks = deal(c->device, f, c->n, in_turn, item, block_ptr);
            work->atomic          = !in_turn;
        }
        if (balanced && in_turn) {
            status = put_in_order(c, item, block_ptr[work->n_thread_blocks], s);
        }
        work->item      = published_upload(c->device, item,
                                           (size_t)block_ptr[work->n_thread_blocks] * sizeof *item,
                                           &s->arrays, &status);
        work->block_ptr = published_upload(c->device, block_ptr,
                                           ((size_t)work->n_thread_blocks + 1) * sizeof *block_ptr,
                                           &s->arrays, &status);
    }
    spmmi_free_all(item, block_ptr);
    return status;
}

/* The places of ME-TCF from the bits of BitTCF. */
static spmm_status_t upload_places(const published_case_t *c, const spmm_bittcf_t *f, state_t *s)
{
    const int64_t nnz    = f->value_ptr[f->n_blocks];
    spmm_status_t status = SPMM_OK;
    uint8_t      *place;

    if (SPMM_NEW(place, nnz) == NULL) {
        return spmmi_fail_memory(&c->device->env->err, nnz, 1, "places");
    }
    for (int32_t b = 0; b < f->n_blocks; b++) {
        int64_t k = f->value_ptr[b];

        for (uint8_t p = 0; p < 64; p++) {
            if ((f->bits[b] >> p & 1) != 0) {
                place[k++] = p;
            }
        }
    }
    s->work.place = published_upload(c->device, place, (size_t)nnz, &s->arrays, &status);
    spmmi_free(place);
    return status;
}

static spmm_status_t upload(const published_case_t *c, const spmm_csr_t *block,
                            const spmm_bittcf_t *f, const variant_t *v, state_t *s)
{
    const size_t          blocks = (size_t)f->n_blocks, windows = (size_t)f->n_windows;
    const size_t          nnz    = (size_t)f->value_ptr[f->n_blocks];
    spmm_bittcf_arrays_t *a      = &s->work.A;
    spmm_status_t         status = SPMM_OK;

    *a            = spmmi_bittcf_arrays(f);
    a->window_ptr = published_upload(c->device, a->window_ptr, (windows + 1) * sizeof(int32_t),
                                     &s->arrays, &status);
    a->value_ptr  = published_upload(c->device, a->value_ptr, (blocks + 1) * sizeof(int32_t),
                                     &s->arrays, &status);
    a->col        = published_upload(c->device, a->col, blocks * SPMM_BITTCF_SIDE * sizeof(int32_t),
                                     &s->arrays, &status);
    a->values = published_upload(c->device, a->values, nnz * sizeof(float), &s->arrays, &status);
    if ((v->does & BITS) != 0) {
        a->bits =
            published_upload(c->device, a->bits, blocks * sizeof(uint64_t), &s->arrays, &status);
    } else if (status == SPMM_OK) {
        status = upload_places(c, f, s);
    }
    if (block->row_map != NULL) {
        s->work.row_map =
            published_upload(c->device, block->row_map, (size_t)block->n_rows * sizeof(int32_t),
                             &s->arrays, &status);
    }
    s->choice      = (acc_choice_t){.bits     = (v->does & BITS) != 0,
                                    .hints    = (v->does & HINTS) != 0,
                                    .pipeline = (v->does & PIPELINE) != 0,
                                    .form     = v->form};
    s->work.c_rows = block->c_rows;
    return status;
}

static spmm_status_t build(const published_case_t *c, int k, void *state)
{
    const variant_t  *v      = &variants[k];
    const spmm_csr_t *block  = (v->does & ORDER) != 0 ? c->ordered : c->block;
    spmm_bittcf_t     format = {0};
    state_t          *s      = state;
    spmm_status_t     status;

    SPMM_TRY(spmmi_bittcf_create(c->device->env, block, NULL, 1, c->device->threads, &format));
    status = upload(c, block, &format, v, s);
    if (status == SPMM_OK) {
        const bool balanced =
            (v->does & BALANCE) != 0 && ((v->does & ALWAYS) != 0 || ibd_of(&format) > most_ibd);

        status = make_work(c, &format, balanced, (v->does & IN_TURN) != 0, s);
    }
    spmmi_bittcf_free(&format);
    return status;
}

static cudaError_t run(const void *state, const void *B, void *C, int64_t n, cudaStream_t stream)
{
    const state_t *s = state;

    return acc_mm(s->choice, &s->work, B, C, n, stream);
}

const published_t published_acc = {.name       = "acc-spmm",
                                   .type       = SPMM_R_32F,
                                   .compute    = SPMM_COMPUTE_32F_FAST_TF32,
                                   .engine     = "bittcf",
                                   .order      = &bench_order_acc,
                                   .unit       = 32,
                                   .n_variants = VARIANTS,
                                   .variants   = names,
                                   .build      = build,
                                   .state_size = sizeof(state_t),
                                   .run        = run};

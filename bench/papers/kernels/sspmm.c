/* SPDX-License-Identifier: Apache-2.0 */
/** @file sspmm.c  SSpMM: vectors of 8 and 16 rows, the choice between them, and its ablation. */
#include "sspmm.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "engine/cvse/format.h"
#include "published.h"
#include "spmm_dist/context.h"

static const double dense_enough = 0.9; /* below this sparsity V = 16 (section V-B) */

/** Rows of A in which order and place. */
typedef enum {
    ROWS_GIVEN,
    ROWS_ALONE, /**< each in vectors of its own: no Sparse Vector Compression */
    ROWS_SORTED /**< windows with most vectors first (section V-C) */
} rows_t;

typedef struct {
    int32_t        height; /**< 0: by sparsity */
    sspmm_scheme_t scheme;
    rows_t         rows;
} variant_t;

static const char *const names[] = {
    "adaptive",    "V 8",    "V 16",           "no TMS V 8",     "no TMS V 16",      "no RSM V 8",
    "no RSM V 16", "no SVC", "one buffer V 8", "no buffers V 8", "longest first V 8"};
static const variant_t variants[] = {
    {0, SSPMM_ALL, ROWS_GIVEN},        {8, SSPMM_ALL, ROWS_GIVEN},
    {16, SSPMM_ALL, ROWS_GIVEN},       {8, SSPMM_NO_TMS, ROWS_GIVEN},
    {16, SSPMM_NO_TMS, ROWS_GIVEN},    {8, SSPMM_NO_RSM, ROWS_GIVEN},
    {16, SSPMM_NO_RSM, ROWS_GIVEN},    {8, SSPMM_ALL, ROWS_ALONE},
    {8, SSPMM_ONE_BUFFER, ROWS_GIVEN}, {8, SSPMM_NO_SHARED, ROWS_GIVEN},
    {8, SSPMM_ALL, ROWS_SORTED}};
enum { VARIANTS = sizeof variants / sizeof variants[0], V = 8, MOST_ROWS = 1 << 27 };

typedef struct {
    published_arrays_t arrays;
    sspmm_scheme_t     scheme;
    spmm_cvse_arrays_t A;
    const int32_t     *row_map;
} state_t;

/* Each row in a window of its own, seven empty ones behind it. */
static spmm_status_t spread(const published_case_t *c, spmm_csr_t *to)
{
    const spmm_csr_t *from = c->block;

    if (from->n_rows > MOST_ROWS / V) {
        return spmmi_fail(&c->device->env->err, SPMM_ERR_UNSUPPORTED, "too many rows to spread");
    }
    SPMM_TRY(spmmi_csr_alloc(c->device->env, from->n_rows * V, from->n_cols, spmmi_csr_nnz(from),
                             from->type, to));
    if (SPMM_NEW(to->row_map, to->n_rows) == NULL) {
        return spmmi_fail_memory(&c->device->env->err, to->n_rows, sizeof *to->row_map, "rows");
    }
    for (int32_t i = 0; i <= to->n_rows; i++) {
        to->row_ptr[i] = from->row_ptr[i / V + (i % V != 0)];
    }
    for (int32_t i = 0; i < to->n_rows; i++) {
        to->row_map[i] = i % V == 0 ? i / V : -1;
    }
    for (int64_t k = 0; k < spmmi_csr_nnz(from); k++) {
        to->col_idx[k]              = from->col_idx[k];
        ((uint16_t *)to->values)[k] = ((const uint16_t *)from->values)[k];
    }
    return SPMM_OK;
}

typedef struct {
    int32_t window, vectors;
} length_t;

static int longer(const void *a, const void *b)
{
    const length_t *x = a, *y = b;

    return x->vectors != y->vectors ? (x->vectors < y->vectors ? 1 : -1)
                                    : (x->window > y->window) - (x->window < y->window);
}

/* Whole windows of @p height rows, by the blocks of their vectors; the last rows, which fill no
 * window, stay where they are. */
static spmm_status_t sort(const published_case_t *c, int32_t height, spmm_csr_t *to)
{
    const int32_t whole  = c->block->n_rows / height;
    spmm_cvse_t   format = {0};
    length_t     *length = NULL;
    int32_t      *order  = NULL;
    spmm_status_t status =
        spmmi_cvse_create(c->device->env, c->block, NULL, height, c->device->threads, &format);

    SPMM_NEW(length, whole);
    SPMM_NEW(order, c->block->n_rows);
    if (status == SPMM_OK && (length == NULL || order == NULL)) {
        status = spmmi_fail_memory(&c->device->env->err, c->block->n_rows, sizeof *order, "rows");
    }
    if (status == SPMM_OK) {
        for (int32_t w = 0; w < whole; w++) {
            length[w] = (length_t){w, format.window_ptr[w + 1] - format.window_ptr[w]};
        }
        qsort(length, (size_t)whole, sizeof *length, longer);
        for (int32_t i = 0; i < c->block->n_rows; i++) {
            order[i] = i / height < whole ? length[i / height].window * height + i % height : i;
        }
        status = spmmi_csr_permute(c->device->env, c->block, order, to, NULL);
    }
    spmmi_cvse_free(&format);
    spmmi_free_all(length, order);
    return status;
}

static spmm_status_t lay_out(const published_case_t *c, const spmm_csr_t *block, int32_t height,
                             state_t *s)
{
    spmm_cvse_t         format = {0};
    spmm_cvse_arrays_t *a      = &s->A;
    size_t              places;
    spmm_status_t       status = SPMM_OK;

    SPMM_TRY(spmmi_cvse_create(c->device->env, block, NULL, height, c->device->threads, &format));
    *a     = spmmi_cvse_arrays(&format);
    places = (size_t)format.n_blocks * SPMM_CVSE_BLOCK;
    a->window_ptr =
        published_upload(c->device, a->window_ptr, ((size_t)format.n_windows + 1) * sizeof(int32_t),
                         &s->arrays, &status);
    a->col    = published_upload(c->device, a->col, places * sizeof(int32_t), &s->arrays, &status);
    a->values = published_upload(c->device, a->values, places * (size_t)height * sizeof(uint16_t),
                                 &s->arrays, &status);
    a->bits   = NULL; /* no product reads them */
    if (block->row_map != NULL) {
        s->row_map = published_upload(c->device, block->row_map,
                                      (size_t)block->n_rows * sizeof(int32_t), &s->arrays, &status);
    }
    spmmi_cvse_free(&format);
    return status;
}

static spmm_status_t build(const published_case_t *c, int k, void *state)
{
    const variant_t *v      = &variants[k];
    const double     places = (double)c->block->n_rows * c->block->n_cols;
    const double     filled = places > 0.0 ? (double)spmmi_csr_nnz(c->block) / places : 0.0;
    const int32_t    height = v->height != 0 ? v->height : 1.0 - filled < dense_enough ? 16 : 8;
    spmm_csr_t       other  = {0};
    state_t         *s      = state;
    spmm_status_t    status = SPMM_OK;

    s->scheme = v->scheme;
    if (v->rows != ROWS_GIVEN) {
        status = v->rows == ROWS_ALONE ? spread(c, &other) : sort(c, height, &other);
    }
    if (status == SPMM_OK) {
        status = lay_out(c, v->rows != ROWS_GIVEN ? &other : c->block, height, s);
    }
    spmmi_csr_free(&other);
    return status;
}

static cudaError_t run(const void *state, const void *B, void *C, int64_t n, cudaStream_t stream)
{
    const state_t *s = state;

    return sspmm_mm(s->scheme, &s->A, s->row_map, B, C, n, stream);
}

const published_t published_sspmm = {.name       = "sspmm",
                                     .type       = SPMM_R_16F,
                                     .compute    = SPMM_COMPUTE_32F,
                                     .engine     = "cvse",
                                     .unit       = 32,
                                     .n_variants = VARIANTS,
                                     .variants   = names,
                                     .build      = build,
                                     .state_size = sizeof(state_t),
                                     .run        = run};

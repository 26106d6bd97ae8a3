/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_tf32.c  The trial in TF32 (ladder_tf32.h) as contenders, with 2:4 tiles and without. */
#include "ladder_tf32.h"

#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "ladder_case.h"
#include "spmm_dist/context.h"

enum { DENSE = TF32_DENSE * TF32_VALUES, SPARSE = TF32_SPARSE * TF32_VALUES };
enum { META = TF32_SPARSE * LADDER_META, ARRAYS = 8 };

/** Arrays as in ladder_tf32_t, on the host, owned. */
typedef struct {
    int64_t   n_dense, n_sparse;
    int32_t  *dense_ptr, *dense_col, *sparse_ptr, *sparse_col;
    float    *dense, *sparse, *Bt;
    uint32_t *meta;
} host_t;

typedef struct {
    ladder_tf32_t A;
    void         *owned[ARRAYS]; /**< device memory */
    const float  *Bt;
} state_t;

/* Where element (r, c) of a tile's mma number c / 8 stands: lane 4 g + t takes columns t and t + 4 of rows g
 * and g + 8. */
static int32_t place_of(int32_t r, int32_t c)
{
    return c / 8 * TF32_VALUES + 4 * (r % 8 * 4 + c % 4) + c % 8 / 4 * 2 + r / 8;
}

/* Column of the 2:4 tile's value k, 0 to 15, of a row. */
static int32_t kept(const ladder_host_t *from, int64_t at, int32_t r, int32_t k)
{
    const uint32_t word = from->meta[at * LADDER_META + r % 8 * 2 + k / 8];

    return k / 2 * 4 + (int32_t)(word >> (16 * (r / 8) + 2 * (k % 8)) & 3);
}

static void put_dense(const ladder_host_t *from, int64_t t, float *to)
{
    const int64_t at = from->at[t];

    memset(to, 0, DENSE * sizeof *to);
    for (int32_t r = 0; r < LADDER_ROWS; r++) {
        for (int32_t k = 0; k < (from->sp24[t] ? 16 : LADDER_WIDE); k++) {
            const int32_t c = from->sp24[t] ? kept(from, at, r, k) : k;

            to[place_of(r, c)] =
                (float)(from->sp24[t] ? spmmi_value_get(SPMM_R_16F, from->packed,
                                                        at * LADDER_PACKED + r * 16 + k)
                                      : spmmi_value_get(SPMM_R_16F, from->dense,
                                                        (at * LADDER_ROWS + r) * LADDER_WIDE + k));
        }
    }
}

/* The pair of three, and which of its two columns, for column @p c of four; @p other is the row's other
 * one. */
static int32_t pair_of(int32_t c, int32_t other, uint32_t *second)
{
    const bool    one_side = c / 2 == other / 2;
    const int32_t pair     = one_side && (c == 1 || c == 2) ? 2 : c / 2;

    *second = (uint32_t)(pair == 2 ? c == 2 : c % 2);
    return pair;
}

static void put_sparse(const ladder_host_t *from, int64_t t, float *to, uint32_t *meta)
{
    const int64_t at = from->at[t];

    memset(to, 0, SPARSE * sizeof *to);
    for (int32_t k = 0; k < META; k++) {
        meta[k] = 0x44444444u; /* the first of each pair */
    }
    for (int32_t r = 0; r < LADDER_ROWS; r++) {
        for (int32_t k = 0; k < 16; k++) {
            const int32_t c = kept(from, at, r, k), other = kept(from, at, r, k ^ 1);
            uint32_t      second;
            const int32_t pair = c / 4 * 3 + pair_of(c % 4, other % 4, &second);
            const int32_t word = pair / 8 * LADDER_META + r % 8 * 2 + pair % 8 / 4;

            to[place_of(r, pair)] =
                (float)spmmi_value_get(SPMM_R_16F, from->packed, at * LADDER_PACKED + r * 16 + k);
            meta[word] |= second * 0xau << (16 * (r / 8) + 4 * (pair % 4)); /* 4 becomes 14 */
        }
    }
}

static spmm_status_t make(const ladder_case_t *c, const ladder_host_t *from, bool sp24, host_t *h)
{
    const int64_t rows = (int64_t)from->n_tile_rows + 1;

    SPMM_NEW_ZERO(h->dense_ptr, rows);
    SPMM_NEW_ZERO(h->sparse_ptr, rows);
    SPMM_NEW(h->dense_col, from->n_tiles);
    SPMM_NEW(h->sparse_col, from->n_tiles);
    SPMM_NEW(h->dense, (sp24 ? from->n_dense : from->n_tiles) * DENSE);
    SPMM_NEW(h->sparse, (sp24 ? from->n_sparse : 0) * SPARSE);
    SPMM_NEW(h->meta, (sp24 ? from->n_sparse : 0) * META);
    SPMM_NEW(h->Bt, c->n * c->b_rows);
    if (h->dense_ptr == NULL || h->sparse_ptr == NULL || h->dense_col == NULL ||
        h->sparse_col == NULL || h->dense == NULL || h->sparse == NULL || h->meta == NULL ||
        h->Bt == NULL) {
        return spmmi_fail_memory(&c->device->env->err, from->n_tiles, DENSE * sizeof(float),
                                 "tiles in FP32");
    }
    for (int32_t w = 0; w < from->n_tile_rows; w++) {
        for (int64_t t = from->row_ptr[w]; t < from->row_ptr[w + 1]; t++) {
            if (sp24 && from->sp24[t]) {
                h->sparse_col[h->n_sparse] = from->col[t];
                put_sparse(from, t, h->sparse + h->n_sparse * SPARSE, h->meta + h->n_sparse * META);
                h->n_sparse++;
            } else {
                h->dense_col[h->n_dense] = from->col[t];
                put_dense(from, t, h->dense + h->n_dense * DENSE);
                h->n_dense++;
            }
        }
        h->dense_ptr[w + 1]  = (int32_t)h->n_dense;
        h->sparse_ptr[w + 1] = (int32_t)h->n_sparse;
    }
    for (int64_t k = 0; k < c->b_rows * c->n; k++) {
        h->Bt[k % c->n * c->b_rows + k / c->n] = c->host_B[k];
    }
    return SPMM_OK;
}

static spmm_status_t upload(const ladder_case_t *c, int32_t n_tile_rows, const host_t *h,
                            state_t *s)
{
    const size_t rows    = ((size_t)n_tile_rows + 1) * sizeof(int32_t);
    const size_t n_dense = (size_t)h->n_dense, n_sparse = (size_t)h->n_sparse;
    const struct {
        const void *from;
        size_t      bytes;
    } arrays[ARRAYS] = {
        {h->dense_ptr, rows},
        {h->dense_col, n_dense * sizeof(int32_t)},
        {h->dense, n_dense * DENSE * sizeof(float)},
        {h->sparse_ptr, rows},
        {h->sparse_col, n_sparse * sizeof(int32_t)},
        {h->sparse, n_sparse * SPARSE * sizeof(float)},
        {h->meta, n_sparse * META * sizeof(uint32_t)},
        {h->Bt, (size_t)(c->n * c->b_rows) * sizeof(float)},
    };

    for (int k = 0; k < ARRAYS; k++) {
        SPMM_TRY(spmmi_device_upload(c->device, arrays[k].from, arrays[k].bytes, &s->owned[k]));
    }
    s->A  = (ladder_tf32_t){.n_tile_rows = n_tile_rows,
                            .dense_ptr   = s->owned[0],
                            .dense_col   = s->owned[1],
                            .dense       = s->owned[2],
                            .sparse_ptr  = s->owned[3],
                            .sparse_col  = s->owned[4],
                            .sparse      = s->owned[5],
                            .meta        = s->owned[6]};
    s->Bt = s->owned[7];
    return SPMM_OK;
}

static void free_host(host_t *h)
{
    spmmi_free(h->dense_ptr);
    spmmi_free(h->dense_col);
    spmmi_free(h->sparse_ptr);
    spmmi_free(h->sparse_col);
    spmmi_free(h->dense);
    spmmi_free(h->sparse);
    spmmi_free(h->meta);
    spmmi_free(h->Bt);
}

static spmm_status_t open_tf32(const ladder_contender_t *who, const ladder_case_t *c, void **state)
{
    ladder_host_t wide = {.width = 0};
    host_t        host = {.n_dense = 0};
    state_t      *s;
    spmm_status_t status;

    SPMM_NEW_ZERO(s, 1);
    *state = s;
    if (s == NULL) {
        return spmmi_fail_memory(&c->device->env->err, 1, sizeof *s, "a contender");
    }
    status = ladder_host_create(c->device->env, c->block, LADDER_WIDE, &wide);
    if (status == SPMM_OK) {
        status = make(c, &wide, who->kind != 0, &host);
    }
    if (status == SPMM_OK) {
        status = upload(c, wide.n_tile_rows, &host, s);
    }
    free_host(&host);
    ladder_host_free(&wide);
    return status;
}

static spmm_status_t run_tf32(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    const state_t *s = state;

    return spmmi_cuda_check(
        c->device, ladder_tf32_mm(&s->A, s->Bt, c->b_rows, c->C, c->n, c->stream), who->name);
}

static void close_tf32(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    state_t *s = state;

    (void)who;
    for (int k = 0; s != NULL && k < ARRAYS; k++) {
        c->device->ops->release(c->device, s->owned[k]);
    }
    spmmi_free(s);
}

const ladder_contender_t ladder_tf32[LADDER_TF32] = {
    {"OBT_large_tf32", 0, SPMM_R_32F, open_tf32, run_tf32, close_tf32},
    {"OBTS_large_separate_tf32", 1, SPMM_R_32F, open_tf32, run_tf32, close_tf32},
};

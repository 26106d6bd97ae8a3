/* SPDX-License-Identifier: Apache-2.0 */
/** @file thesis.c  The thesis on sparse tensor cores: the steps of its ladder, and Blocked-ELL of
 *  cuSPARSE, which vectorSparse compares with. */
#include "base/alloc.h"
#include "bell.h"
#include "ladder_tiles.h"
#include "published.h"
#include "spmm_dist/context.h"

static const char *const names[] = {"T",         "BT",         "CBT",
                                    "OBT",       "ST",         "ST_large",
                                    "OBTS",      "OBTS_large", "OBTS_large_separate",
                                    "OBT_tiled", "bell-2",     "bell-4",
                                    "bell-8",    "bell-16",    "bell-32"};
enum { VARIANTS = sizeof names / sizeof names[0], PAD = 64 };

static const char *const engines[] = {"bcsr", "bcsr-sp24", NULL};

typedef struct {
    published_arrays_t arrays;
    ladder_step_t      step;
    bell_t            *bell; /* NULL: the step */
    ladder_tiles_t     tiles;
    const void        *Bt; /* [n x ldb] B by columns */
    int64_t            ldb;
} state_t;

/* Whether the kernel of a step takes the case. */
static spmm_status_t check(const published_case_t *c, ladder_step_t step, const ladder_host_t *host)
{
    if (step == LADDER_OBT_TILED && c->n % (LADDER_BLOCK * LADDER_COLUMNS) != 0) {
        return spmmi_fail(&c->device->env->err, SPMM_ERR_UNSUPPORTED, "N is no multiple of %d",
                          LADDER_BLOCK * LADDER_COLUMNS);
    }
    if (ladder_has_map(step) && host->map == NULL) {
        return spmmi_fail(&c->device->env->err, SPMM_ERR_UNSUPPORTED,
                          "the step asks every tile, and A has too many");
    }
    return SPMM_OK;
}

/* A device copy; of NULL an empty one. */
static void *copy(const published_case_t *c, state_t *s, const void *from, size_t bytes,
                  spmm_status_t *status)
{
    return published_upload(c->device, from, from == NULL ? 0 : bytes, &s->arrays, status);
}

static spmm_status_t upload_tiles(const published_case_t *c, const ladder_host_t *h, state_t *s)
{
    const size_t    rows  = ((size_t)h->n_tile_rows + 1) * sizeof(int32_t);
    const size_t    map   = (size_t)h->n_tile_rows * (size_t)h->n_tile_cols;
    const size_t    dense = (size_t)h->n_dense, sparse = (size_t)h->n_sparse;
    const size_t    width  = (size_t)h->width;
    const size_t    size   = (h->list == NULL ? width : LADDER_ROWS) * width; /* of a dense tile */
    const size_t    packed = LADDER_ROWS * width / 2;
    ladder_tiles_t *t      = &s->tiles;
    spmm_status_t   status = SPMM_OK;

    t->n_tile_rows = h->n_tile_rows;
    t->n_tile_cols = h->n_tile_cols;
    t->width       = h->width;
    t->map         = copy(c, s, h->map, map * sizeof *h->map, &status);
    t->ptr         = copy(c, s, h->ptr, rows, &status);
    t->list        = copy(c, s, h->list, (dense + sparse) * sizeof *h->list, &status);
    t->dense_ptr   = copy(c, s, h->dense_ptr, rows, &status);
    t->dense_col   = copy(c, s, h->dense_col, dense * sizeof *h->dense_col, &status);
    t->dense       = copy(c, s, h->dense, dense * size * sizeof *h->dense, &status);
    t->sparse_ptr  = copy(c, s, h->sparse_ptr, rows, &status);
    t->sparse_col  = copy(c, s, h->sparse_col, sparse * sizeof *h->sparse_col, &status);
    t->packed      = copy(c, s, h->packed, sparse * packed * sizeof *h->packed, &status);
    t->meta        = copy(c, s, h->meta, sparse * width / 2 * sizeof *h->meta, &status);
    return status;
}

static spmm_status_t upload_b(const published_case_t *c, state_t *s)
{
    const int64_t   rows = c->block->n_cols;
    const uint16_t *B    = c->o->host_B;
    uint16_t       *Bt;
    spmm_status_t   status = SPMM_OK;

    if (SPMM_NEW(Bt, rows * c->n) == NULL) {
        return spmmi_fail_memory(&c->device->env->err, rows * c->n, sizeof *Bt, "B");
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < c->n; j++) {
            Bt[j * rows + i] = B[i * c->n + j];
        }
    }
    s->ldb = rows;
    s->Bt =
        published_upload(c->device, Bt, (size_t)(rows * c->n) * sizeof *Bt, &s->arrays, &status);
    spmmi_free(Bt);
    return status;
}

static spmm_status_t make_tiles(const published_case_t *c, ladder_form_t form, ladder_host_t *host)
{
    ladder_host_t dense = {.width = 0};
    spmm_status_t status;

    if (form != LADDER_MERGED) {
        return ladder_host_create(c->device->env, c->block, form, host);
    }
    SPMM_TRY(ladder_host_create(c->device->env, c->block, LADDER_DENSE_16, &dense));
    status = ladder_host_merge(c->device->env, &dense, host);
    ladder_host_free(&dense);
    return status;
}

static spmm_status_t build(const published_case_t *c, int k, void *state)
{
    state_t      *s    = state;
    ladder_host_t host = {.width = 0};
    spmm_status_t status;

    if (k >= LADDER_STEPS) {
        return bell_open(c->o, 2 << (k - LADDER_STEPS), &s->bell);
    }
    s->step = (ladder_step_t)k;
    SPMM_TRY(make_tiles(c, ladder_form(s->step), &host));
    status = check(c, s->step, &host);
    if (status == SPMM_OK) {
        status = upload_tiles(c, &host, s);
    }
    ladder_host_free(&host);
    return status == SPMM_OK ? upload_b(c, s) : status;
}

static cudaError_t run(const void *state, const void *B, void *C, int64_t n, cudaStream_t stream)
{
    const state_t *s = state;

    (void)B; /* Blocked-ELL has it, steps take it by columns */
    if (s->bell != NULL) {
        return bell_multiply(s->bell) == SPMM_OK ? cudaSuccess : cudaErrorUnknown;
    }
    return ladder_mm(s->step, &s->tiles, s->Bt, s->ldb, C, n, stream);
}

static void close_bell(void *state)
{
    bell_close(((state_t *)state)->bell);
}

const published_t published_thesis = {.name       = "thesis",
                                      .type       = SPMM_R_16F,
                                      .compute    = SPMM_COMPUTE_32F,
                                      .engine     = "bcsr",
                                      .named      = engines,
                                      .unit       = LADDER_COLUMNS,
                                      .pad        = PAD,
                                      .n_variants = VARIANTS,
                                      .variants   = names,
                                      .state_size = sizeof(state_t),
                                      .build      = build,
                                      .run        = run,
                                      .close      = close_bell};

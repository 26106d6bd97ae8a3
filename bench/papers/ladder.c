/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder.c
 *  Kernels of the thesis on sparse tensor cores (paper 003) on one GPU, beside the library's
 *  engines and Blocked-ELL of cuSPARSE; FP16, sums in FP32.
 *
 *      bench_ladder [--iterations K] [--only NAME,NAME,...] N,N,... MATRIX...
 *
 *  MATRIX is a file or a generator's spec; N multiples of 8.  Device time, median of K (20)
 *  products after 3, fewer where they take long, the same B and C again.  --only: steps (T, BT,
 *  CBT, OBT, ST, ST_large, OBTS, OBTS_large, OBTS_large_separate, OBT_tiled), Blocked-ELL
 *  (bell-2, bell-4, bell-8, bell-16, bell-32: the side of a block) and engines of the library;
 *  without it all that there are.  A line for each matrix, N and contender: time; GFLOP/s
 *  of the entries; TFLOP/s as the thesis counts them, of all places of the 16 x 32 tiles; ratios to
 *  OBT and to engine cusparse in FP16; error against FP64 sums on the host.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "block.h"
#include "ladder_case.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

enum { MOST = 32, PAD = 64, NAME = 48 };

static const ladder_contender_t steps[LADDER_STEPS] = {
    {.name = "T", .step = LADDER_T},
    {.name = "BT", .step = LADDER_BT},
    {.name = "CBT", .step = LADDER_CBT},
    {.name = "OBT", .step = LADDER_OBT},
    {.name = "ST", .step = LADDER_ST},
    {.name = "ST_large", .step = LADDER_ST_LARGE},
    {.name = "OBTS", .step = LADDER_OBTS},
    {.name = "OBTS_large", .step = LADDER_OBTS_LARGE},
    {.name = "OBTS_large_separate", .step = LADDER_OBTS_SEPARATE},
    {.name = "OBT_tiled", .step = LADDER_OBT_TILED},
};

static const ladder_contender_t bells[] = {{.name = "bell-2", .bell = 2},
                                           {.name = "bell-4", .bell = 4},
                                           {.name = "bell-8", .bell = 8},
                                           {.name = "bell-16", .bell = 16},
                                           {.name = "bell-32", .bell = 32}};

enum { OTHERS = LADDER_STEPS + (int)(sizeof bells / sizeof bells[0]) };

/* All contenders, cusparse first; the list is the caller's. */
static int list_contenders(ladder_contender_t list[MOST])
{
    int n = 0;

    for (int e = 0; e < spmmi_n_engines && n < MOST - OTHERS; e++) {
        if (spmmi_engines[e]->built) {
            list[n++] =
                (ladder_contender_t){.name = spmmi_engines[e]->name, .engine = spmmi_engines[e]};
        }
    }
    memcpy(list + n, steps, sizeof steps);
    memcpy(list + n + LADDER_STEPS, bells, sizeof bells);
    return n + OTHERS;
}

static double seconds_of(const ladder_result_t *results, int n, const char *name)
{
    for (int k = 0; k < n; k++) {
        if (strcmp(results[k].name, name) == 0) {
            return results[k].seconds;
        }
    }
    return (double)NAN;
}

static const char *ratio(char text[NAME], double of, double seconds)
{
    (void)snprintf(text, NAME, isnan(of) ? "-" : "%.3f", of / seconds);
    return text;
}

/* @return whether all are right */
static bool print_results(const char *name, const ladder_case_t *c, const ladder_host_t *wide,
                          const ladder_result_t *results, int n)
{
    const double  nnz = (double)spmmi_csr_nnz(c->o.block), columns = (double)c->o.n;
    const int64_t n_tiles = wide->n_dense + wide->n_sparse;
    const double  places  = (double)n_tiles * LADDER_ROWS * LADDER_WIDE;
    const double  bound   = tool_tolerance(SPMM_R_16F, SPMM_COMPUTE_32F);
    const double  obt = seconds_of(results, n, "OBT"), sparse = seconds_of(results, n, "cusparse");
    bool          good = true;

    for (int k = 0; k < n; k++) {
        const double s = results[k].seconds;
        char         t[2][NAME];

        good = good && results[k].error <= bound;
        (void)printf(
            "%s\t%.0f\t%" PRId64 "\t%" PRId64 "\t%.2f\t%s\t%.6f\t%.1f\t%.3f\t%s\t%s\t%.2e\t%s\n",
            name, nnz, c->o.n, n_tiles, 100.0 * (double)wide->n_sparse / fmax(1.0, (double)n_tiles),
            results[k].name, 1e3 * s, 2e-9 * nnz * columns / s, 2e-12 * places * columns / s,
            ratio(t[0], obt, s), ratio(t[1], sparse, s), results[k].error,
            results[k].error <= bound ? "yes" : "no");
    }
    (void)fflush(stdout);
    return good;
}

/* @return the exit code so far; errors of contenders are said and passed over */
static int run_width(const bench_program_t *r, ladder_case_t *c, const char *name,
                     const ladder_host_t *wide)
{
    spmm_error_t      *err = &c->o.device->env->err;
    ladder_contender_t list[MOST];
    ladder_result_t    results[MOST];
    const int          n_list = list_contenders(list);
    int                n = 0, code = 0;

    for (int k = 0; k < n_list; k++) {
        spmm_status_t now;

        if (!tool_is_listed(r->only, list[k].name)) {
            continue;
        }
        now = ladder_compete(&list[k], c, r->iterations, &results[n]);
        n += now == SPMM_OK;
        if (now != SPMM_OK) {
            (void)fprintf(stderr, "bench_ladder: %s, N = %" PRId64 ", %s: %s\n", name, c->o.n,
                          list[k].name, err->text);
            code = now == SPMM_ERR_UNSUPPORTED ? code : 4;
            spmmi_error_clear(err);
        }
    }
    if (!print_results(name, c, wide, results, n)) {
        (void)fprintf(stderr, "bench_ladder: %s, N = %" PRId64 ": an error is above its bound\n",
                      name, c->o.n);
        code = code == 0 ? 1 : code;
    }
    return code;
}

/* Empty rows and columns behind the last ones, up to whole tiles. */
static spmm_status_t pad(spmm_env_t *env, spmm_csr_t *block)
{
    const int32_t rows = (block->n_rows + PAD - 1) / PAD * PAD;
    spmm_csr_t    out  = {0};

    SPMM_TRY(spmmi_csr_alloc(env, rows, (block->n_cols + PAD - 1) / PAD * PAD, spmmi_csr_nnz(block),
                             block->type, &out));
    for (int32_t i = 0; i <= rows; i++) {
        out.row_ptr[i] = block->row_ptr[i < block->n_rows ? i : block->n_rows];
    }
    memcpy(out.col_idx, block->col_idx, (size_t)spmmi_csr_nnz(block) * sizeof *out.col_idx);
    memcpy(out.values, block->values, (size_t)spmmi_csr_nnz(block) * sizeof(uint16_t));
    spmmi_csr_free(block);
    *block = out;
    return SPMM_OK;
}

/* @return the exit code of the widths; @p status tells of the rest */
static int run_tiles(const bench_program_t *r, const spmm_device_t *device, const char *name,
                     const spmm_csr_t *block, spmm_status_t *status)
{
    void         *owned[LADDER_FORMS][LADDER_ARRAYS] = {{NULL}};
    ladder_host_t host[LADDER_FORMS]                 = {{.width = 0}};
    ladder_case_t c                                  = {.Bt = NULL};
    int           code                               = 0;

    for (int k = 0; k < LADDER_FORMS && *status == SPMM_OK; k++) {
        *status = k == LADDER_MERGED
                      ? ladder_host_merge(device->env, &host[LADDER_DENSE_16], &host[k])
                      : ladder_host_create(device->env, block, (ladder_form_t)k, &host[k]);
        if (*status == SPMM_OK) {
            *status = ladder_upload(device, &host[k], owned[k], &c.tiles[k]);
        }
    }
    for (int w = 0; w < r->n_widths && *status == SPMM_OK; w++) {
        *status = ladder_open_operands(&c, device, block, r->width[w]);
        if (*status == SPMM_OK) {
            const int now = run_width(r, &c, name, &host[LADDER_SPARSE_32]);

            code = now > code ? now : code;
        }
        ladder_close_operands(&c);
    }
    for (int k = 0; k < LADDER_FORMS; k++) {
        for (int a = 0; a < LADDER_ARRAYS; a++) {
            device->ops->release(device, owned[k][a]);
        }
        ladder_host_free(&host[k]);
    }
    return code;
}

static int run_matrix(const spmm_device_t *device, const char *path, bench_program_t *r)
{
    spmm_csr_t    block  = {0};
    spmm_status_t status = bench_block_read(device->env, path, SPMM_R_16F, &block);
    int           code   = 0, failed;

    if (status == SPMM_OK) {
        status = pad(device->env, &block);
    }
    if (status == SPMM_OK) {
        code = run_tiles(r, device, bench_block_name(path), &block, &status);
    }
    failed = bench_block_failed(r->name, path, device, status);
    spmmi_csr_free(&block);
    return failed > code ? failed : code;
}

static void print_head(const spmm_device_t *device, const bench_program_t *program)
{
    (void)printf("# %s, FP16, device time, median of %" PRId64 " after %d, caches warm\n",
                 device->description, program->iterations, BENCH_WARMUP);
    (void)printf("matrix\tnnz\tN\ttiles32\tsp24_percent\tvariant\tmedian_ms\tgflops\t"
                 "tile_tflops\tto_OBT\tto_cusparse\tmax_error\tpassed\n");
}

int main(int argc, char **argv)
{
    bench_program_t program = {.name       = "bench_ladder",
                               .usage      = "[--iterations K] [--only NAME,...] N,N,... MATRIX...",
                               .unit       = LADDER_COLUMNS,
                               .head       = print_head,
                               .run        = run_matrix,
                               .iterations = 20,
                               .has_only   = true};

    (void)argc;
    return bench_block_main(&program, argv + 1);
}

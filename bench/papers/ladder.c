/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder.c
 *  The ladder of the thesis on sparse tensor cores (paper 003) on one GPU, beside the library's
 *  engines; FP16, sums in FP32.
 *
 *      bench_ladder [--iterations K] [--only NAME,NAME,...] N,N,... MATRIX...
 *
 *  MATRIX is a file or a generator's spec; N multiples of 8.  Device time, median of K (20)
 *  products after 3, fewer where they take long, the same B and C again.  --only: steps (T, BT,
 *  CBT, OBT, ST_large, OBTS_large, OBTS_large_separate) and engines of the library; without it all
 *  that there are.  A line for each matrix, N and contender: time; GFLOP/s of the entries; TFLOP/s
 *  as the thesis counts them, of all places of the 16 x 32 tiles; ratios to OBT and to engine
 *  cusparse in FP16; error against FP64 sums on the host.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "block.h"
#include "block_main.h"
#include "ladder_case.h"
#include "ladder_mm.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

static const char program[] = "bench_ladder";
enum { MOST = 32, PAD = 64, NAME = 48 };

typedef struct {
    int64_t     width[BENCH_WIDTHS];
    int         n_widths;
    int64_t     iterations;
    const char *only; /* NULL: all */
} request_t;

/* Steps. */
static spmm_status_t open_step(const ladder_contender_t *who, const ladder_case_t *c, void **state)
{
    (void)who;
    (void)c;
    *state = NULL;
    return SPMM_OK;
}

static spmm_status_t run_step(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    const ladder_step_t step = (ladder_step_t)who->kind;

    (void)state;
    return spmmi_cuda_check(c->o.device,
                            ladder_mm(step, &c->tiles[ladder_width(step) / LADDER_ROWS - 1], c->Bt,
                                      c->o.block->n_cols, c->o.C, c->o.n,
                                      (cudaStream_t)c->o.stream),
                            who->name);
}

static void close_step(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    (void)who;
    (void)c;
    (void)state;
}

#define STEP(name, step)                                                                           \
    {                                                                                              \
        name, step, open_step, run_step, close_step                                                \
    }
static const ladder_contender_t steps[] = {
    STEP("T", LADDER_T),
    STEP("BT", LADDER_BT),
    STEP("CBT", LADDER_CBT),
    STEP("OBT", LADDER_OBT),
    STEP("ST_large", LADDER_ST_LARGE),
    STEP("OBTS_large", LADDER_OBTS_LARGE),
    STEP("OBTS_large_separate", LADDER_OBTS_SEPARATE),
};

/* Engines: kind is the place in spmmi_engines. */
static spmm_status_t open_engine(const ladder_contender_t *who, const ladder_case_t *c,
                                 void **state)
{
    const spmm_engine_ops_t *engine        = spmmi_engines[who->kind];
    char                     why[SPMM_WHY] = "";
    const spmm_problem_t     problem       = {.ab_type = SPMM_R_16F,
                                              .c_type  = SPMM_R_16F,
                                              .compute = SPMM_COMPUTE_32F,
                                              .layout  = SPMM_LAYOUT_ROW,
                                              .n       = c->o.n};

    if (!engine->built || !engine->supports(&problem, c->o.device, why)) {
        return spmmi_fail(&c->o.device->env->err, SPMM_ERR_UNSUPPORTED, "engine %s %s",
                          engine->name, engine->built ? why : "is not part of this build");
    }
    return engine->build(c->o.block, &problem, c->o.device, state);
}

static spmm_status_t run_engine(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    return bench_operands_multiply(&c->o, spmmi_engines[who->kind], state);
}

static void close_engine(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    (void)c;
    spmmi_engines[who->kind]->destroy(state);
}

/* All contenders, cusparse first; the list is the caller's. */
static int list_contenders(ladder_contender_t list[MOST])
{
    int n = 0;

    for (int e = 0; e < spmmi_n_engines && n < MOST; e++) {
        if (spmmi_engines[e]->built) {
            list[n++] = (ladder_contender_t){spmmi_engines[e]->name, e, open_engine, run_engine,
                                             close_engine};
        }
    }
    for (size_t k = 0; k < sizeof steps / sizeof steps[0] && n < MOST; k++) {
        list[n++] = steps[k];
    }
    return n;
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
    const double nnz = (double)spmmi_csr_nnz(c->o.block), columns = (double)c->o.n;
    const double places = (double)wide->n_tiles * LADDER_ROWS * LADDER_WIDE;
    const double bound  = tool_tolerance(SPMM_R_16F, SPMM_COMPUTE_32F);
    const double obt = seconds_of(results, n, "OBT"), sparse = seconds_of(results, n, "cusparse");
    bool         good = true;

    for (int k = 0; k < n; k++) {
        const double s = results[k].seconds;
        char         t[2][NAME];

        good = good && results[k].error <= bound;
        (void)printf(
            "%s\t%.0f\t%" PRId64 "\t%" PRId64 "\t%.2f\t%s\t%.6f\t%.1f\t%.3f\t%s\t%s\t%.2e\t%s\n",
            name, nnz, c->o.n, wide->n_tiles,
            100.0 * (double)wide->n_sparse / fmax(1.0, (double)wide->n_tiles), results[k].name,
            1e3 * s, 2e-9 * nnz * columns / s, 2e-12 * places * columns / s, ratio(t[0], obt, s),
            ratio(t[1], sparse, s), results[k].error, results[k].error <= bound ? "yes" : "no");
    }
    (void)fflush(stdout);
    return good;
}

static bool wanted(const char *only, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = only; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return only == NULL;
}

/* @return the exit code so far; errors of contenders are said and passed over */
static int run_width(const request_t *r, ladder_case_t *c, const char *name,
                     const ladder_host_t *wide)
{
    spmm_error_t      *err = &c->o.device->env->err;
    ladder_contender_t list[MOST];
    ladder_result_t    results[MOST];
    const int          n_list = list_contenders(list);
    int                n = 0, code = 0;

    for (int k = 0; k < n_list; k++) {
        spmm_status_t now;

        if (!wanted(r->only, list[k].name)) {
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
static int run_tiles(const request_t *r, const spmm_device_t *device, const char *name,
                     const spmm_csr_t *block, spmm_status_t *status)
{
    void         *owned[2][LADDER_ARRAYS] = {{NULL}};
    ladder_host_t host[2]                 = {{.width = 0}};
    ladder_case_t c                       = {.Bt = NULL};
    int           code                    = 0;

    for (int k = 0; k < 2 && *status == SPMM_OK; k++) {
        *status = ladder_host_create(device->env, block, (k + 1) * LADDER_ROWS, &host[k]);
        if (*status == SPMM_OK) {
            *status = ladder_upload(device, &host[k], owned[k], &c.tiles[k]);
        }
    }
    for (int w = 0; w < r->n_widths && *status == SPMM_OK; w++) {
        *status = ladder_open_operands(&c, device, block, r->width[w]);
        if (*status == SPMM_OK) {
            const int now = run_width(r, &c, name, &host[1]);

            code = now > code ? now : code;
        }
        ladder_close_operands(&c);
    }
    for (int k = 0; k < 2 * LADDER_ARRAYS; k++) {
        device->ops->release(device, owned[k / LADDER_ARRAYS][k % LADDER_ARRAYS]);
    }
    ladder_host_free(&host[0]);
    ladder_host_free(&host[1]);
    return code;
}

static int run_matrix(const spmm_device_t *device, const char *path, void *self)
{
    spmm_csr_t    block  = {0};
    spmm_status_t status = bench_block_read(device->env, path, SPMM_R_16F, &block);
    int           code   = 0, failed;

    if (status == SPMM_OK) {
        status = pad(device->env, &block);
    }
    if (status == SPMM_OK) {
        code = run_tiles(self, device, bench_block_name(path), &block, &status);
    }
    failed = bench_block_failed(program, path, device, status);
    spmmi_csr_free(&block);
    return failed > code ? failed : code;
}

static void print_head(const spmm_device_t *device, void *self)
{
    (void)printf("# %s, FP16, device time, median of %" PRId64 " after %d, caches warm\n",
                 device->description, ((request_t *)self)->iterations, BENCH_WARMUP);
    (void)printf("matrix\tnnz\tN\ttiles32\tsp24_percent\tvariant\tmedian_ms\tgflops\t"
                 "tile_tflops\tto_OBT\tto_cusparse\tmax_error\tpassed\n");
}

/* @return the first argument behind the options */
static int parse_options(int argc, char **argv, request_t *r)
{
    int k = 1;

    for (; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "--iterations") == 0) {
            r->iterations = strtoll(argv[k + 1], NULL, 10);
        } else if (strcmp(argv[k], "--only") == 0) {
            r->only = argv[k + 1];
        } else {
            break;
        }
    }
    return k;
}

int main(int argc, char **argv)
{
    request_t request = {.iterations = 20};
    const int first   = parse_options(argc, argv, &request);

    if (argc > first + 1) {
        request.n_widths =
            tool_read_widths(argv[first], LADDER_COLUMNS, request.width, BENCH_WIDTHS);
    }
    if (request.iterations < 1 || request.n_widths == 0) {
        (void)fprintf(stderr, "usage: bench_ladder [--iterations K] [--only NAME,...] N,N,... "
                              "MATRIX...\n");
        return 2;
    }
    return bench_block_main(program, argv + first + 1, print_head, run_matrix, &request);
}

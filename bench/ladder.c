/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder.c
 *  The ladder of the thesis on sparse tensor cores (paper 003) on one GPU, beside the library's engines and
 *  other libraries; FP16, sums in FP32.
 *
 *      bench_ladder [--iterations K] [--only NAME,NAME,...] N,N,... MATRIX...
 *
 *  MATRIX is a file or a generator's spec; N multiples of 8.  Device time, median of K (20) products after
 *  3, fewer where they take long, the same B and C again.  --only: steps (T, BT, CBT, OBT, ST_large,
 *  OBTS_large, OBTS_large_separate), engines of the library, bcsr and bcsr-sp24 by one form
 *  (bcsr:steps, bcsr:lists, bcsr-sp24:lists), a trial in TF32 on the same values (OBT_large_tf32,
 *  OBTS_large_separate_tf32) and others (cusparse-bsr-16f, cusparse-bsr-32f, cublas-dense); without it all that there are.  A line for each matrix, N and
 *  contender: time; GFLOP/s of the entries; TFLOP/s as the thesis counts them, of all places of the
 *  16 x 32 tiles; ratios to OBT and to engine cusparse in FP16; error against FP64 sums on the host.
 */
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "block.h"
#include "engine/bcsr/variant.h"
#include "engine/engine.h"
#include "ladder_case.h"
#include "ladder_mm.h"
#include "ladder_tiles.h"
#include "spmm_dist/context.h"

enum { MOST_WIDTHS = 16, MOST = 32, PAD = 64, NAME = 48 };

typedef struct {
    int64_t     width[MOST_WIDTHS];
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
    return spmmi_cuda_check(c->device,
                            ladder_mm(step, &c->tiles[ladder_width(step) / LADDER_ROWS - 1], c->Bt,
                                      c->b_rows, c->C, c->n, c->stream),
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
        name, step, SPMM_R_16F, open_step, run_step, close_step                                    \
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
                                              .n       = c->n};

    if (!engine->built || !engine->supports(&problem, c->device, why)) {
        return spmmi_fail(&c->device->env->err, SPMM_ERR_UNSUPPORTED, "engine %s %s", engine->name,
                          engine->built ? why : "is not part of this build");
    }
    if (strchr(who->name, ':') != NULL) { /* a form of it alone */
        const bool lists = strstr(who->name, ":lists") != NULL;

        return spmmi_tc_build(spmmi_bcsr_kind(strncmp(who->name, "bcsr-sp24", 9) == 0,
                                              lists ? SPMM_BCSR_BY_LISTS : SPMM_BCSR_BY_STEPS),
                              c->block, &problem, c->device, state);
    }
    return engine->build(c->block, &problem, c->device, state);
}

static spmm_status_t run_engine(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    return spmmi_engines[who->kind]->execute(
        state, &(spmm_operands_t){.ab_type = SPMM_R_16F,
                                  .c_type  = SPMM_R_16F,
                                  .layout  = SPMM_LAYOUT_ROW,
                                  .n       = c->n,
                                  .alpha   = {.re = 1.0},
                                  .B       = c->B,
                                  .ldb     = c->n,
                                  .C       = c->C,
                                  .ldc     = c->n,
                                  .stream  = (spmm_stream_t)c->stream});
}

static void close_engine(const ladder_contender_t *who, const ladder_case_t *c, void *state)
{
    (void)c;
    spmmi_engines[who->kind]->destroy(state);
}

/* All contenders, cusparse first; the list is the caller's.  By steps there are no 2:4 tiles. */
static int list_contenders(ladder_contender_t list[MOST])
{
    static const char *const forms[] = {"bcsr:steps", "bcsr:lists", "bcsr-sp24:lists"};
    int                      n       = 0;

    for (int e = 0; e < spmmi_n_engines; e++) {
        const char *name = spmmi_engines[e]->name;

        for (int k = -1; k < 3 && spmmi_engines[e]->built && n < MOST; k++) {
            if (k < 0 || (strcspn(forms[k], ":") == strlen(name) &&
                          strncmp(forms[k], name, strlen(name)) == 0)) {
                list[n++] = (ladder_contender_t){
                    k < 0 ? name : forms[k], e, SPMM_R_16F, open_engine, run_engine, close_engine};
            }
        }
    }
    for (int k = 0; k < ladder_n_peers && n < MOST; k++) {
        list[n++] = ladder_peers[k];
    }
    for (size_t k = 0; k < sizeof steps / sizeof steps[0] && n < MOST; k++) {
        list[n++] = steps[k];
    }
    for (int k = 0; k < LADDER_TF32 && n < MOST; k++) {
        list[n++] = ladder_tf32[k];
    }
    return n;
}

static int64_t up_to(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
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
    const double nnz = (double)spmmi_csr_nnz(c->block), columns = (double)c->n;
    const double places = (double)wide->n_tiles * LADDER_ROWS * LADDER_WIDE;
    const double obt = seconds_of(results, n, "OBT"), sparse = seconds_of(results, n, "cusparse");
    bool         good = true;

    for (int k = 0; k < n; k++) {
        const double s = results[k].seconds;
        char         t[2][NAME];

        good = good && results[k].error <= LADDER_BOUND;
        (void)printf("%s\t%.0f\t%" PRId64 "\t%" PRId64
                     "\t%.2f\t%s\t%.6f\t%.1f\t%.3f\t%s\t%s\t%.2e\t%s\n",
                     name, nnz, c->n, wide->n_tiles,
                     100.0 * (double)wide->n_sparse / fmax(1.0, (double)wide->n_tiles),
                     results[k].name, 1e3 * s, 2e-9 * nnz * columns / s,
                     2e-12 * places * columns / s, ratio(t[0], obt, s), ratio(t[1], sparse, s),
                     results[k].error, results[k].error <= LADDER_BOUND ? "yes" : "no");
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
    spmm_error_t      *err = &c->device->env->err;
    ladder_contender_t list[MOST];
    ladder_result_t    results[MOST];
    const int          n_list = list_contenders(list);
    float             *host_B = NULL;
    int                n = 0, code = 0;
    spmm_status_t      status = ladder_open_operands(c, &host_B);

    for (int k = 0; k < n_list && status == SPMM_OK; k++) {
        const spmm_status_t now = wanted(r->only, list[k].name)
                                      ? ladder_compete(&list[k], c, r->iterations, &results[n])
                                      : SPMM_ERR_UNSUPPORTED;

        n += now == SPMM_OK;
        if (now != SPMM_OK && wanted(r->only, list[k].name)) {
            (void)fprintf(stderr, "bench_ladder: %s, N = %" PRId64 ", %s: %s\n", name, c->n,
                          list[k].name, err->text);
            code = now == SPMM_ERR_UNSUPPORTED ? code : 4;
        }
        spmmi_error_clear(err);
    }
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_ladder: %s: %s\n", name, err->text);
        spmmi_error_clear(err);
        code = 4;
    } else if (!print_results(name, c, wide, results, n)) {
        (void)fprintf(stderr, "bench_ladder: %s, N = %" PRId64 ": an error is above its bound\n",
                      name, c->n);
        code = code == 0 ? 1 : code;
    }
    ladder_close_operands(c, host_B);
    return code;
}

/* A in FP16, in place. */
static spmm_status_t narrow(spmm_env_t *env, spmm_csr_t *block)
{
    const int64_t nnz  = spmmi_csr_nnz(block);
    void         *half = spmmi_alloc(nnz, sizeof(uint16_t));

    if (half == NULL) {
        return spmmi_fail_memory(&env->err, nnz, sizeof(uint16_t), "values");
    }
    for (int64_t k = 0; k < nnz; k++) {
        const double value = spmmi_value_get(block->type, block->values, k);

        if (!spmmi_value_fits(SPMM_R_16F, value)) {
            spmmi_free(half);
            return spmmi_fail(&env->err, SPMM_ERR_RANGE, "value %g does not fit FP16", value);
        }
        spmmi_value_set(SPMM_R_16F, half, k, value);
    }
    spmmi_free(block->values);
    block->values = half;
    block->type   = SPMM_R_16F;
    return SPMM_OK;
}

static int run_tiles(const request_t *r, const spmm_device_t *device, const char *name,
                     const spmm_csr_t *block)
{
    void         *owned[2][LADDER_ARRAYS] = {{NULL}};
    ladder_host_t host[2]                 = {{.width = 0}};
    ladder_case_t c                       = {.device = device,
                                             .block  = block,
                                             .b_rows = up_to(block->n_cols, PAD),
                                             .c_rows = up_to(block->n_rows, PAD)};
    int           code                    = 0;
    spmm_status_t status                  = SPMM_OK;

    for (int k = 0; k < 2 && status == SPMM_OK; k++) {
        status = ladder_host_create(device->env, block, (k + 1) * LADDER_ROWS, &host[k]);
        if (status == SPMM_OK) {
            status = ladder_upload(device, &host[k], owned[k], &c.tiles[k]);
        }
    }
    if (status == SPMM_OK) {
        status =
            spmmi_cuda_check(device, cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking),
                             "cudaStreamCreate");
    }
    for (int w = 0; w < r->n_widths && status == SPMM_OK; w++) {
        int now;

        c.n  = r->width[w];
        now  = run_width(r, &c, name, &host[1]);
        code = now > code ? now : code;
    }
    if (c.stream != NULL) {
        (void)cudaStreamDestroy(c.stream);
    }
    for (int k = 0; k < 2 * LADDER_ARRAYS; k++) {
        device->ops->release(device, owned[k / LADDER_ARRAYS][k % LADDER_ARRAYS]);
    }
    ladder_host_free(&host[0]);
    ladder_host_free(&host[1]);
    return status == SPMM_OK ? code : -1;
}

static int run_matrix(const request_t *r, const spmm_device_t *device, const char *path)
{
    spmm_csr_t    block  = {0};
    spmm_status_t status = bench_block_read(device->env, path, SPMM_R_32F, &block);
    int           code   = 3;

    if (status == SPMM_OK) {
        status = narrow(device->env, &block);
    }
    if (status == SPMM_OK) {
        code = run_tiles(r, device, bench_block_name(path), &block);
    }
    if (status != SPMM_OK || code < 0) {
        (void)fprintf(stderr, "bench_ladder: %s: %s\n", path, device->env->err.text);
        spmmi_error_clear(&device->env->err);
        code = 3;
    }
    spmmi_csr_free(&block);
    return code;
}

static bool parse_widths(char *at, request_t *r)
{
    for (; *at != '\0' && r->n_widths < MOST_WIDTHS; at += *at == ',') {
        const int64_t n = strtoll(at, &at, 10);

        if (n < LADDER_COLUMNS || n % LADDER_COLUMNS != 0 || (*at != ',' && *at != '\0')) {
            return false;
        }
        r->width[r->n_widths++] = n;
    }
    return r->n_widths > 0;
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
    spmm_env_t    env     = {.size = 1};
    request_t     request = {.iterations = 20};
    const int     first   = parse_options(argc, argv, &request);
    spmm_device_t device;
    int           code = 0;

    if (argc < first + 2 || request.iterations < 1 || !parse_widths(argv[first], &request)) {
        (void)fprintf(stderr, "usage: bench_ladder [--iterations K] [--only NAME,...] N,N,... "
                              "MATRIX...\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    env.comm = MPI_COMM_SELF;
    if (spmmi_device_open(&env, SPMM_DEVICE_CUDA, NULL, &device) != SPMM_OK ||
        spmmi_engines_preload(&device) != SPMM_OK) {
        (void)fprintf(stderr, "bench_ladder: %s\n", env.err.text);
        MPI_Finalize();
        return 4;
    }
    (void)printf("# %s, FP16, device time, median of %" PRId64 " after %d, caches warm\n",
                 device.description, request.iterations, LADDER_WARMUP);
    (void)printf("matrix\tnnz\tN\ttiles32\tsp24_percent\tvariant\tmedian_ms\tgflops\t"
                 "tile_tflops\tto_OBT\tto_cusparse\tmax_error\tpassed\n");
    for (int k = first + 1; k < argc; k++) {
        const int now = run_matrix(&request, &device, argv[k]);

        code = now > code ? now : code;
    }
    spmmi_device_close(&device);
    MPI_Finalize();
    return code;
}

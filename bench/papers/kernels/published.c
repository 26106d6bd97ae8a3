/* SPDX-License-Identifier: Apache-2.0 */
/** @file published.c
 *  Kernels as their papers publish them on one GPU, beside the engine that took their place:
 *
 *      bench_published PAPER [--iterations K] [--only NAME,NAME,...] N,N,... MATRIX...
 *
 *  PAPER: acc-spmm, cutespmm (TF32), sspmm, thesis or vectorsparse (FP16).  MATRIX is a file or a
 *  generator's spec; N multiples of 32, of thesis 8.  Device time, median of K (20) products after
 *  3, the same B and C again.  --only: variants, `cusparse` or `engine`, that of the library, which
 *  for thesis is `bcsr` and `bcsr-sp24`; without it all.  A line for each matrix, N and variant:
 *  facts of the matrix (TCU-Synergy's class, modelled OI, IBD), time, GFLOP/s, its time over those
 *  of the engine and of cusparse, error against FP64 sums on the host.  `engine ordered` has the
 *  rows in the order of the paper.  Exit code 1: an error is above its bound.
 */
#include "published.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/device_cuda.h"
#include "engine/pattern.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

static const char program[] = "bench_published";

static const published_t *const papers[] = {&published_acc, &published_cute, &published_sspmm,
                                            &published_thesis, &published_vector};

/* What the command line says. */
enum { MOST_WIDTHS = 16 };
static const published_t *paper;
static const char        *only; /* NULL: all */
static int64_t            iterations = 20, width[MOST_WIDTHS];
static int                n_widths;

/** A matrix, its facts, and one width. */
typedef struct {
    published_case_t c;
    bench_operands_t o;
    const char      *name;
    spmm_tc_facts_t  facts;
    double           engine_s, cusparse_s; /**< NaN: not measured */
    bool             is_wrong;
} run_t;

/** What bench_block_median() repeats. */
typedef struct {
    const bench_operands_t *o;
    const void             *state;
} product_t;

void *published_upload(const spmm_device_t *device, const void *host, size_t bytes,
                       published_arrays_t *arrays, spmm_status_t *status)
{
    void *to = NULL;

    if (*status == SPMM_OK) {
        *status                    = spmmi_device_upload(device, host, bytes, &to);
        arrays->array[arrays->n++] = to;
    }
    return *status == SPMM_OK ? to : NULL;
}

static void release(const spmm_device_t *device, void *state)
{
    const published_arrays_t *arrays = state;

    for (int k = 0; k < arrays->n; k++) {
        device->ops->release(device, arrays->array[k]);
    }
    if (paper->close != NULL) {
        paper->close(state);
    }
    spmmi_free(state);
}

static spmm_status_t multiply(void *self)
{
    const product_t *p = self;

    return spmmi_cuda_check(
        p->o->device, paper->run(p->state, p->o->B, p->o->C, p->o->n, (cudaStream_t)p->o->stream),
        "a published kernel");
}

static spmm_status_t time_variant(run_t *r, int v, double *seconds, double *error)
{
    void         *state   = spmmi_alloc_zero(1, paper->state_size);
    product_t     product = {.o = &r->o, .state = state};
    spmm_status_t status;

    if (state == NULL) {
        return spmmi_fail_memory(&r->o.device->env->err, 1, paper->state_size, "a format");
    }
    status = paper->build(&r->c, v, state);
    if (status == SPMM_OK) {
        status = bench_operands_poison(&r->o);
    }
    if (status == SPMM_OK) {
        status =
            bench_block_median(r->o.device, r->o.stream, iterations, multiply, &product, seconds);
    }
    if (status == SPMM_OK) {
        status = bench_operands_error(&r->o, error);
    }
    release(r->o.device, state);
    return status;
}

static spmm_status_t time_engine(run_t *r, const char *name, const spmm_csr_t *block,
                                 double *seconds, double *error)
{
    const spmm_engine_ops_t *engine  = spmmi_engine_find(name);
    spmm_pattern_t           pattern = {0};
    spmm_problem_t           problem = {.ab_type = paper->type,
                                        .c_type  = paper->type,
                                        .compute = paper->compute,
                                        .layout  = SPMM_LAYOUT_ROW,
                                        .n       = r->o.n,
                                        .pattern = &pattern};
    void                    *format  = NULL;
    char                     why[SPMM_WHY];
    spmm_status_t            status;

    if (!spmmi_engine_supports(engine, &problem, r->o.device, why)) {
        return spmmi_fail(&r->o.device->env->err, SPMM_ERR_UNSUPPORTED, "engine %s %s", name, why);
    }
    status = spmmi_pattern_scan(r->o.device->env, block, &pattern);
    if (status == SPMM_OK) {
        status = engine->build(engine, block, &problem, r->o.device, &format);
    }
    if (status == SPMM_OK) {
        status = bench_operands_measure(&r->o, engine, format, iterations, seconds, error);
        engine->destroy(format);
    }
    spmmi_pattern_free(&pattern);
    return status;
}

static void print_row(run_t *r, const char *variant, double seconds, double error)
{
    const double nnz    = (double)spmmi_csr_nnz(r->c.block);
    const bool   passed = error <= tool_tolerance(paper->type, paper->compute);

    r->is_wrong = r->is_wrong || !passed;
    (void)printf("%s\t%.0f\t%s\t%.1f\t%.2f\t%" PRId64 "\t%s\t%.6f\t%.1f", r->name, nnz,
                 spmmi_tc_synergy_class(r->facts.synergy), r->facts.oi_shmem, r->facts.ibd, r->o.n,
                 variant, 1e3 * seconds, 2e-9 * nnz * (double)r->o.n / seconds);
    for (int k = 0; k < 2; k++) {
        const double to = k == 0 ? r->engine_s : r->cusparse_s;

        (void)printf(isnan(to) ? "\t-" : "\t%.3f", seconds / to);
    }
    (void)printf("\t%.2e\t%s\n", error, passed ? "yes" : "no");
    (void)fflush(stdout);
}

/* One line, or nothing where the variant cannot take the case. */
static spmm_status_t compete(run_t *r, const char *name, const char *engine,
                             const spmm_csr_t *block, int v, double *seconds)
{
    double        error = 0.0, own = 0.0;
    spmm_status_t status;

    if (!tool_is_listed(only, name)) {
        return SPMM_OK;
    }
    seconds = seconds == NULL ? &own : seconds;
    status  = engine != NULL ? time_engine(r, engine, block, seconds, &error)
                             : time_variant(r, v, seconds, &error);
    if (status == SPMM_ERR_UNSUPPORTED) {
        (void)fprintf(stderr, "%s: %s, %s: %s\n", program, r->name, name,
                      r->o.device->env->err.text);
        spmmi_error_clear(&r->o.device->env->err);
        return SPMM_OK;
    }
    SPMM_TRY(status);
    print_row(r, name, *seconds, error);
    return SPMM_OK;
}

static spmm_status_t run_width(run_t *r)
{
    r->engine_s = r->cusparse_s = (double)NAN;
    SPMM_TRY(compete(r, "cusparse", "cusparse", r->c.block, 0, &r->cusparse_s));
    if (paper->named == NULL) {
        SPMM_TRY(compete(r, "engine", paper->engine, r->c.block, 0, &r->engine_s));
    }
    for (int k = 0; paper->named != NULL && paper->named[k] != NULL; k++) {
        const char *name = paper->named[k];

        SPMM_TRY(compete(r, name, name, r->c.block, 0, k == 0 ? &r->engine_s : NULL));
    }
    if (r->c.ordered != r->c.block) {
        SPMM_TRY(compete(r, "engine ordered", paper->engine, r->c.ordered, 0, NULL));
    }
    for (int v = 0; v < paper->n_variants; v++) {
        SPMM_TRY(compete(r, paper->variants[v], NULL, NULL, v, NULL));
    }
    return SPMM_OK;
}

/* Empty rows and columns behind the last ones. */
static spmm_status_t pad(spmm_env_t *env, int32_t to, spmm_csr_t *block)
{
    const int32_t rows = (block->n_rows + to - 1) / to * to;
    const size_t  nnz  = (size_t)spmmi_csr_nnz(block);
    spmm_csr_t    out  = {0};

    SPMM_TRY(spmmi_csr_alloc(env, rows, (block->n_cols + to - 1) / to * to, (int64_t)nnz,
                             block->type, &out));
    for (int32_t i = 0; i <= rows; i++) {
        out.row_ptr[i] = block->row_ptr[i < block->n_rows ? i : block->n_rows];
    }
    memcpy(out.col_idx, block->col_idx, nnz * sizeof *out.col_idx);
    memcpy(out.values, block->values, nnz * spmm_type_size(block->type));
    spmmi_csr_free(block);
    *block = out;
    return SPMM_OK;
}

/* The rows in the order of the paper, where it has one that takes the matrix. */
static spmm_status_t order(run_t *r, const spmm_csr_t *block, spmm_csr_t *ordered)
{
    spmm_error_t *err = &r->o.device->env->err;
    spmm_status_t status;

    if (paper->order == NULL || block->n_rows != block->n_cols) {
        return SPMM_OK;
    }
    status = bench_block_reorder(r->o.device->env, paper->order, block, ordered, NULL);
    if (status == SPMM_OK) {
        r->c.ordered = ordered;
    } else if (status == SPMM_ERR_UNSUPPORTED) { /* variants have the rows as given */
        (void)fprintf(stderr, "%s: %s: %s\n", program, r->name, err->text);
        spmmi_error_clear(err);
        status = SPMM_OK;
    }
    return status;
}

static spmm_status_t run_widths(run_t *r, spmm_csr_t *block, spmm_csr_t *ordered)
{
    const spmm_device_t *device = r->c.device;
    int64_t              used;

    if (paper->pad > 0) {
        SPMM_TRY(pad(device->env, paper->pad, block));
    }
    SPMM_TRY(order(r, block, ordered));
    SPMM_TRY(spmmi_tc_facts_scan(device->env, block, &r->facts, &used));
    for (int w = 0; w < n_widths; w++) {
        spmm_status_t status = bench_operands_open(device, block, width[w], &r->o);

        r->c.n = width[w];
        r->c.o = &r->o;
        if (status == SPMM_OK) {
            status = run_width(r);
        }
        bench_operands_close(&r->o);
        SPMM_TRY(status);
    }
    return SPMM_OK;
}

/* @return an exit code */
static int run_matrix(const spmm_device_t *device, const char *path)
{
    spmm_csr_t    block = {0}, ordered = {0};
    run_t         r      = {.c    = {.device = device, .block = &block, .ordered = &block},
                            .o    = {.device = device},
                            .name = bench_block_name(path)};
    spmm_status_t status = bench_block_read(device->env, path, paper->type, &block);

    if (status == SPMM_OK) {
        status = run_widths(&r, &block, &ordered);
    }
    spmmi_csr_free(&block);
    spmmi_csr_free(&ordered);
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "%s: %s: %s\n", program, path, device->env->err.text);
        spmmi_error_clear(&device->env->err);
        return 3;
    }
    return r.is_wrong;
}

/* @return what comes behind the options and widths, NULL: arguments are wrong */
static char **parse(char **at)
{
    bool good = true;

    for (size_t k = 0; k < sizeof papers / sizeof *papers && at[0] != NULL; k++) {
        paper = strcmp(at[0], papers[k]->name) == 0 ? papers[k] : paper;
    }
    if (paper == NULL) {
        return NULL;
    }
    for (at++; at[0] != NULL && at[1] != NULL && at[0][0] == '-'; at += 2) {
        if (strcmp(at[0], "--only") == 0) {
            only = at[1];
        } else {
            good =
                good && strcmp(at[0], "--iterations") == 0 && tool_read_int(at[1], 1, &iterations);
        }
    }
    if (good && at[0] != NULL && at[1] != NULL) {
        n_widths = tool_read_widths(at[0], paper->unit, width, MOST_WIDTHS);
    }
    return n_widths == 0 ? NULL : at + 1;
}

int main(int argc, char **argv)
{
    spmm_env_t    env = {.size = 1};
    spmm_device_t device;
    char        **paths = argc > 1 ? parse(argv + 1) : NULL;
    int           code  = 0;

    if (paths == NULL) {
        (void)fprintf(stderr,
                      "usage: %s PAPER [--iterations K] [--only NAME,...] N,N,... MATRIX...\n",
                      program);
        return 2;
    }
    MPI_Init(NULL, NULL);
    env.comm = MPI_COMM_SELF;
    if (spmmi_device_open(&env, SPMM_DEVICE_CUDA, NULL, &device) != SPMM_OK ||
        spmmi_engines_preload(&device) != SPMM_OK) {
        (void)fprintf(stderr, "%s: %s\n", program, env.err.text);
        MPI_Finalize();
        return 4;
    }
    (void)printf("# %s as published, and engine %s, on %s, device time, median of %" PRId64
                 " after %d, caches warm\n",
                 paper->name, paper->engine, device.description, iterations, BENCH_WARMUP);
    (void)printf("matrix\tnnz\tclass\toi\tibd\tN\tvariant\tmedian_ms\tgflops\tto_engine"
                 "\tto_cusparse\tmax_error\tpassed\n");
    for (; *paths != NULL; paths++) {
        const int now = run_matrix(&device, *paths);

        code = now > code ? now : code;
    }
    spmmi_device_close(&device);
    MPI_Finalize();
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file predict.c
 *  The terms of the cost models for matrices on one H200, which need not be there, for
 *  bench/fit/fit.py:
 *
 *      bench_predict [--rates COPY,GATHER,...] COMPUTE N,N,... FILE...
 *
 *  COMPUTE: 64f, 32f, 32f-fast-tf32, 16f or 16bf, complex or column-major ones by 64c, 32c,
 *  32c-fast-tf32, 64f-col, 32f-col.  A line for each matrix, engine, width and term; their sum is
 *  the predicted time.  All engines take part in a build with CUDA.  --rates: of another device,
 *  bytes/s of a copy and of random rows out of each working set of spmmi_gather_sets.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "tool_common.h"

enum { MOST_WIDTHS = 16, MOST_ENGINES = 32 };

typedef struct {
    spmm_compute_t compute;
    spmm_type_t    type;
    const char    *compute_name;
    int64_t        width[MOST_WIDTHS];
    int            n_widths;
    spmm_layout_t  layout;
} request_t;

static spmm_device_t gpu = {
    .kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .threads = 1, .mem_bw = 4.8e12};

/* Whether @p text has all rates. */
static bool read_rates(const char *text)
{
    char *end;

    gpu.copy_bw = strtod(text, &end);
    for (int k = 0; k < SPMM_GATHER_SETS && *end == ','; k++) {
        gpu.gather_bw[k] = strtod(end + 1, &end);
    }
    return *end == '\0' && gpu.copy_bw > 0.0 && gpu.gather_bw[SPMM_GATHER_SETS - 1] > 0.0;
}

static int parse(int argc, char **argv, request_t *r)
{
    static const struct {
        const char    *name;
        spmm_compute_t compute;
        spmm_type_t    type;
    } modes[] = {{"64f-col", SPMM_COMPUTE_64F, SPMM_R_64F},
                 {"32f-col", SPMM_COMPUTE_32F, SPMM_R_32F},
                 {"64f", SPMM_COMPUTE_64F, SPMM_R_64F},
                 {"32f", SPMM_COMPUTE_32F, SPMM_R_32F},
                 {"32f-fast-tf32", SPMM_COMPUTE_32F_FAST_TF32, SPMM_R_32F},
                 {"16f", SPMM_COMPUTE_32F, SPMM_R_16F},
                 {"16bf", SPMM_COMPUTE_32F, SPMM_R_16BF},
                 {"64c", SPMM_COMPUTE_64F, SPMM_C_64F},
                 {"32c", SPMM_COMPUTE_32F, SPMM_C_32F},
                 {"32c-fast-tf32", SPMM_COMPUTE_32F_FAST_TF32, SPMM_C_32F}};

    for (int k = 0; argc > 3 && k < (int)(sizeof modes / sizeof modes[0]); k++) {
        if (strcmp(argv[1], modes[k].name) == 0) {
            r->compute      = modes[k].compute;
            r->type         = modes[k].type;
            r->layout       = k < 2 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
            r->compute_name = modes[k].name;
        }
    }
    if (r->compute_name == NULL) {
        return 2;
    }
    r->n_widths = tool_read_widths(argv[2], 1, r->width, MOST_WIDTHS);
    return r->n_widths > 0 ? 0 : 2;
}

static void print_engine(const request_t *r, const char *name, const spmm_engine_ops_t *engine,
                         const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    spmm_cost_term_t terms[SPMM_COST_TERMS];
    const int        n = engine->cost(pattern, problem, &gpu, terms);

    for (int k = 0; k < n && isfinite(terms[k].seconds); k++) {
        (void)printf("%s\t%s\t%lld\t%s\t%s\t%.4g\t%.6e\n", name, engine->facts.name,
                     (long long)problem->n, r->compute_name, terms[k].name, terms[k].constant,
                     terms[k].seconds);
    }
}

static spmm_problem_t problem_of(const request_t *r, int w)
{
    return (spmm_problem_t){.ab_type = r->type,
                            .c_type  = r->type,
                            .compute = r->compute,
                            .layout  = r->layout,
                            .n       = r->width[w]};
}

static void print(const request_t *r, const char *name, const spmm_pattern_t *pattern)
{
    spmm_candidate_t candidates[MOST_ENGINES];

    for (int w = 0; w < r->n_widths; w++) {
        const spmm_problem_t problem = problem_of(r, w);

        spmmi_engine_consider(pattern, &problem, &gpu, candidates);
        for (int e = 0; e < spmmi_n_engines; e++) {
            const spmm_engine_ops_t *engine = spmmi_engines[e];
            const bool               strips = strcmp(engine->facts.name, "strips") == 0;
            /* Builds without CUDA say no for these, but know their models. */
            const bool known = engine->facts.lacks != NULL &&
                               (engine->facts.baseline || strips == (r->layout == SPMM_LAYOUT_COL));

            if (candidates[e].usable || known) {
                print_engine(r, name, engine, pattern, &problem);
            }
        }
    }
}

static request_t request;

static spmm_status_t run(spmm_env_t *env, const char *path)
{
    spmm_csr_t     block   = {0};
    spmm_pattern_t pattern = {0};
    spmm_status_t  status  = bench_block_read(env, path, SPMM_R_32F, &block);

    block.type = request.type; /* of the facts; the values are not looked at */
    if (status == SPMM_OK) {
        status = spmmi_pattern_scan(env, &block, &pattern);
    }
    spmmi_csr_free(&block);
    if (status == SPMM_OK) {
        print(&request, bench_block_name(path), &pattern);
    }
    spmmi_pattern_free(&pattern);
    (void)fflush(stdout);
    return status;
}

int main(int argc, char **argv)
{
    const bool has_rates = argc > 2 && strcmp(argv[1], "--rates") == 0;
    const int  skip      = has_rates ? 2 : 0;

    if ((has_rates && !read_rates(argv[2])) || parse(argc - skip, argv + skip, &request) != 0) {
        (void)fprintf(stderr, "usage: bench_predict [--rates COPY,GATHER,...] "
                              "64f|32f|32f-fast-tf32|16f|16bf|64f-col|32f-col|64c|32c|"
                              "32c-fast-tf32 N,N,... FILE...\n");
        return 2;
    }
    return bench_block_each("bench_predict", "matrix\tengine\tN\tcompute\tterm\tconstant\tseconds",
                            run, argv + 3 + skip);
}

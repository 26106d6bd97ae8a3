/* SPDX-License-Identifier: Apache-2.0 */
/** @file predict.c
 *  What the cost models say of matrices on one H200, which need not be there: a line for each
 *  matrix, engine and width, to be compared with times by bench/predict.py.
 *
 *      bench_predict COMPUTE N,N,... FILE...        COMPUTE: 64f, 32f or 32f-fast-tf32
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "spmm_dist/spmm_dist.h"

enum { MOST_WIDTHS = 16, MOST_ENGINES = 32 };

typedef struct {
    spmm_compute_t compute;
    spmm_type_t    type;
    const char    *compute_name;
    int64_t        width[MOST_WIDTHS];
    int            n_widths;
} request_t;

static int parse(int argc, char **argv, request_t *r)
{
    static const struct {
        const char    *name;
        spmm_compute_t compute;
        spmm_type_t    type;
    } modes[] = {{"64f", SPMM_COMPUTE_64F, SPMM_R_64F},
                 {"32f", SPMM_COMPUTE_32F, SPMM_R_32F},
                 {"32f-fast-tf32", SPMM_COMPUTE_32F_FAST_TF32, SPMM_R_32F}};

    for (int k = 0; argc > 3 && k < 3; k++) {
        if (strcmp(argv[1], modes[k].name) == 0) {
            r->compute      = modes[k].compute;
            r->type         = modes[k].type;
            r->compute_name = modes[k].name;
        }
    }
    if (r->compute_name == NULL) {
        return 2;
    }
    for (char *at = argv[2]; *at != '\0' && r->n_widths < MOST_WIDTHS; at += *at == ',') {
        r->width[r->n_widths] = strtoll(at, &at, 10);
        if (r->width[r->n_widths++] < 1 || (*at != ',' && *at != '\0')) {
            return 2;
        }
    }
    return 0;
}

static void print(const request_t *r, const char *name, const spmm_pattern_t *pattern)
{
    const spmm_device_t gpu = {.kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .mem_bw = 4.8e12};
    spmm_engine_candidate_t candidates[MOST_ENGINES];

    for (int w = 0; w < r->n_widths; w++) {
        const spmm_problem_t problem = {.ab_type = r->type,
                                        .c_type  = r->type,
                                        .compute = r->compute,
                                        .layout  = SPMM_LAYOUT_ROW,
                                        .n       = r->width[w]};

        spmm_engine_consider(pattern, &problem, &gpu, candidates);
        for (int e = 0; e < spmm_n_engines; e++) {
            /* Builds without CUDA say no for cusparse, but know its model. */
            const bool yardstick = strcmp(spmm_engines[e]->name, "cusparse") == 0;

            if (candidates[e].usable || yardstick) {
                (void)printf("%s\t%s\t%lld\t%s\t%.6f\n", name, spmm_engines[e]->name,
                             (long long)r->width[w], r->compute_name,
                             1e3 * spmm_engines[e]->cost(pattern, &problem, &gpu));
            }
        }
    }
    (void)fflush(stdout);
}

static spmm_status_t scan(spmm_env_t *env, spmm_matrix_t *A, spmm_pattern_t *pattern)
{
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    const int64_t     *row_ptr, *col_idx;
    const void        *values;
    spmm_csr_t         block;
    spmm_status_t      status;

    SPMM_TRY(spmm_matrix_get_info(A, &info));
    SPMM_TRY(spmm_matrix_get_csr(A, &row_ptr, &col_idx, &values));
    SPMM_TRY(
        spmm_csr_alloc(env, (int32_t)info.rows, (int32_t)info.cols, info.nnz, SPMM_R_32F, &block));
    memcpy(block.row_ptr, row_ptr, ((size_t)info.rows + 1) * sizeof *row_ptr);
    for (int64_t k = 0; k < info.nnz; k++) {
        block.col_idx[k] = (int32_t)col_idx[k];
    }
    status = spmm_pattern_scan(env, &block, pattern);
    spmm_csr_free(&block);
    return status;
}

static int run(const request_t *r, char **files)
{
    spmm_context_options_t options = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_env_t             env     = {.comm = MPI_COMM_WORLD, .size = 1};
    spmm_context_t        *ctx     = NULL;
    spmm_status_t          status;

    options.device = SPMM_DEVICE_CPU;
    status         = spmm_context_create(MPI_COMM_WORLD, &options, &ctx);
    (void)printf("matrix\tengine\tN\tcompute\tpredicted_ms\n");
    for (; *files != NULL && status == SPMM_OK; files++) {
        const char    *slash = strrchr(*files, '/');
        spmm_matrix_t *A     = NULL;
        spmm_pattern_t pattern;

        status = spmm_matrix_read(ctx, *files, r->type, 1, &A);
        if (status == SPMM_OK) {
            status = scan(&env, A, &pattern);
        }
        if (status == SPMM_OK) {
            print(r, slash != NULL ? slash + 1 : *files, &pattern);
            spmm_pattern_free(&pattern);
        }
        (void)spmm_matrix_destroy(&A);
    }
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_predict: %s\n", spmm_last_error(ctx));
    }
    (void)spmm_context_destroy(&ctx);
    return status == SPMM_OK ? 0 : 3;
}

int main(int argc, char **argv)
{
    request_t request = {0};
    int       code    = parse(argc, argv, &request);

    if (code != 0) {
        (void)fprintf(stderr, "usage: bench_predict 64f|32f|32f-fast-tf32 N,N,... FILE...\n");
        return code;
    }
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        return 4;
    }
    code = run(&request, argv + 3);
    (void)MPI_Finalize();
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver_verify.h"

/* The sentence of a function of the driver on stderr. */
static int report(const driver_job_t *job, int code)
{
    if (code != DRIVER_GOOD) {
        (void)fprintf(stderr, "spmm_bench: %s\n", job->text);
    }
    return code == DRIVER_GOOD ? BENCH_GOOD : BENCH_OTHER;
}

static int make_set(driver_job_t *job, const bench_options_t *o, int64_t rows, int64_t cols,
                    bench_dense_t *dense)
{
    driver_block_t *B = &dense->B[dense->n_sets], *C = &dense->C[dense->n_sets];
    int code = driver_block_alloc(job, dense->ctx, cols, dense->n, 0, o->layout, o->type, B);

    if (code == DRIVER_GOOD) {
        code = driver_block_alloc(job, dense->ctx, rows, dense->n, 0, o->layout, o->type, C);
    }
    if (code == DRIVER_GOOD) {
        code = driver_block_fill(job, dense->ctx, B, &dense->values, NULL, 0.0);
    }
    if (code != DRIVER_GOOD) {
        driver_block_free(dense->ctx, B);
        driver_block_free(dense->ctx, C);
    }
    dense->n_sets += code == DRIVER_GOOD;
    return code;
}

int bench_dense_create(spmm_context_t *ctx, const bench_options_t *options, int64_t rows,
                       int64_t cols, int64_t n, int sets, bench_dense_t *dense)
{
    driver_job_t job  = {.text = ""};
    int          code = DRIVER_GOOD;

    *dense = (bench_dense_t){.ctx    = ctx,
                             .values = driver_dense(options->seed, options->type),
                             .n      = n,
                             .check  = options->check,
                             .B      = calloc((size_t)sets, sizeof *dense->B),
                             .C      = calloc((size_t)sets, sizeof *dense->C)};
    if (dense->B == NULL || dense->C == NULL) {
        code = driver_fail_memory(&job, sets, sizeof *dense->B, "blocks");
    }
    for (int s = 0; s < sets && code == DRIVER_GOOD; s++) {
        code = make_set(&job, options, rows, cols, dense);
    }
    if (dense->n_sets > 0) {
        return BENCH_GOOD;
    }
    bench_dense_free(dense);
    return report(&job, code);
}

void bench_dense_free(bench_dense_t *dense)
{
    for (int s = 0; s < dense->n_sets; s++) {
        driver_block_free(dense->ctx, &dense->B[s]);
        driver_block_free(dense->ctx, &dense->C[s]);
    }
    free(dense->B);
    free(dense->C);
    memset(dense, 0, sizeof *dense);
}

int bench_dense_poison(bench_dense_t *dense)
{
    driver_job_t job = {.text = ""};

    return report(&job, driver_block_fill(&job, dense->ctx, &dense->C[0], NULL, NULL, NAN));
}

int bench_dense_error(bench_dense_t *dense, const spmm_matrix_t *A, double *error, int64_t *checked,
                      int64_t *out_of_range)
{
    driver_job_t     job = {.comm = MPI_COMM_SELF, .size = 1, .text = ""};
    driver_rows_t    rows;
    driver_product_t product = {
        .rows = &rows, .B = dense->values, .alpha = 1.0, .block = &dense->C[0]};
    driver_verdict_t verdict;
    void            *host = NULL;
    double           work;
    int              code = driver_rows_create(&job, dense->ctx, A, SPMM_OP_N, &rows);

    if (code == DRIVER_GOOD) {
        code = driver_block_fetch(&job, dense->ctx, &dense->C[0], &host);
    }
    if (code == DRIVER_GOOD) {
        work           = (double)(rows.row_ptr[rows.n_rows] + rows.n_rows) * (double)dense->n;
        product.stride = (int64_t)ceil(work / (double)dense->check);
        product.stride |= 1; /* odd: no power-of-two pattern of rows is missed */
        product.C     = host;
        verdict       = driver_compare(&product);
        *checked      = (rows.n_rows + product.stride - 1) / product.stride;
        *out_of_range = verdict.out_of_range;
        *error = verdict.compared == 0 && verdict.out_of_range > 0 ? INFINITY : verdict.max_error;
    }
    free(host);
    driver_rows_free(&rows);
    return report(&job, code);
}

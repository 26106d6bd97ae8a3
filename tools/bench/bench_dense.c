/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"
#include "tool_common.h"

static int fail(const bench_dense_t *dense)
{
    (void)fprintf(stderr, "spmm_bench: %s\n", spmm_last_error(dense->ctx));
    return BENCH_OTHER;
}

static int fill_b(bench_dense_t *dense, uint64_t seed)
{
    const int64_t size = (int64_t)(dense->b_bytes / spmm_type_size(dense->type));

#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < size; k++) {
        spmmi_value_draw(dense->type, dense->host_b, k, seed, k, dense->n);
    }
    for (int s = 0; s < dense->n_sets; s++) {
        if (spmm_buffer_copy(dense->ctx, dense->B[s], dense->host_b, dense->b_bytes) != SPMM_OK) {
            return fail(dense);
        }
    }
    return BENCH_GOOD;
}

static int make_sets(bench_dense_t *dense, int sets)
{
    for (int s = 0; s < sets; s++) {
        spmm_status_t status = spmm_buffer_alloc(dense->ctx, dense->b_bytes, &dense->B[s]);

        if (status == SPMM_OK) {
            status = spmm_buffer_alloc(dense->ctx, dense->c_bytes, &dense->C[s]);
        }
        if (status == SPMM_ERR_MEMORY && s > 0) {
            (void)spmm_buffer_free(dense->ctx, &dense->B[s]);
            return BENCH_GOOD;
        }
        if (status != SPMM_OK) {
            return fail(dense);
        }
        dense->n_sets = s + 1;
    }
    return BENCH_GOOD;
}

int bench_dense_create(spmm_context_t *ctx, const bench_options_t *options, int64_t rows,
                       int64_t cols, int64_t n, int sets, bench_dense_t *dense)
{
    const bool   by_column = options->layout == SPMM_LAYOUT_COL;
    const size_t elem      = spmm_type_size(options->type);
    int          code;

    memset(dense, 0, sizeof *dense);
    dense->ctx     = ctx;
    dense->type    = options->type;
    dense->layout  = options->layout;
    dense->rows    = rows;
    dense->cols    = cols;
    dense->n       = n;
    dense->check   = options->check;
    dense->ldb     = by_column && cols > 0 ? cols : by_column ? 1 : n;
    dense->ldc     = by_column && rows > 0 ? rows : by_column ? 1 : n;
    dense->b_bytes = (size_t)(by_column ? n : cols) * (size_t)dense->ldb * elem;
    dense->c_bytes = (size_t)(by_column ? n : rows) * (size_t)dense->ldc * elem;
    dense->host_b  = malloc(dense->b_bytes + 1);
    dense->host_c  = malloc(dense->c_bytes + 1);
    dense->B       = calloc((size_t)sets, sizeof *dense->B);
    dense->C       = calloc((size_t)sets, sizeof *dense->C);
    if (dense->host_b == NULL || dense->host_c == NULL || dense->B == NULL || dense->C == NULL) {
        (void)fprintf(stderr, "spmm_bench: out of host memory for %lld columns\n", (long long)n);
        bench_dense_free(dense);
        return BENCH_OTHER;
    }
    code = make_sets(dense, sets);
    if (code == BENCH_GOOD) {
        code = fill_b(dense, options->seed);
    }
    if (code != BENCH_GOOD) {
        dense->n_sets = sets; /* also what a failed set holds */
        bench_dense_free(dense);
    }
    return code;
}

void bench_dense_free(bench_dense_t *dense)
{
    for (int s = 0; s < dense->n_sets; s++) {
        (void)spmm_buffer_free(dense->ctx, &dense->B[s]);
        (void)spmm_buffer_free(dense->ctx, &dense->C[s]);
    }
    free(dense->B);
    free(dense->C);
    free(dense->host_b);
    free(dense->host_c);
    memset(dense, 0, sizeof *dense);
}

int bench_dense_poison(bench_dense_t *dense)
{
    memset(dense->host_c, 0xff, dense->c_bytes); /* a NaN in every type */
    if (spmm_buffer_copy(dense->ctx, dense->C[0], dense->host_c, dense->c_bytes) != SPMM_OK) {
        return fail(dense);
    }
    return BENCH_GOOD;
}

/* Largest relative error of row @p i; elements that may leave the range of the type are counted. */
static double row_error(const bench_dense_t *dense, const int64_t *row_ptr, const int64_t *col_idx,
                        const void *values, int64_t i, int64_t *out_of_range)
{
    const bool         by_column = dense->layout == SPMM_LAYOUT_COL;
    const int          parts     = spmmi_type_parts(dense->type);
    const spmm_type_t  type      = spmmi_part_type(dense->type);
    const tool_range_t range     = tool_range(type, parts * (row_ptr[i + 1] - row_ptr[i]));
    double             worst     = 0.0;

    for (int64_t p = 0; p < parts * dense->n; p++) {
        const int64_t j    = p / parts;
        const int     part = (int)(p % parts);
        const int64_t at   = by_column ? i + j * dense->ldc : i * dense->ldc + j;
        tool_sum_t    want = {0.0, 0.0};
        double        error;

        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            const int64_t from =
                by_column ? col_idx[k] + j * dense->ldb : col_idx[k] * dense->ldb + j;

            tool_sum_add(&want, spmmi_value_get(type, values, parts * k) *
                                    spmmi_value_get(type, dense->host_b, parts * from + part));
            if (parts == 2) {
                const double product = spmmi_value_get(type, values, 2 * k + 1) *
                                       spmmi_value_get(type, dense->host_b, 2 * from + 1 - part);

                tool_sum_add(&want, part == 0 ? -product : product);
            }
        }
        if (!(want.size <= range.largest)) { /* NaN and infinity in A included */
            (*out_of_range)++;
            continue;
        }
        error = tool_relative_error(spmmi_value_get(type, dense->host_c, parts * at + part),
                                    want.sum, want.size, range.eta);
        worst = error > worst ? error : worst;
    }
    return worst;
}

int bench_dense_error(bench_dense_t *dense, const spmm_matrix_t *A, double *error, int64_t *checked,
                      int64_t *out_of_range)
{
    const int64_t *row_ptr, *col_idx;
    const void    *values;
    double         worst = 0.0, work;
    int64_t        stride, out = 0;

    if (spmm_matrix_get_csr(A, &row_ptr, &col_idx, &values) != SPMM_OK ||
        spmm_buffer_copy(dense->ctx, dense->host_c, dense->C[0], dense->c_bytes) != SPMM_OK) {
        return fail(dense);
    }
    work   = ((double)row_ptr[dense->rows] + (double)dense->rows) * (double)dense->n;
    stride = (int64_t)ceil(work / (double)dense->check);
    stride = stride < 1 ? 1 : stride | 1; /* odd: no power-of-two pattern of rows is missed */
#pragma omp parallel for schedule(dynamic, 64) reduction(max : worst) reduction(+ : out)
    for (int64_t i = 0; i < dense->rows; i += stride) {
        const double one = row_error(dense, row_ptr, col_idx, values, i, &out);

        worst = one > worst ? one : worst;
    }
    *checked      = (dense->rows + stride - 1) / stride;
    *error        = out > 0 && out == *checked * dense->n * spmmi_type_parts(dense->type)
                        ? INFINITY
                        : worst; /* nothing was compared */
    *out_of_range = out;
    return BENCH_GOOD;
}

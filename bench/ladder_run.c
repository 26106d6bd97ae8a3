/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_run.c  One contender's product, timed and checked, and its operands. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "ladder_case.h"
#include "spmm_dist/context.h"

enum { WARMUP = LADDER_WARMUP };

static const double most_seconds = 0.2; /* of one contender's timed products */
static const double most_checked = 2e7; /* multiplications of the reference */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Products between events, all launched while the device waits. */
static spmm_status_t take_times(const ladder_contender_t *who, const ladder_case_t *c, void *state,
                                cudaEvent_t *events, int64_t iterations, double *seconds)
{
    const spmm_device_t *device = c->device;

    SPMM_TRY(device->ops->delay(device, 1e-3, (spmm_stream_t)c->stream));
    for (int64_t k = 0; k < iterations; k++) {
        SPMM_CUDA(device, cudaEventRecord(events[2 * k], c->stream));
        SPMM_TRY(who->run(who, c, state));
        SPMM_CUDA(device, cudaEventRecord(events[2 * k + 1], c->stream));
    }
    SPMM_CUDA(device, cudaStreamSynchronize(c->stream));
    for (int64_t k = 0; k < iterations; k++) {
        float ms = 0.0f;

        SPMM_CUDA(device, cudaEventElapsedTime(&ms, events[2 * k], events[2 * k + 1]));
        seconds[k] = 1e-3 * (double)ms;
    }
    qsort(seconds, (size_t)iterations, sizeof *seconds, ascending);
    return SPMM_OK;
}

static spmm_status_t take_median(const ladder_contender_t *who, const ladder_case_t *c, void *state,
                                 cudaEvent_t *events, int64_t iterations, double *seconds,
                                 double *median)
{
    int64_t fewer = iterations;

    for (int64_t k = 0; k < 2 * iterations; k++) {
        SPMM_CUDA(c->device, cudaEventCreate(&events[k]));
    }
    for (int k = 0; k < WARMUP; k++) {
        SPMM_TRY(take_times(who, c, state, events, 1, seconds));
    }
    if ((double)iterations * seconds[0] > most_seconds) {
        fewer = (int64_t)fmax(3.0, most_seconds / seconds[0]);
    }
    SPMM_TRY(take_times(who, c, state, events, fewer, seconds));
    *median = seconds[fewer / 2];
    return SPMM_OK;
}

static spmm_status_t measure(const ladder_contender_t *who, const ladder_case_t *c, void *state,
                             int64_t iterations, double *median)
{
    cudaEvent_t  *events  = NULL;
    double       *seconds = NULL;
    spmm_status_t status;

    SPMM_NEW_ZERO(events, 2 * iterations);
    SPMM_NEW(seconds, iterations);
    if (events == NULL || seconds == NULL) {
        status = spmmi_fail_memory(&c->device->env->err, 2 * iterations, sizeof *events, "events");
    } else {
        status = take_median(who, c, state, events, iterations, seconds, median);
    }
    for (int64_t k = 0; k < 2 * iterations && events != NULL; k++) {
        if (events[k] != NULL) {
            (void)cudaEventDestroy(events[k]);
        }
    }
    spmmi_free(events);
    spmmi_free(seconds);
    return status;
}

/* Error of row i: @p got against the sums over its entries, over those of the magnitudes. */
static double row_error(const ladder_case_t *c, int32_t i, const void *got, spmm_type_t type)
{
    const spmm_csr_t *block = c->block;
    double            worst = 0.0;

    for (int64_t j = 0; j < c->n; j++) {
        double sum = 0.0, size = 0.0, is;

        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            const double term = spmmi_value_get(SPMM_R_16F, block->values, k) *
                                (double)c->host_B[(int64_t)block->col_idx[k] * c->n + j];

            sum += term;
            size += fabs(term);
        }
        is = spmmi_value_get(type, got, (int64_t)i * c->n + j);
        if (!(fabs(is - sum) <= LADDER_BOUND * size)) {
            worst =
                size > 0.0 && isfinite(is) ? fmax(worst, fabs(is - sum) / size) : (double)INFINITY;
        } else if (size > 0.0) {
            worst = fmax(worst, fabs(is - sum) / size);
        }
    }
    return worst;
}

/* Of sampled rows. */
static spmm_status_t check(const ladder_case_t *c, spmm_type_t type, double *error)
{
    const int32_t rows = c->block->n_rows;
    const double  all  = (double)spmmi_csr_nnz(c->block) * (double)c->n;
    const int32_t step =
        (int32_t)fmax(1.0, ceil(all / most_checked)) | 1; /* odd: all rows of tiles */
    const size_t  bytes = (size_t)(c->c_rows * c->n) * spmm_type_size(type);
    char         *got   = spmmi_alloc(1, bytes);
    double        worst = 0.0;
    spmm_status_t status;

    if (got == NULL) {
        return spmmi_fail_memory(&c->device->env->err, 1, bytes, "C");
    }
    status = c->device->ops->fetch(c->device, got, c->C, bytes);
    if (status == SPMM_OK) {
#pragma omp parallel for schedule(dynamic, 16) reduction(max : worst)
        for (int32_t i = 0; i < rows; i += step) {
            worst = fmax(worst, row_error(c, i, got, type));
        }
    }
    spmmi_free(got);
    *error = worst;
    return status;
}

spmm_status_t ladder_compete(const ladder_contender_t *who, const ladder_case_t *c,
                             int64_t iterations, ladder_result_t *result)
{
    void         *state  = NULL;
    spmm_status_t status = who->open(who, c, &state);

    /* Bytes of NaN: what a contender forgets shows. */
    if (status == SPMM_OK) {
        status = spmmi_cuda_check(
            c->device,
            cudaMemsetAsync(c->C, 0xff, (size_t)(c->c_rows * c->n) * sizeof(float), c->stream),
            "cudaMemsetAsync");
    }
    if (status == SPMM_OK) {
        status = measure(who, c, state, iterations, &result->seconds);
    }
    if (status == SPMM_OK) {
        status = check(c, who->c_type, &result->error);
    }
    who->close(who, c, state);
    result->name = who->name;
    return status;
}

spmm_status_t ladder_open_operands(ladder_case_t *c, float **host_B)
{
    const int64_t size = c->b_rows * c->n;
    const size_t  half = (size_t)size * sizeof(uint16_t);
    uint16_t     *B = NULL, *Bt = NULL;
    spmm_status_t status;

    SPMM_NEW_ZERO(*host_B, size);
    SPMM_NEW_ZERO(B, size);
    SPMM_NEW_ZERO(Bt, size);
    if (*host_B == NULL || B == NULL || Bt == NULL) {
        spmmi_free(B);
        spmmi_free(Bt);
        return spmmi_fail_memory(&c->device->env->err, size, 8, "B");
    }
    for (int64_t i = 0; i < c->block->n_cols; i++) {
        for (int64_t j = 0; j < c->n; j++) {
            const int64_t k = i * c->n + j;

            spmmi_value_set(SPMM_R_16F, B, k, spmmi_random_value(5, i, j));
            Bt[j * c->b_rows + i] = B[k];
            (*host_B)[k]          = (float)spmmi_value_get(SPMM_R_16F, B, k);
        }
    }
    c->host_B = *host_B;
    status    = spmmi_device_upload(c->device, B, half, &c->B);
    if (status == SPMM_OK) {
        status = spmmi_device_upload(c->device, Bt, half, &c->Bt);
    }
    if (status == SPMM_OK) {
        status =
            c->device->ops->alloc(c->device, (size_t)(c->c_rows * c->n) * sizeof(float), &c->C);
    }
    spmmi_free(B);
    spmmi_free(Bt);
    return status;
}

void ladder_close_operands(ladder_case_t *c, float *host_B)
{
    c->device->ops->release(c->device, c->B);
    c->device->ops->release(c->device, c->Bt);
    c->device->ops->release(c->device, c->C);
    spmmi_free(host_B);
    c->B = c->Bt = c->C = NULL;
}

spmm_status_t ladder_upload(const spmm_device_t *device, const ladder_host_t *h,
                            void *owned[LADDER_ARRAYS], ladder_tiles_t *tiles)
{
    const size_t rows  = ((size_t)h->n_tile_rows + 1) * sizeof(int32_t);
    const size_t dense = (size_t)h->n_dense, sparse = (size_t)h->n_sparse, all = (size_t)h->n_tiles;
    const struct {
        const void *from;
        size_t      bytes;
    } arrays[LADDER_ARRAYS] = {
        {h->map, (size_t)h->n_tile_rows * (size_t)h->n_tile_cols * sizeof *h->map},
        {h->row_ptr, rows},
        {h->col, all * sizeof *h->col},
        {h->at, all * sizeof *h->at},
        {h->sp24, all},
        {h->dense_ptr, rows},
        {h->dense_col, dense * sizeof *h->dense_col},
        {h->dense, dense * LADDER_ROWS * (size_t)h->width * sizeof *h->dense},
        {h->sparse_ptr, rows},
        {h->sparse_col, sparse * sizeof *h->sparse_col},
        {h->packed, sparse * LADDER_PACKED * sizeof *h->packed},
        {h->meta, sparse * LADDER_META * sizeof *h->meta},
    };

    for (int k = 0; k < LADDER_ARRAYS; k++) {
        SPMM_TRY(spmmi_device_upload(device, arrays[k].from, arrays[k].bytes, &owned[k]));
    }
    *tiles = (ladder_tiles_t){.n_tile_rows = h->n_tile_rows,
                              .n_tile_cols = h->n_tile_cols,
                              .width       = h->width,
                              .map         = owned[0],
                              .row_ptr     = owned[1],
                              .col         = owned[2],
                              .at          = owned[3],
                              .sp24        = owned[4],
                              .dense_ptr   = owned[5],
                              .dense_col   = owned[6],
                              .dense       = owned[7],
                              .sparse_ptr  = owned[8],
                              .sparse_col  = owned[9],
                              .packed      = owned[10],
                              .meta        = owned[11]};
    return SPMM_OK;
}

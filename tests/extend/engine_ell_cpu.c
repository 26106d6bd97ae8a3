/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine_ell_cpu.c
 *  A worked example of an engine (docs/extending.md): ELLPACK on CPUs, FP64.  Every row has as many
 *  places as the longest one; entry k of all rows lies together (Bell and Garland 2008, section 3).
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/engine.h"

typedef struct {
    int32_t  n_rows, width; /* width: entries of the longest row */
    int32_t *col;           /* [width][n_rows]; behind the end of a row: -1 */
    double  *value;         /* [width][n_rows] */
    int64_t *row_ptr;       /* [n_rows + 1] where refill() finds the entries of a row */
    int32_t *row_map;       /* [n_rows] row of C of each row; NULL: the same */
} ell_t;

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    if (device->kind != SPMM_DEVICE_CPU) {
        (void)snprintf(why, SPMM_WHY, "computes on the CPU and B and C are on a GPU");
        return false;
    }
    if (problem->ab_type != SPMM_R_64F) {
        (void)snprintf(why, SPMM_WHY, "multiplies FP64 alone");
        return false;
    }
    return true;
}

/* As csr-cpu, with all places of the padded rows for entries. */
static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    const double places = (double)pattern->n_rows * (double)pattern->max_row;
    const double n      = (double)problem->n;

    return (places * (12.0 + 4.0 * n) + 16.0 * (double)pattern->n_rows * n) / device->mem_bw;
}

static void destroy(void *format)
{
    ell_t *f = format;

    if (f != NULL) {
        spmmi_free(f->col);
        spmmi_free(f->value);
        spmmi_free(f->row_ptr);
        spmmi_free(f->row_map);
        spmmi_free(f);
    }
}

static spmm_status_t refill(void *format, const void *values)
{
    ell_t *f = format;

    for (int32_t i = 0; i < f->n_rows; i++) {
        for (int64_t k = f->row_ptr[i]; k < f->row_ptr[i + 1]; k++) {
            f->value[(k - f->row_ptr[i]) * f->n_rows + i] = ((const double *)values)[k];
        }
    }
    return SPMM_OK;
}

static void fill_columns(ell_t *f, const spmm_csr_t *block)
{
    for (int32_t k = 0; k < f->width; k++) {
        for (int32_t i = 0; i < f->n_rows; i++) {
            const int64_t at = block->row_ptr[i] + k;

            f->col[(int64_t)k * f->n_rows + i] =
                at < block->row_ptr[i + 1] ? block->col_idx[at] : -1;
        }
    }
}

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    int64_t width = 0, places;
    ell_t  *f;

    for (int32_t i = 0; i < block->n_rows; i++) {
        const int64_t length = block->row_ptr[i + 1] - block->row_ptr[i];

        width = length > width ? length : width;
    }
    places = width * block->n_rows;
    (void)problem; /* operands have types and layout */
    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "an ELLPACK engine");
    }
    f->n_rows = block->n_rows;
    f->width  = (int32_t)width;
    if (SPMM_NEW(f->col, places) == NULL || SPMM_NEW_ZERO(f->value, places) == NULL ||
        SPMM_NEW(f->row_ptr, (int64_t)block->n_rows + 1) == NULL ||
        (block->row_map != NULL && SPMM_NEW(f->row_map, block->n_rows) == NULL)) {
        destroy(f);
        return spmmi_fail_memory(&device->env->err, places, sizeof(double) + sizeof(int32_t),
                                 "rows padded to the longest (ELLPACK)");
    }
    memcpy(f->row_ptr, block->row_ptr, ((size_t)block->n_rows + 1) * sizeof *f->row_ptr);
    if (block->row_map != NULL) {
        memcpy(f->row_map, block->row_map, (size_t)block->n_rows * sizeof *f->row_map);
    }
    fill_columns(f, block);
    *format = f;
    return refill(f, block->values);
}

/* beta counts also in rows without entries, beta == 0 does not read C, and places that only pad are
 * never multiplied: 0 * Inf would be NaN. */
static spmm_status_t execute(void *format, const spmm_operands_t *x)
{
    const ell_t  *f     = format;
    const bool    rows  = x->layout == SPMM_LAYOUT_ROW;
    const int64_t b_row = rows ? x->ldb : 1, b_col = rows ? 1 : x->ldb;
    const int64_t c_row = rows ? x->ldc : 1, c_col = rows ? 1 : x->ldc;
    const double  alpha = x->alpha.re, beta = x->beta.re;

    for (int32_t i = 0; i < f->n_rows; i++) {
        double *c = (double *)x->C + (f->row_map == NULL ? i : f->row_map[i]) * c_row;

        for (int64_t j = 0; j < x->n; j++) {
            double sum = 0.0;

            for (int64_t k = i; k < (int64_t)f->width * f->n_rows && f->col[k] >= 0;
                 k += f->n_rows) {
                sum += f->value[k] * ((const double *)x->B)[f->col[k] * b_row + j * b_col];
            }
            c[j * c_col] = alpha * sum + (beta == 0.0 ? 0.0 : beta * c[j * c_col]);
        }
    }
    return SPMM_OK;
}

static void bytes(const void *format, size_t *host, size_t *device)
{
    const ell_t *f = format;

    *host = sizeof *f + (size_t)f->width * (size_t)f->n_rows * (sizeof *f->col + sizeof *f->value) +
            ((size_t)f->n_rows + 1) * sizeof *f->row_ptr +
            (f->row_map != NULL ? (size_t)f->n_rows * sizeof *f->row_map : 0);
    *device = 0;
}

const spmm_engine_ops_t spmmi_engine_ell_cpu = {
    .name        = "ell-cpu",
    .description = "ELLPACK on the CPU, FP64",
    .built       = true,
    .supports    = supports,
    .cost        = cost,
    .build       = build,
    .refill      = refill,
    .execute     = execute,
    .bytes       = bytes,
    .destroy     = destroy,
};

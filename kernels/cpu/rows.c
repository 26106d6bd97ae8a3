/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.c  Movement of dense rows: pack, unpack, add. */
#include <string.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

/* Element (i, j) of a dense block, in elements from its start. */
static inline int64_t place(spmm_layout_t layout, int64_t ld, int64_t i, int64_t j)
{
    return layout == SPMM_LAYOUT_COL ? i + j * ld : i * ld + j;
}

void spmmi_cpu_gather_rows(const spmm_gather_args_t *args)
{
    const char  *src   = args->src;
    char        *dst   = args->dst;
    const size_t elem  = args->elem_size;
    const size_t width = (size_t)args->n * elem;

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t i = 0; i < args->n_rows; i++) {
        const int64_t row = args->row == NULL ? i : args->row[i];
        char         *to  = dst + (size_t)i * width;

        if (args->src_layout == SPMM_LAYOUT_ROW) {
            memcpy(to, src + (size_t)(row * args->ld_src) * elem, width);
            continue;
        }
        for (int64_t j = 0; j < args->n; j++) {
            memcpy(to + (size_t)j * elem, src + (size_t)(row + j * args->ld_src) * elem, elem);
        }
    }
}

void spmmi_cpu_scatter_rows(const spmm_scatter_args_t *args)
{
    const char  *src   = args->src;
    char        *dst   = args->dst;
    const size_t elem  = args->elem_size;
    const size_t width = (size_t)args->n * elem;

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t i = 0; i < args->n_rows; i++) {
        const int64_t row  = args->row == NULL ? i : args->row[i];
        const char   *from = src + (size_t)i * width;

        if (args->dst_layout == SPMM_LAYOUT_ROW) {
            memcpy(dst + (size_t)(row * args->ld_dst) * elem, from, width);
            continue;
        }
        for (int64_t j = 0; j < args->n; j++) {
            memcpy(dst + (size_t)(row + j * args->ld_dst) * elem, from + (size_t)j * elem, elem);
        }
    }
}

void spmmi_cpu_scatter_add_rows(const spmm_scatter_add_args_t *args)
{
    const int         parts = spmmi_type_parts(args->dst_type);
    const spmm_type_t src = spmmi_part_type(args->src_type), dst = spmmi_part_type(args->dst_type);

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t u = 0; u < args->n_rows; u++) {
        for (int64_t j = 0; j < parts * args->n; j++) {
            const int64_t to  = place(args->dst_layout, args->ld_dst, args->row[u], j / parts);
            const int64_t at  = parts * to + j % parts;
            double        sum = spmmi_value_get(dst, args->dst, at);

            for (int32_t k = args->ptr[u]; k < args->ptr[u + 1]; k++) {
                sum += spmmi_value_get(src, args->src, parts * args->pos[k] * args->n + j);
                if (src != SPMM_R_64F) {
                    sum = (double)(float)sum; /* FP32 sums, as on the GPU */
                }
            }
            spmmi_value_set(dst, args->dst, at, sum);
        }
    }
}

enum { STORE_ROWS = 32 }; /* at a time: a line of the cache of each stays while columns pass */

/* Rows first .. last - 1 for one type. */
#define STORE_COLUMNS(NAME, T)                                                                     \
    static void NAME(const spmm_store_args_t *args, int64_t first, int64_t last)                   \
    {                                                                                              \
        const T *src  = args->src;                                                                 \
        const T  beta = (T)args->beta.re;                                                          \
                                                                                                   \
        for (int64_t j = 0; j < args->n; j++) {                                                    \
            T *dst = (T *)args->dst + j * args->ld_dst;                                            \
                                                                                                   \
            for (int64_t i = first; i < last; i++) {                                               \
                const T x = src[i * args->n + j];                                                  \
                                                                                                   \
                dst[i] = args->beta.re == 0.0 ? x : x + beta * dst[i];                             \
            }                                                                                      \
        }                                                                                          \
    }

STORE_COLUMNS(store_64f, double)
STORE_COLUMNS(store_32f, float)

/* 16-bit types, summed in FP32. */
static void store_16(const spmm_store_args_t *args, int64_t first, int64_t last)
{
    const float beta = (float)args->beta.re;

    for (int64_t j = 0; j < args->n; j++) {
        for (int64_t i = first; i < last; i++) {
            const int64_t at = i + j * args->ld_dst;
            float         x  = (float)spmmi_value_get(args->type, args->src, i * args->n + j);

            if (args->beta.re != 0.0) {
                x += beta * (float)spmmi_value_get(args->type, args->dst, at);
            }
            spmmi_value_set(args->type, args->dst, at, (double)x);
        }
    }
}

static void store_complex(const spmm_store_args_t *args, int64_t first, int64_t last)
{
    const spmm_type_t   part = spmmi_part_type(args->type);
    const spmm_scalar_t beta = args->beta;

    for (int64_t j = 0; j < args->n; j++) {
        for (int64_t i = first; i < last; i++) {
            const int64_t from = 2 * (i * args->n + j), to = 2 * (i + j * args->ld_dst);
            double        re = spmmi_value_get(part, args->src, from);
            double        im = spmmi_value_get(part, args->src, from + 1);

            if (!spmmi_scalar_is_zero(beta)) {
                const double x = spmmi_value_get(part, args->dst, to);
                const double y = spmmi_value_get(part, args->dst, to + 1);

                re += beta.re * x - beta.im * y;
                im += beta.re * y + beta.im * x;
            }
            spmmi_value_set(part, args->dst, to, re);
            spmmi_value_set(part, args->dst, to + 1, im);
        }
    }
}

void spmmi_cpu_store_columns(const spmm_store_args_t *args)
{
    void (*store)(const spmm_store_args_t *, int64_t, int64_t) =
        spmmi_is_complex(args->type) ? store_complex
        : args->type == SPMM_R_64F   ? store_64f
        : args->type == SPMM_R_32F   ? store_32f
                                     : store_16;

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t first = 0; first < args->n_rows; first += STORE_ROWS) {
        store(args, first, first + STORE_ROWS < args->n_rows ? first + STORE_ROWS : args->n_rows);
    }
}

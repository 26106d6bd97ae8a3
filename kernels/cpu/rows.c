/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.c  Movement of dense rows: pack, unpack, add. */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

/* Element (i, j) of a dense block, in elements from its start. */
static inline int64_t place(spmm_layout_t layout, int64_t ld, int64_t i, int64_t j)
{
    return layout == SPMM_LAYOUT_COL ? i + j * ld : i * ld + j;
}

/* Elements of a row, which lie so many bytes apart.  memcpy() of a size that the compiler does not
 * know is a call for each. */
static void copy_row(char *to, size_t to_step, const char *from, size_t from_step, int64_t n,
                     size_t elem)
{
#define COPY(size)                                                                                 \
    for (int64_t j = 0; j < n; j++, to += to_step, from += from_step) {                            \
        memcpy(to, from, size);                                                                    \
    }                                                                                              \
    break
    switch (elem) {
    case 8:
        COPY(8);
    case 4:
        COPY(4);
    case 16:
        COPY(16);
    default:
        COPY(elem);
    }
#undef COPY
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
        copy_row(to, elem, src + (size_t)row * elem, (size_t)args->ld_src * elem, args->n, elem);
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
        copy_row(dst + (size_t)row * elem, (size_t)args->ld_dst * elem, from, elem, args->n, elem);
    }
}

/* The sum of number @p j of the parts of row @p u, in FP32 where they are, as on the GPU. */
static double sum_part(const spmm_scatter_add_args_t *args, spmm_type_t type, int64_t u, int64_t j)
{
    const int64_t width = args->n * spmmi_type_parts(args->src_type);
    double        sum   = 0.0;

    for (int32_t k = args->ptr[u]; k < args->ptr[u + 1]; k++) {
        sum += spmmi_value_get(type, args->src, args->pos[k] * width + j);
        sum = type == SPMM_R_64F ? sum : (double)(float)sum;
    }
    return sum;
}

/* a x + y, rounded once. */
static double multiply_add(spmm_type_t type, double a, double x, double y)
{
    return type == SPMM_R_64F ? fma(a, x, y) : (double)fmaf((float)a, (float)x, (float)y);
}

static void add_real(const spmm_scatter_add_args_t *args, spmm_type_t type, int64_t u)
{
    for (int64_t j = 0; j < args->n; j++) {
        const int64_t at  = place(args->dst_layout, args->ld_dst, args->row[u], j);
        const double  old = spmmi_value_get(args->dst_type, args->dst, at);

        spmmi_value_set(args->dst_type, args->dst, at,
                        multiply_add(type, args->alpha.re, sum_part(args, type, u, j), old));
    }
}

static void add_complex(const spmm_scatter_add_args_t *args, spmm_type_t type, int64_t u)
{
    const spmm_scalar_t a = args->alpha;

    for (int64_t j = 0; j < args->n; j++) {
        const int64_t at = 2 * place(args->dst_layout, args->ld_dst, args->row[u], j);
        const double  re = sum_part(args, type, u, 2 * j), im = sum_part(args, type, u, 2 * j + 1);
        double        x = multiply_add(type, a.re, re, spmmi_value_get(type, args->dst, at));
        double        y = multiply_add(type, a.re, im, spmmi_value_get(type, args->dst, at + 1));

        spmmi_value_set(type, args->dst, at, multiply_add(type, -a.im, im, x));
        spmmi_value_set(type, args->dst, at + 1, multiply_add(type, a.im, re, y));
    }
}

void spmmi_cpu_scatter_add_rows(const spmm_scatter_add_args_t *args)
{
    const spmm_type_t type = spmmi_part_type(args->src_type);
    void (*add)(const spmm_scatter_add_args_t *, spmm_type_t, int64_t) =
        spmmi_is_complex(args->dst_type) ? add_complex : add_real;

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t u = 0; u < args->n_rows; u++) {
        add(args, type, u);
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

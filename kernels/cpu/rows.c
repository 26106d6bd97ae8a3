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

void spmm_cpu_gather_rows(const spmm_gather_args_t *args)
{
    const char  *src   = args->src;
    char        *dst   = args->dst;
    const size_t elem  = args->elem_size;
    const size_t width = (size_t)args->n * elem;

#pragma omp parallel for schedule(static) num_threads(spmm_cpu_team(args->threads))
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

void spmm_cpu_scatter_rows(const spmm_scatter_args_t *args)
{
    const char  *src   = args->src;
    char        *dst   = args->dst;
    const size_t elem  = args->elem_size;
    const size_t width = (size_t)args->n * elem;

#pragma omp parallel for schedule(static) num_threads(spmm_cpu_team(args->threads))
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

void spmm_cpu_scatter_add_rows(const spmm_scatter_add_args_t *args)
{
#pragma omp parallel for schedule(static) num_threads(spmm_cpu_team(args->threads))
    for (int64_t u = 0; u < args->n_rows; u++) {
        for (int64_t j = 0; j < args->n; j++) {
            const int64_t at  = place(args->dst_layout, args->ld_dst, args->row[u], j);
            double        sum = spmm_value_get(args->dst_type, args->dst, at);

            for (int32_t k = args->ptr[u]; k < args->ptr[u + 1]; k++) {
                sum += spmm_value_get(args->src_type, args->src, args->pos[k] * args->n + j);
                if (args->src_type != SPMM_R_64F) {
                    sum = (double)(float)sum; /* FP32 sums, as on the GPU */
                }
            }
            spmm_value_set(args->dst_type, args->dst, at, sum);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file values.c  Values of a matrix as rows and lists: softmax, and the way to a format's places. */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

static int64_t place_of(const spmm_softmax_args_t *args, int32_t e)
{
    return args->place == NULL ? e : args->place[e];
}

static void softmax_row(const spmm_softmax_args_t *args, int32_t from, int32_t to)
{
    double most = -INFINITY, sum = 0.0;

    for (int32_t e = from; e < to; e++) {
        most = fmax(most, args->scale * spmm_value_get(args->s_type, args->S, place_of(args, e)));
    }
    for (int32_t e = from; e < to; e++) {
        sum += exp(args->scale * spmm_value_get(args->s_type, args->S, place_of(args, e)) - most);
    }
    for (int32_t e = from; e < to; e++) {
        const int64_t at = place_of(args, e);
        const double  x  = args->scale * spmm_value_get(args->s_type, args->S, at);

        spmm_value_set(args->p_type, args->P, at, exp(x - most) / sum);
    }
}

void spmm_cpu_row_softmax(const spmm_softmax_args_t *args)
{
#pragma omp parallel for schedule(dynamic, 64) num_threads(spmm_cpu_team(args->threads))
    for (int32_t i = 0; i < args->n_rows; i++) {
        softmax_row(args, args->row_ptr[i], args->row_ptr[i + 1]);
    }
}

void spmm_cpu_place_values(const spmm_place_args_t *args)
{
    const size_t size = args->elem_size;

#pragma omp parallel for num_threads(spmm_cpu_team(args->threads))
    for (int64_t i = 0; i < args->count; i++) {
        if (args->source[i] >= 0) {
            memcpy((char *)args->to + (size_t)i * size,
                   (const char *)args->from + (size_t)args->source[i] * size, size);
        }
    }
}

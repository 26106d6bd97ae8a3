/* SPDX-License-Identifier: Apache-2.0 */
/** @file values.c  Values of a matrix as rows and lists: softmax, and the way to a format's places. */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

/* Entry of row @p r of a group in vector @p p. */
static int64_t place_of(const spmm_softmax_args_t *args, int32_t p, int32_t r)
{
    return (args->place == NULL ? (int64_t)p * args->vector : args->place[p]) + r;
}

static double score(const spmm_softmax_args_t *args, int32_t p, int32_t r)
{
    return args->scale * spmmi_value_get(args->s_type, args->S, place_of(args, p, r));
}

static void softmax_row(const spmm_softmax_args_t *args, int32_t from, int32_t to, int32_t r)
{
    double most = -INFINITY, sum = 0.0;

    for (int32_t p = from; p < to; p++) {
        most = fmax(most, score(args, p, r));
    }
    for (int32_t p = from; p < to; p++) {
        sum += exp(score(args, p, r) - most);
    }
    for (int32_t p = from; p < to; p++) {
        spmmi_value_set(args->p_type, args->P, place_of(args, p, r),
                        exp(score(args, p, r) - most) / sum);
    }
}

void spmmi_cpu_row_softmax(const spmm_softmax_args_t *args)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(args->threads))
    for (int32_t i = 0; i < args->n_groups; i++) {
        for (int32_t r = 0; r < args->vector; r++) {
            softmax_row(args, args->group_ptr[i], args->group_ptr[i + 1], r);
        }
    }
}

void spmmi_cpu_place_values(const spmm_place_args_t *args)
{
    const size_t size = args->elem_size;

#pragma omp parallel for num_threads(spmmi_cpu_team(args->threads))
    for (int64_t i = 0; i < args->count; i++) {
        if (args->source[i] >= 0) {
            memcpy((char *)args->to + (size_t)i * size,
                   (const char *)args->from + (size_t)args->source[i] * size, size);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file softmax.c  Softmax of the rows of a sparse matrix. */
#include <math.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "cpu/sddmm/sddmm.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/** @file round_rows.c  Rows that travel in a shorter type. */
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

enum { PIECE = 4096 }; /* elements a thread takes at a time */

/* Elements @p from to @p end. */
#define EACH(to_t, from_t, convert)                                                                \
    for (int64_t i = from; i < end; i++) {                                                         \
        ((to_t *)args->dst)[i] = convert(((const from_t *)args->src)[i]);                          \
    }

static void round_piece(const spmm_round_args_t *args, int64_t from, int64_t end)
{
    if (args->src_type == SPMM_R_64F) {
        EACH(float, double, (float))
    } else if (args->dst_type == SPMM_R_64F) {
        EACH(double, float, (double))
    } else if (args->dst_type == SPMM_R_16F) {
        EACH(uint16_t, float, spmmi_half_from_float)
    } else if (args->src_type == SPMM_R_16F) {
        EACH(float, uint16_t, spmmi_half_to_float)
    } else if (args->dst_type == SPMM_R_16BF) {
        EACH(uint16_t, float, spmmi_bf16_from_float)
    } else {
        EACH(float, uint16_t, spmmi_bf16_to_float)
    }
}

void spmmi_cpu_round_rows(const spmm_round_args_t *args)
{
#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t from = 0; from < args->count; from += PIECE) {
        const int64_t left = args->count - from;

        round_piece(args, from, left < PIECE ? args->count : from + PIECE);
    }
}

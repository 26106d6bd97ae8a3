/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.c  Dot products at the entries of a mask, on the CPU: the reference of the CUDA
 *  kernels. */
#include "cpu/sddmm/sddmm.h"

#include <math.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

enum { PARTS = 8 }; /* sums side by side: vector registers */

#define SAME(x) (x)

#define DOT_NAME dot_64f
#define XY_T     double
#define XY_LOAD  SAME
#define S_T      double
#define S_LOAD   SAME
#define S_STORE  SAME
#define ACC_T    double
#include "cpu/sddmm/sddmm.inc.h"

#define DOT_NAME dot_32f
#define XY_T     float
#define XY_LOAD  SAME
#define S_T      float
#define S_LOAD   SAME
#define S_STORE  SAME
#define ACC_T    float
#include "cpu/sddmm/sddmm.inc.h"

#define DOT_NAME dot_16f
#define XY_T     uint16_t
#define XY_LOAD  spmmi_half_to_float
#define S_T      uint16_t
#define S_LOAD   spmmi_half_to_float
#define S_STORE  spmmi_half_from_float
#define ACC_T    float
#include "cpu/sddmm/sddmm.inc.h"

#define DOT_NAME dot_16f_32f
#define XY_T     uint16_t
#define XY_LOAD  spmmi_half_to_float
#define S_T      float
#define S_LOAD   SAME
#define S_STORE  SAME
#define ACC_T    float
#include "cpu/sddmm/sddmm.inc.h"

#define DOT_NAME dot_16bf
#define XY_T     uint16_t
#define XY_LOAD  spmmi_bf16_to_float
#define S_T      uint16_t
#define S_LOAD   spmmi_bf16_to_float
#define S_STORE  spmmi_bf16_from_float
#define ACC_T    float
#include "cpu/sddmm/sddmm.inc.h"

#define DOT_NAME dot_16bf_32f
#define XY_T     uint16_t
#define XY_LOAD  spmmi_bf16_to_float
#define S_T      float
#define S_LOAD   SAME
#define S_STORE  SAME
#define ACC_T    float
#include "cpu/sddmm/sddmm.inc.h"

/* S[place] = alpha * <row i of X, row j of Y> + beta * S[place]. */
typedef void dot_fn_t(const spmm_sddmm_args_t *args, int64_t i, int64_t j, int64_t place);

static dot_fn_t *pick(spmm_type_t type, spmm_type_t s)
{
    switch (type) {
    case SPMM_R_64F:
        return s == SPMM_R_64F ? dot_64f : NULL;
    case SPMM_R_32F:
        return s == SPMM_R_32F ? dot_32f : NULL;
    case SPMM_R_16F:
        return s == SPMM_R_16F ? dot_16f : s == SPMM_R_32F ? dot_16f_32f : NULL;
    case SPMM_R_16BF:
        return s == SPMM_R_16BF ? dot_16bf : s == SPMM_R_32F ? dot_16bf_32f : NULL;
    case SPMM_C_64F:
    case SPMM_C_32F:
    case SPMM_TYPE_AUTO:
        break;
    }
    return NULL;
}

bool spmmi_cpu_sddmm_supports(spmm_type_t type, spmm_type_t s_type)
{
    return pick(type, s_type) != NULL;
}

void spmmi_cpu_sddmm_tasks(const spmm_sddmm_tasks_t *mask, const spmm_sddmm_args_t *args)
{
    dot_fn_t *const dot = pick(args->type, args->s_type);

#pragma omp parallel for schedule(dynamic, 64) num_threads(spmmi_cpu_team(args->threads))
    for (int32_t t = 0; t < mask->n_tasks; t++) {
        for (int32_t e = mask->first[t]; e < mask->first[t + 1]; e++) {
            dot(args, mask->row[t], mask->col[e], mask->place == NULL ? e : mask->place[e]);
        }
    }
}

/* Row @p row of a rectangle that begins at row @p first. */
static int32_t row_of_x(const spmm_sddmm_rectangles_t *mask, int32_t first, int32_t row)
{
    return mask->row_map == NULL ? first + row : mask->row_map[first + row];
}

static void rectangle_of_tasks(const spmm_sddmm_rectangles_t *mask, const spmm_sddmm_args_t *args,
                               const int32_t *range, dot_fn_t *dot)
{
    for (int64_t t = range[2]; t < range[3]; t++) {
        const int32_t   count = mask->task[2 * t] / 65536;
        const int32_t   i     = row_of_x(mask, range[0], mask->task[2 * t] % 65536);
        const uint16_t *col   = mask->col + t * SPMM_SDDMM_TASK;

        for (int32_t e = 0; e < count; e++) {
            dot(args, i, range[1] + col[e], (int64_t)mask->task[2 * t + 1] + e);
        }
    }
}

static void rectangle_of_batches(const spmm_sddmm_rectangles_t *mask, const spmm_sddmm_args_t *args,
                                 const int32_t *range, dot_fn_t *dot)
{
    const int64_t size = SPMM_SDDMM_BATCH;

    for (int64_t at = range[2] * size; at < range[3] * size; at++) {
        if (mask->place[at] >= 0) {
            const int64_t r = at / size * SPMM_SDDMM_BATCH_ROWS + mask->entry[at] / 65536;

            dot(args, row_of_x(mask, range[0], mask->row[r]), range[1] + mask->entry[at] % 65536,
                mask->place[at]);
        }
    }
}

void spmmi_cpu_sddmm_rectangles(const spmm_sddmm_rectangles_t *mask, const spmm_sddmm_args_t *args)
{
    dot_fn_t *const dot = pick(args->type, args->s_type);

#pragma omp parallel for schedule(dynamic, 1) num_threads(spmmi_cpu_team(args->threads))
    for (int32_t r = 0; r < mask->n_rectangles; r++) {
        const int32_t *range = mask->range + 4 * (int64_t)r;

        (mask->task != NULL ? rectangle_of_tasks : rectangle_of_batches)(mask, args, range, dot);
    }
}

/* Where row @p r of vector @p p of a tile goes; negative: it is not in the mask. */
static int64_t place_of(const spmm_sddmm_tiles_t *mask, int64_t tile, int32_t p, int32_t r)
{
    const int64_t  vector = tile * SPMM_SDDMM_TILE + p;
    const int32_t *row    = mask->place + (tile * mask->height + r) * 2; /* of ROWS */
    uint32_t       bits;

    switch (mask->order) {
    case SPMM_SDDMM_ROWS:
        bits = (uint32_t)row[1];
        return (bits >> p & 1u) == 0
                   ? -1
                   : (int64_t)row[0] + spmmi_cpu_popcount(bits & (((uint32_t)1 << p) - 1));
    case SPMM_SDDMM_VECTORS:
        return (int64_t)mask->place[vector] + r;
    case SPMM_SDDMM_EACH:
        break;
    }
    return mask->place[vector * mask->height + r];
}

void spmmi_cpu_sddmm_tiles(const spmm_sddmm_tiles_t *mask, const spmm_sddmm_args_t *args)
{
    dot_fn_t *const dot = pick(args->type, args->s_type);

#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(args->threads))
    for (int32_t tile = 0; tile < mask->n_tiles; tile++) {
        for (int32_t p = 0; p < SPMM_SDDMM_TILE; p++) {
            const int32_t j     = mask->col[(int64_t)tile * SPMM_SDDMM_TILE + p];
            const int64_t first = (int64_t)mask->window[tile] * mask->height;

            for (int32_t r = 0; j >= 0 && r < mask->height && first + r < mask->n_rows; r++) {
                const int64_t place = place_of(mask, tile, p, r);

                if (place >= 0) {
                    dot(args, mask->row_map == NULL ? first + r : mask->row_map[first + r], j,
                        place);
                }
            }
        }
    }
}

void spmmi_cpu_sddmm_squares(const spmm_sddmm_squares_t *mask, const spmm_sddmm_args_t *args)
{
    dot_fn_t *const dot = pick(args->type, args->s_type);

#pragma omp parallel for schedule(dynamic, 1) num_threads(spmmi_cpu_team(args->threads))
    for (int32_t q = 0; q < mask->n_squares; q++) {
        const int32_t *const first = mask->first + (int64_t)q * SPMM_SDDMM_STRIPS;

        for (int32_t e = first[0]; e < first[SPMM_SDDMM_STRIPS]; e++) {
            const int32_t row = mask->entry[e] / SPMM_SDDMM_SQUARE, i = mask->corner[2 * q] + row;
            const int64_t at = mask->shift == NULL
                                   ? mask->place[e]
                                   : e + mask->shift[(int64_t)q * SPMM_SDDMM_SQUARE + row];

            dot(args, mask->row_map == NULL ? i : mask->row_map[i],
                mask->corner[2 * q + 1] + mask->entry[e] % SPMM_SDDMM_SQUARE, at);
        }
    }
}

/* Softmax of the rows of a sparse matrix. */

/* Entry of row @p r of a group in vector @p p. */
static int64_t softmax_place(const spmm_softmax_args_t *args, int32_t p, int32_t r)
{
    return (args->place == NULL ? (int64_t)p * args->vector : args->place[p]) + r;
}

static double score(const spmm_softmax_args_t *args, int32_t p, int32_t r)
{
    return args->scale * spmmi_value_get(args->s_type, args->S, softmax_place(args, p, r));
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
        spmmi_value_set(args->p_type, args->P, softmax_place(args, p, r),
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

/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_mm.c  Tensor-core formats on the CPU: decode and multiply, the reference of their
 *  CUDA kernels. */
#include <stdbool.h>
#include <string.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

enum { COLUMN_TILE = 32, SUM_BLOCKS = 8 /* summed up in the accumulation type */ };

static inline float tf32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) {
        return x; /* infinity, NaN */
    }
    /* 13 bits go; half of their last place is added to the magnitude first. */
    bits = (bits + 0x1000u) & ~0x1fffu;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float spmmi_cpu_tf32_round(float x)
{
    return tf32(x);
}

#define SAME(x) (x)

#define TC_NAME mm_64f
#define TC_TILE mm_64f_tile
#define TC_T    double
#define AB_T    double
#define C_T     double
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD SAME
#include "cpu/tc_mm.inc.h"

#define TC_NAME mm_32f
#define TC_TILE mm_32f_tile
#define TC_T    float
#define AB_T    float
#define C_T     float
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD SAME
#include "cpu/tc_mm.inc.h"

#define TC_NAME mm_tf32
#define TC_TILE mm_tf32_tile
#define TC_T    float
#define AB_T    float
#define C_T     float
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD tf32
#include "cpu/tc_mm.inc.h"

#define TC_NAME mm_16f
#define TC_TILE mm_16f_tile
#define TC_T    float
#define AB_T    uint16_t
#define C_T     uint16_t
#define C_LOAD  spmmi_half_to_float
#define C_STORE spmmi_half_from_float
#define TC_LOAD spmmi_half_to_float
#include "cpu/tc_mm.inc.h"

#define TC_NAME mm_16f_32f
#define TC_TILE mm_16f_32f_tile
#define TC_T    float
#define AB_T    uint16_t
#define C_T     float
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD spmmi_half_to_float
#include "cpu/tc_mm.inc.h"

#define TC_NAME mm_16bf
#define TC_TILE mm_16bf_tile
#define TC_T    float
#define AB_T    uint16_t
#define C_T     uint16_t
#define C_LOAD  spmmi_bf16_to_float
#define C_STORE spmmi_bf16_from_float
#define TC_LOAD spmmi_bf16_to_float
#include "cpu/tc_mm.inc.h"

#define TC_NAME mm_16bf_32f
#define TC_TILE mm_16bf_32f_tile
#define TC_T    float
#define AB_T    uint16_t
#define C_T     float
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD spmmi_bf16_to_float
#include "cpu/tc_mm.inc.h"

static int32_t decode_bittcf(const void *arrays, int64_t block, spmm_tc_entry_t *entry,
                             size_t *offset)
{
    const spmm_bittcf_arrays_t *f   = arrays;
    const int32_t              *col = f->col + block * SPMM_BITTCF_SIDE;
    int32_t                     n   = 0;

    for (int32_t tile = 0; tile < f->tiles; tile++) {
        for (uint64_t left = f->bits[block * f->tiles + tile]; left != 0; left &= left - 1) {
            const int32_t bit = spmmi_cpu_lowest_bit(left);

            entry[n].at    = n;
            entry[n].row   = (tile * SPMM_BITTCF_SIDE) + (bit / SPMM_BITTCF_SIDE);
            entry[n++].col = col[bit % SPMM_BITTCF_SIDE];
        }
    }
    *offset = (size_t)f->value_ptr[block] * (f->type == SPMM_R_64F ? 8 : 4);
    return n;
}

/* A run is a row of a tile: a byte of bits, counted as in spmmi_cpu_popcount(). */
static size_t runs_bittcf(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_bittcf_arrays_t *f = arrays;

    for (int32_t tile = 0; tile < f->tiles; tile++) {
        uint64_t x = f->bits[block * f->tiles + tile];

        x -= x >> 1 & 0x5555555555555555u;
        x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        for (int32_t r = 0; r < SPMM_BITTCF_SIDE; r++) {
            length[tile * SPMM_BITTCF_SIDE + r] = (uint8_t)(x >> 8 * r);
        }
    }
    return (size_t)f->value_ptr[block] * (f->type == SPMM_R_64F ? 8 : 4);
}

static int32_t decode_hrpb(const void *arrays, int64_t block, spmm_tc_entry_t *entry,
                           size_t *offset)
{
    const spmm_hrpb_arrays_t *f        = arrays;
    const size_t              start    = (size_t)f->size_ptr[block] * SPMM_HRPB_UNIT;
    const unsigned char      *head     = f->packed + start;
    const unsigned char      *col_ptr  = head + SPMM_HRPB_COL_PTR;
    const unsigned char      *rows     = head + SPMM_HRPB_ROWS;
    const unsigned char      *patterns = head + SPMM_HRPB_PATTERNS;
    const int32_t            *col      = f->col + block * SPMM_HRPB_BLOCK;
    const int32_t             bricks =
        f->panel_rows / SPMM_HRPB_BRICK_M * (SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K);
    int32_t n = 0;

    for (int32_t k = 0; k < SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K; k++) {
        for (int32_t brick = col_ptr[k]; brick < col_ptr[k + 1]; brick++) {
            uint64_t left;

            memcpy(&left, patterns + (size_t)brick * sizeof left, sizeof left);
            for (; left != 0; left &= left - 1) {
                const int32_t bit = spmmi_cpu_lowest_bit(left);

                entry[n].at    = n;
                entry[n].row   = rows[brick] * SPMM_HRPB_BRICK_M + bit / SPMM_HRPB_BRICK_K;
                entry[n++].col = col[k * SPMM_HRPB_BRICK_K + bit % SPMM_HRPB_BRICK_K];
            }
        }
    }
    *offset = start + SPMM_HRPB_PATTERNS + (size_t)bricks * sizeof(uint64_t);
    return n;
}

/* A run is a row of a brick, 4 bits; those of a brick column make the height of the panel. */
static size_t runs_hrpb(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_hrpb_arrays_t *f        = arrays;
    const size_t              start    = (size_t)f->size_ptr[block] * SPMM_HRPB_UNIT;
    const unsigned char      *head     = f->packed + start;
    const unsigned char      *col_ptr  = head + SPMM_HRPB_COL_PTR;
    const unsigned char      *rows     = head + SPMM_HRPB_ROWS;
    const unsigned char      *patterns = head + SPMM_HRPB_PATTERNS;
    const int32_t             columns  = SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K;
    const int32_t             bricks   = f->panel_rows / SPMM_HRPB_BRICK_M * columns;

    memset(length, 0, (size_t)(columns * f->panel_rows));
    for (int32_t k = 0; k < columns; k++) {
        for (int32_t brick = col_ptr[k]; brick < col_ptr[k + 1]; brick++) {
            uint8_t *to = length + k * f->panel_rows + rows[brick] * SPMM_HRPB_BRICK_M;
            uint64_t x;

            memcpy(&x, patterns + (size_t)brick * sizeof x, sizeof x);
            x -= x >> 1 & 0x5555555555555555u;
            x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
            for (int32_t r = 0; r < SPMM_HRPB_BRICK_M; r++) {
                to[r] = (uint8_t)(x >> 4 * r & 0xf);
            }
        }
    }
    return start + SPMM_HRPB_PATTERNS + (size_t)bricks * sizeof(uint64_t);
}

static int32_t decode_cvse(const void *arrays, int64_t block, spmm_tc_entry_t *entry,
                           size_t *offset)
{
    const spmm_cvse_arrays_t *f   = arrays;
    const int32_t            *col = f->col + block * SPMM_CVSE_BLOCK;
    int32_t                   n   = 0;

    for (int32_t r = 0; r < f->height; r++) {
        for (uint64_t left = f->bits[block * f->height + r]; left != 0; left &= left - 1) {
            const int32_t p = spmmi_cpu_lowest_bit(left);

            entry[n++] = (spmm_tc_entry_t){.row = r,
                                           .col = col[spmmi_cvse_col_at(p)],
                                           .at  = spmmi_cvse_value_at(f->height, r, p)};
        }
    }
    *offset = (size_t)block * SPMM_CVSE_BLOCK * (size_t)f->height * sizeof(uint16_t);
    return n;
}

static size_t runs_cvse(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_cvse_arrays_t *f = arrays;

    for (int32_t r = 0; r < f->height; r++) {
        length[r] = (uint8_t)spmmi_cpu_popcount(f->bits[block * f->height + r]);
    }
    return (size_t)block * SPMM_CVSE_BLOCK * (size_t)f->height * sizeof(uint16_t);
}

/* A block is a 16x32 tile, whose sides may be tiles of their own or make one in 2:4 sparsity. */
static const uint32_t *bits_of_bcsr(const spmm_bcsr_arrays_t *f, spmm_bcsr_tile_t tile)
{
    const uint32_t any = spmmi_bcsr_any(f->step[tile.step]);

    return f->bits +
           ((int64_t)f->bits_ptr[tile.step] + spmmi_bcsr_rank(any, tile.row)) * SPMM_BCSR_SIDE;
}

/* Where the value of column c stands among those of its step. */
static int32_t at_bcsr(spmm_bcsr_step_t step, int32_t tile_row, uint32_t bits, int32_t r, int32_t c)
{
    enum { TILE = SPMM_BCSR_SIDE * SPMM_BCSR_SIDE };
    const bool sp24 = (step.sp24 >> tile_row & 1) != 0;

    if (sp24) {
        const int32_t first = spmmi_bcsr_kept(bits, c / 4 * 2);

        return spmmi_bcsr_rank(step.sp24, tile_row) * TILE +
               spmmi_bcsr_value_at(r, c / 4 * 2 + (c != first));
    }
    return spmmi_bcsr_tile_at(step, c / SPMM_BCSR_SIDE, tile_row) * TILE +
           spmmi_bcsr_value_at(r, c % SPMM_BCSR_SIDE);
}

static int32_t decode_bcsr(const void *arrays, int64_t block, spmm_tc_entry_t *entry,
                           size_t *offset)
{
    const spmm_bcsr_arrays_t *f    = arrays;
    const spmm_bcsr_tile_t    tile = f->tile[block];
    const spmm_bcsr_step_t    step = f->step[tile.step];
    const uint32_t           *bits = bits_of_bcsr(f, tile);
    int32_t                   n    = 0;

    for (int32_t r = 0; r < SPMM_BCSR_SIDE; r++) {
        for (uint64_t left = bits[r]; left != 0; left &= left - 1) {
            const int32_t c = spmmi_cpu_lowest_bit(left);

            entry[n++] = (spmm_tc_entry_t){.row = r,
                                           .col = step.col * SPMM_BCSR_WIDTH + c,
                                           .at  = at_bcsr(step, tile.row, bits[r], r, c)};
        }
    }
    *offset = (size_t)step.at * SPMM_BCSR_UNIT;
    return n;
}

static size_t runs_bcsr(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_bcsr_arrays_t *f    = arrays;
    const uint32_t           *bits = bits_of_bcsr(f, f->tile[block]);

    for (int32_t r = 0; r < SPMM_BCSR_SIDE; r++) {
        length[r] = (uint8_t)spmmi_bcsr_count(bits[r]);
    }
    return (size_t)f->step[f->tile[block].step].at * SPMM_BCSR_UNIT;
}

spmm_tc_view_t spmmi_cpu_bittcf_view(const spmm_bittcf_arrays_t *arrays)
{
    return (spmm_tc_view_t){.n_rows    = arrays->n_rows,
                            .n_windows = arrays->n_windows,
                            .height    = arrays->tiles * SPMM_BITTCF_SIDE,
                            .block_ptr = arrays->window_ptr,
                            .arrays    = arrays,
                            .values    = arrays->values,
                            .decode    = decode_bittcf,
                            .n_runs    = arrays->tiles * SPMM_BITTCF_SIDE,
                            .runs      = runs_bittcf};
}

spmm_tc_view_t spmmi_cpu_hrpb_view(const spmm_hrpb_arrays_t *arrays)
{
    return (spmm_tc_view_t){.n_rows    = arrays->n_rows,
                            .n_windows = arrays->n_panels,
                            .height    = arrays->panel_rows,
                            .block_ptr = arrays->block_ptr,
                            .arrays    = arrays,
                            .values    = arrays->packed,
                            .decode    = decode_hrpb,
                            .n_runs    = SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K * arrays->panel_rows,
                            .runs      = runs_hrpb};
}

spmm_tc_view_t spmmi_cpu_cvse_view(const spmm_cvse_arrays_t *arrays)
{
    return (spmm_tc_view_t){.n_rows    = arrays->n_rows,
                            .n_windows = arrays->n_windows,
                            .height    = arrays->height,
                            .block_ptr = arrays->window_ptr,
                            .arrays    = arrays,
                            .values    = arrays->values,
                            .decode    = decode_cvse,
                            .n_runs    = arrays->height,
                            .runs      = runs_cvse};
}

spmm_tc_view_t spmmi_cpu_bcsr_view(const spmm_bcsr_arrays_t *arrays)
{
    return (spmm_tc_view_t){.n_rows    = arrays->n_rows,
                            .n_windows = arrays->n_tile_rows,
                            .height    = SPMM_BCSR_SIDE,
                            .block_ptr = arrays->row_ptr,
                            .arrays    = arrays,
                            .values    = arrays->values,
                            .decode    = decode_bcsr,
                            .n_runs    = SPMM_BCSR_SIDE,
                            .runs      = runs_bcsr};
}

typedef void (*mm_t)(const spmm_tc_view_t *, const spmm_tc_mm_args_t *, int32_t);

static mm_t choose(const spmm_tc_mm_args_t *args)
{
    const bool same = args->x.c_type == args->x.ab_type;

    switch (args->x.ab_type) {
    case SPMM_R_16F:
        return same ? mm_16f : mm_16f_32f;
    case SPMM_R_16BF:
        return same ? mm_16bf : mm_16bf_32f;
    default:
        return args->compute == SPMM_COMPUTE_64F   ? mm_64f
               : args->compute == SPMM_COMPUTE_32F ? mm_32f
                                                   : mm_tf32;
    }
}

void spmmi_cpu_tc_mm(const spmm_tc_view_t *A, const spmm_tc_mm_args_t *args)
{
    const mm_t mm = choose(args);

    /* A window is one thread's, so sums do not depend on the number of threads. */
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(args->threads))
    for (int32_t w = 0; w < A->n_windows; w++) {
        mm(A, args, w);
    }
}

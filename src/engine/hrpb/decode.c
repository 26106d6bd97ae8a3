/* SPDX-License-Identifier: Apache-2.0 */
/** @file decode.c  HRPB as CPU code walks it. */
#include <string.h>

#include "engine/hrpb/format.h"

static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
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
static size_t runs(const void *arrays, int64_t block, uint8_t *length)
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

spmm_tc_view_t spmmi_hrpb_view(const void *arrays)
{
    const spmm_hrpb_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_panels,
                            .height    = a->panel_rows,
                            .block_ptr = a->block_ptr,
                            .arrays    = arrays,
                            .values    = a->packed,
                            .starts    = a->size_ptr,
                            .decode    = decode,
                            .n_runs    = SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K * a->panel_rows,
                            .runs      = runs};
}

/* SPDX-License-Identifier: Apache-2.0 */
/** @file decode.c  BitTCF as CPU code walks it. */
#include "engine/bittcf/format.h"
#include "spmm_dist/context.h"

static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
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
    *offset = (size_t)f->value_ptr[block] * spmm_type_size(f->type);
    return n;
}

/* A run is a row of a tile: a byte of bits, counted as in spmmi_cpu_popcount(). */
static size_t runs(const void *arrays, int64_t block, uint8_t *length)
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
    return (size_t)f->value_ptr[block] * spmm_type_size(f->type);
}

spmm_tc_view_t spmmi_bittcf_view(const void *arrays)
{
    const spmm_bittcf_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_windows,
                            .height    = a->tiles * SPMM_BITTCF_SIDE,
                            .block_ptr = a->window_ptr,
                            .arrays    = arrays,
                            .values    = a->values,
                            .starts    = a->value_ptr,
                            .decode    = decode,
                            .n_runs    = a->tiles * SPMM_BITTCF_SIDE,
                            .runs      = runs};
}

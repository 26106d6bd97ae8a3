/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_dense.h"

#include <math.h>
#include <stdlib.h>

#include "base/scalar.h"

driver_dense_t driver_dense(uint64_t seed, spmm_type_t type)
{
    const uint64_t all  = 0x000fffffffffffffu;
    int            kept = 52; /* fraction bits of the type */

    if (type == SPMM_R_32F || type == SPMM_C_32F) {
        kept = 23;
    } else if (type == SPMM_R_16F) {
        kept = 10;
    } else if (type == SPMM_R_16BF) {
        kept = 7;
    }
    return (driver_dense_t){
        .seed     = seed,
        .fraction = (all >> (52 - kept)) << (52 - kept),
        .scale    = 1.0,
        .type     = type,
    };
}

static int shape_block(driver_job_t *job, int64_t rows, int64_t columns, int64_t pad,
                       spmm_layout_t layout, spmm_type_t type, driver_block_t *block)
{
    const bool    by_column = layout == SPMM_LAYOUT_COL;
    const int64_t least     = by_column ? rows : columns;
    int64_t       elements;

    *block = (driver_block_t){.rows    = rows,
                              .columns = columns,
                              .ld      = (least > 0 ? least : 1) + pad,
                              .layout  = layout,
                              .type    = type};
    if (__builtin_mul_overflow(block->ld, by_column ? columns : rows, &elements) ||
        elements > INT64_MAX / 8) {
        return driver_fail(job, DRIVER_OTHER, "a dense block of %lld x %lld elements is too large",
                           (long long)rows, (long long)columns);
    }
    block->elements = elements;
    return DRIVER_GOOD;
}

int driver_block_alloc(driver_job_t *job, spmm_context_t *ctx, int64_t rows, int64_t columns,
                       int64_t pad, spmm_layout_t layout, spmm_type_t type, driver_block_t *block)
{
    const int code = shape_block(job, rows, columns, pad, layout, type, block);

    return code != DRIVER_GOOD
               ? code
               : driver_check(job, ctx,
                              spmm_buffer_alloc(ctx, (size_t)block->elements * spmm_type_size(type),
                                                &block->data),
                              DRIVER_OTHER);
}

void driver_block_free(spmm_context_t *ctx, driver_block_t *block)
{
    (void)spmm_buffer_free(ctx, &block->data);
}

/** One line along the leading dimension: a row of a row-major block, a column of the other kind. */
static void fill_line(const driver_block_t *block, const driver_dense_t *dense,
                      const int64_t *global_row, int64_t line, double padding, void *host)
{
    const bool        by_column = block->layout == SPMM_LAYOUT_COL;
    const int         parts     = spmmi_type_parts(block->type);
    const spmm_type_t type      = spmmi_part_type(block->type);
    const int64_t     length    = parts * (by_column ? block->rows : block->columns);
    const int64_t     first     = parts * line * block->ld;

    for (int64_t k = 0; k < length; k++) {
        double x = NAN;

        if (dense != NULL) {
            const int64_t i   = by_column ? k / parts : line;
            const int64_t row = global_row != NULL ? global_row[i] : i;
            const int64_t col = by_column ? parts * line + k % parts : k;

            x = driver_dense_value(dense, driver_dense_row(dense, row), col);
        }
        spmmi_value_set(type, host, first + k, x);
    }
    for (int64_t k = length; k < parts * block->ld; k++) {
        spmmi_value_set(type, host, first + k, padding);
    }
}

int driver_block_fill(driver_job_t *job, spmm_context_t *ctx, driver_block_t *block,
                      const driver_dense_t *dense, const int64_t *global_row, double padding)
{
    const size_t  size  = spmm_type_size(block->type);
    const int64_t lines = block->layout == SPMM_LAYOUT_COL ? block->columns : block->rows;
    void         *host  = driver_alloc(block->elements, size);
    int           code;

    if (host == NULL) {
        return driver_fail_memory(job, block->elements, size, "a random dense block");
    }
#pragma omp parallel for schedule(static)
    for (int64_t line = 0; line < lines; line++) {
        fill_line(block, dense, global_row, line, padding, host);
    }
    code = driver_check(job, ctx,
                        spmm_buffer_copy(ctx, block->data, host, (size_t)block->elements * size),
                        DRIVER_OTHER);
    free(host);
    return code;
}

int driver_block_fetch(driver_job_t *job, spmm_context_t *ctx, const driver_block_t *block,
                       void **host)
{
    const size_t size = spmm_type_size(block->type);
    int          code;

    *host = driver_alloc(block->elements, size);
    if (*host == NULL) {
        return driver_fail_memory(job, block->elements, size, "the result");
    }
    code = driver_check(job, ctx,
                        spmm_buffer_copy(ctx, *host, block->data, (size_t)block->elements * size),
                        DRIVER_OTHER);
    if (code != DRIVER_GOOD) {
        free(*host);
        *host = NULL;
    }
    return code;
}

int64_t driver_block_spoiled(const driver_block_t *block, const void *host, double padding)
{
    const bool        by_column = block->layout == SPMM_LAYOUT_COL;
    const int         parts     = spmmi_type_parts(block->type);
    const spmm_type_t type      = spmmi_part_type(block->type);
    const int64_t     lines     = by_column ? block->columns : block->rows;
    const int64_t     length    = parts * (by_column ? block->rows : block->columns);
    int64_t           spoiled   = 0;

    for (int64_t line = 0; line < lines; line++) {
        for (int64_t k = length; k < parts * block->ld; k++) {
            spoiled += spmmi_value_get(type, host, parts * line * block->ld + k) != padding;
        }
    }
    return spoiled;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/octet/format.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/windows/tc_format.h"

enum { ROWS = SPMM_OCTET_ROWS, COLS = SPMM_OCTET_COLS };

static spmm_status_t alloc_blocks(spmm_env_t *env, const spmm_windows_t *windows, spmm_octet_t *f)
{
    if (SPMM_NEW(f->block_ptr, (int64_t)f->n_windows + 1) == NULL) {
        return spmmi_fail_memory(&env->err, f->n_windows, sizeof *f->block_ptr, "octets of rows");
    }
    f->block_ptr[0] = 0;
    for (int32_t w = 0; w < f->n_windows; w++) {
        f->block_ptr[w + 1] = f->block_ptr[w] + (windows->count[w] + COLS - 1) / COLS;
    }
    f->n_blocks = f->block_ptr[f->n_windows];
    SPMM_NEW(f->col, (int64_t)f->n_blocks * COLS);
    SPMM_NEW_ZERO(f->bits, f->n_blocks);
    SPMM_NEW(f->value_ptr, (int64_t)f->n_blocks + 1);
    SPMM_NEW(f->values, f->entry_ptr[f->n_windows]);
    if (f->col == NULL || f->bits == NULL || f->value_ptr == NULL || f->values == NULL) {
        return spmmi_fail_memory(&env->err, f->n_blocks, COLS * sizeof *f->col + sizeof *f->bits,
                                 "blocks of octets");
    }
    return SPMM_OK;
}

/* Column k of a window belongs to its block k / 4; the rest of the last block has no column. */
static void lay_out(const spmm_windows_t *windows, spmm_octet_t *f)
{
    f->value_ptr[0] = 0;
    for (int32_t w = 0; w < f->n_windows; w++) {
        const int64_t  first = (int64_t)f->block_ptr[w] * COLS;
        const int64_t  last  = (int64_t)f->block_ptr[w + 1] * COLS;
        const int64_t  count = windows->count[w];
        const int32_t *col   = windows->col + windows->first[w];

        for (int64_t k = 0; k < last - first; k++) {
            f->col[first + k] = k < count ? col[k] : SPMM_TC_NO_COLUMN;
            for (int r = 0; r < ROWS && k < count; r++) {
                const uint32_t here = windows->rows[windows->first[w] + k] >> r & 1;

                f->bits[(first + k) / COLS] |= here << (COLS * r + (int)(k % COLS));
            }
        }
    }
    for (int32_t b = 0; b < f->n_blocks; b++) {
        f->value_ptr[b + 1] = f->value_ptr[b] + spmmi_cpu_popcount(f->bits[b]);
    }
}

spmm_status_t spmmi_octet_create(spmm_env_t *env, const spmm_csr_t *block,
                                 const spmm_windows_t *tall, int threads, spmm_octet_t *format)
{
    spmm_windows_t windows = {0};
    spmm_status_t  status;

    *format = (spmm_octet_t){.n_rows    = block->n_rows,
                             .n_windows = spmmi_windows_count(block->n_rows, ROWS)};
    SPMM_TRY(spmmi_tc_entry_ptr(env, block, ROWS, &format->entry_ptr));
    SPMM_TRY(tall != NULL ? spmmi_windows_split(env, block, tall, ROWS, threads, &windows)
                          : spmmi_windows_create(env, block, ROWS, threads, &windows));
    status = alloc_blocks(env, &windows, format);
    if (status == SPMM_OK) {
        lay_out(&windows, format);
        spmmi_octet_refill(format, block->values, threads);
    }
    spmmi_windows_free(&windows);
    return status;
}

void spmmi_octet_free(void *format)
{
    spmm_octet_t *f = format;

    spmmi_free_all(f->block_ptr, f->col, f->bits, f->value_ptr, f->values, f->entry_ptr);
    memset(f, 0, sizeof *f);
}

void spmmi_octet_refill(void *format, const void *values, int threads)
{
    spmm_octet_t             *f      = format;
    const spmm_octet_arrays_t arrays = spmmi_octet_arrays(f);
    const spmm_tc_view_t      view   = spmmi_octet_view(&arrays);

    spmmi_tc_fill(&view, f->entry_ptr, values, sizeof(double), f->values, threads);
}

size_t spmmi_octet_held(const void *format)
{
    const spmm_octet_t *f       = format;
    const size_t        windows = (size_t)f->n_windows, blocks = (size_t)f->n_blocks;

    return 2 * (windows + 1) * sizeof(int32_t) +
           blocks * (COLS * sizeof(int32_t) + sizeof(uint32_t)) + (blocks + 1) * sizeof(int32_t) +
           (size_t)f->entry_ptr[windows] * sizeof(double);
}

spmm_octet_arrays_t spmmi_octet_arrays(const spmm_octet_t *format)
{
    return (spmm_octet_arrays_t){.n_rows    = format->n_rows,
                                 .n_windows = format->n_windows,
                                 .block_ptr = format->block_ptr,
                                 .col       = format->col,
                                 .bits      = format->bits,
                                 .value_ptr = format->value_ptr,
                                 .values    = format->values};
}

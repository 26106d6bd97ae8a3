/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/windows/tc_format.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/windows/windows.h"
#include "spmm_dist/context.h"

spmm_status_t spmmi_tc_entry_ptr(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                 int32_t **entry_ptr)
{
    const int32_t n   = spmmi_windows_count(block->n_rows, height);
    const int64_t nnz = spmmi_csr_nnz(block);
    int32_t      *ptr;

    if (nnz > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "a tensor-core format of %" PRId64 " entries on one rank: at most "
                          "2^31 - 1 fit, use more ranks or another engine",
                          nnz);
    }
    if (SPMM_NEW(ptr, (int64_t)n + 1) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)n + 1, sizeof *ptr, "windows of rows");
    }
    for (int32_t w = 0; w < n; w++) {
        ptr[w] = (int32_t)block->row_ptr[w * height];
    }
    ptr[n]     = (int32_t)nnz;
    *entry_ptr = ptr;
    return SPMM_OK;
}

/* Place in CSR of the first entry of each row of window w; next [height]. */
static void start_rows(const spmm_tc_view_t *A, const int32_t *entry_ptr, int32_t w, int32_t *next)
{
    int32_t at = entry_ptr[w];
    uint8_t length[SPMM_TC_MAX_RUNS];

    memset(next, 0, (size_t)A->height * sizeof *next);
    for (int32_t block = A->block_ptr[w]; block < A->block_ptr[w + 1]; block++) {
        (void)A->runs(A->arrays, block, length);
        for (int32_t k = 0; k < A->n_runs; k += A->height) {
            for (int32_t r = 0; r < A->height; r++) {
                next[r] += length[k + r];
            }
        }
    }
    for (int32_t r = 0; r < A->height; r++) {
        const int32_t count = next[r];

        next[r] = at;
        at += count;
    }
}

/* The values of window w, each of @p size bytes: inlined with a constant. */
static inline void fill_window(const spmm_tc_view_t *A, const int32_t *entry_ptr, int32_t w,
                               const char *values, size_t size, char *to)
{
    uint8_t length[SPMM_TC_MAX_RUNS];
    int32_t next[SPMM_TC_MAX_HEIGHT];

    start_rows(A, entry_ptr, w, next);
    for (int32_t block = A->block_ptr[w]; block < A->block_ptr[w + 1]; block++) {
        char *value = to + A->runs(A->arrays, block, length);

        for (int32_t k = 0; k < A->n_runs; k += A->height) {
            for (int32_t r = 0; r < A->height; r++) {
                const char *from = values + (size_t)next[r] * size;

                for (int32_t i = 0; i < length[k + r]; i++, value += size, from += size) {
                    memcpy(value, from, size);
                }
                next[r] += length[k + r];
            }
        }
    }
}

void spmmi_tc_fill(const spmm_tc_view_t *A, const int32_t *entry_ptr, const void *values,
                   size_t value_size, void *to, int threads)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t w = 0; w < A->n_windows; w++) {
        if (value_size == sizeof(float)) {
            fill_window(A, entry_ptr, w, values, sizeof(float), to);
        } else if (value_size == sizeof(double)) {
            fill_window(A, entry_ptr, w, values, sizeof(double), to);
        } else {
            fill_window(A, entry_ptr, w, values, value_size, to);
        }
    }
}

size_t spmmi_tc_me_tcf_bytes(int64_t n_rows, int64_t n_blocks, int64_t nnz)
{
    return 4 * ((size_t)(n_rows + 7) / 8 + 9 * (size_t)n_blocks + 2) + (size_t)nnz;
}

spmm_status_t spmmi_tc_copy_row_map(spmm_env_t *env, const spmm_csr_t *block, int32_t **row_map)
{
    *row_map = NULL;
    if (block->row_map == NULL) {
        return SPMM_OK;
    }
    if (SPMM_NEW(*row_map, block->n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof **row_map, "a row map");
    }
    memcpy(*row_map, block->row_map, (size_t)block->n_rows * sizeof **row_map);
    return SPMM_OK;
}

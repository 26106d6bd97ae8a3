/* SPDX-License-Identifier: Apache-2.0 */
/** @file order_sort.c
 *  Orders that are one sort of the rows: what can be had for next to no time, beside `affinity`.
 */
#include "base/alloc.h"
#include "base/sort.h"
#include "orders.h"

typedef uint64_t (*key_of_t)(const spmm_csr_t *block, int32_t i);

static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ x >> 16;
}

static uint64_t first_column(const spmm_csr_t *block, int32_t i)
{
    return (uint32_t)block->col_idx[block->row_ptr[i]];
}

/* Rows that share columns have the same least hash as often as these are many (MinHash); the second
 * one, of other hashes, orders rows with the same first. */
static uint64_t least_hashes(const spmm_csr_t *block, int32_t i)
{
    uint32_t least[2] = {UINT32_MAX, UINT32_MAX};

    for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
        const uint32_t a = mix((uint32_t)block->col_idx[k] + 1), b = mix(a ^ 0x9e3779b9U);

        least[0] = a < least[0] ? a : least[0];
        least[1] = b < least[1] ? b : least[1];
    }
    return (uint64_t)least[0] << 32 | least[1];
}

/* Rows without entries go last. */
static spmm_status_t sort_rows(spmm_env_t *env, const spmm_csr_t *block, key_of_t key_of,
                               int32_t *order)
{
    const int32_t n = block->n_rows;
    uint64_t     *key;
    int64_t      *row;
    int32_t       some = 0, out;
    spmm_status_t status;

    SPMM_NEW(key, n);
    SPMM_NEW(row, n);
    if (key == NULL || row == NULL) {
        spmmi_free_all(key, row);
        return spmmi_fail_memory(&env->err, n, 2 * sizeof *key, "keys of rows");
    }
    for (int32_t i = 0; i < n; i++) {
        if (block->row_ptr[i + 1] > block->row_ptr[i]) {
            key[some]   = key_of(block, i);
            row[some++] = i;
        }
    }
    status = spmmi_sort_u64_with(env, key, row, some);
    for (out = 0; out < some; out++) {
        order[out] = (int32_t)row[out];
    }
    for (int32_t i = 0; i < n; i++) {
        if (block->row_ptr[i + 1] == block->row_ptr[i]) {
            order[out++] = i;
        }
    }
    spmmi_free_all(key, row);
    return status;
}

static spmm_status_t run_first(spmm_env_t *env, const spmm_csr_t *block, int threads,
                               int32_t *order)
{
    (void)threads;
    return sort_rows(env, block, first_column, order);
}

static spmm_status_t run_minhash(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                 int32_t *order)
{
    (void)threads;
    return sort_rows(env, block, least_hashes, order);
}

const spmm_reorderer_t bench_order_first = {
    .name = "first", .description = "rows by their first column", .built = true, .run = run_first};
const spmm_reorderer_t bench_order_minhash = {.name        = "minhash",
                                              .description = "rows by the least hashes of columns",
                                              .built       = true,
                                              .run         = run_minhash};

/* SPDX-License-Identifier: Apache-2.0 */
/** @file tiles.c
 *  For formats of whole tiles, such as BCSR: rows that have entries in the same groups of 16
 *  columns become neighbours, so that tiles of 16 x 16 are fewer and denser.  It is the order
 *  affinity of the matrix whose columns are those groups; SMaT clusters rows to the same end, by
 *  their Jaccard distance.
 */
#include "base/alloc.h"
#include "partition/reorder/reorder.h"

enum { TILE = 16 };

/* Groups of columns with an entry in row i, listed where @p to is not NULL. */
static int64_t list_groups(const spmm_csr_t *block, int32_t i, int32_t *to)
{
    int64_t count = 0;
    int32_t last  = -1;

    for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
        if (block->col_idx[k] / TILE != last) {
            last = block->col_idx[k] / TILE;
            if (to != NULL) {
                to[count] = last;
            }
            count++;
        }
    }
    return count;
}

/* The pattern of groups: no values. */
static spmm_status_t make_groups(spmm_env_t *env, const spmm_csr_t *block, spmm_csr_t *groups)
{
    *groups = (spmm_csr_t){.n_rows = block->n_rows,
                           .c_rows = block->n_rows,
                           .n_cols = block->n_cols / TILE + (block->n_cols % TILE != 0),
                           .type   = block->type};
    if (SPMM_NEW_ZERO(groups->row_ptr, (int64_t)block->n_rows + 1) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof *groups->row_ptr,
                                 "groups of columns");
    }
    for (int32_t i = 0; i < block->n_rows; i++) {
        groups->row_ptr[i + 1] = groups->row_ptr[i] + list_groups(block, i, NULL);
    }
    if (SPMM_NEW(groups->col_idx, spmmi_csr_nnz(groups)) == NULL) {
        return spmmi_fail_memory(&env->err, spmmi_csr_nnz(groups), sizeof *groups->col_idx,
                                 "groups of columns");
    }
    for (int32_t i = 0; i < block->n_rows; i++) {
        (void)list_groups(block, i, groups->col_idx + groups->row_ptr[i]);
    }
    return SPMM_OK;
}

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    spmm_csr_t    groups;
    spmm_status_t status = make_groups(env, block, &groups);

    if (status == SPMM_OK) {
        status = spmmi_reorderer_affinity.run(env, &groups, threads, order);
    }
    spmmi_csr_free(&groups);
    return status;
}

const spmm_reorderer_t spmmi_reorderer_tiles = {
    .name        = "tiles",
    .description = "affinity over groups of 16 columns, for denser tiles of 16 x 16",
    .built       = true,
    .run         = run,
};

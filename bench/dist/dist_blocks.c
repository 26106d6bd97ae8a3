/* SPDX-License-Identifier: Apache-2.0 */
/** @file dist_blocks.c
 *  The rows of a rank as one CSR block, in the two numberings of columns that a program without
 *  separate diagonal and off-diagonal blocks would use.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "dist.h"
#include "plan/blocks/split.h"

/* Row of the gathered B that column c of `needed` is. */
static int32_t gathered_row(const dist_blocks_t *blocks, int32_t c)
{
    const spmm_plan_t *parts  = &blocks->parts;
    const int64_t     *offset = parts->cols.offset;
    const int          rank = parts->env->rank, n_own = parts->cols.n_local;
    const int64_t      row   = c < n_own ? offset[rank] + c : parts->blocks.need[c - n_own];
    const int          owner = spmmi_owner(offset, parts->env->size, row);

    return (int32_t)(owner * blocks->stride + row - offset[owner]);
}

/* Entries first to last - 1 of `needed`, behind the *at that `all` has. */
static void append(dist_blocks_t *blocks, int64_t first, int64_t last, int64_t *at)
{
    const spmm_csr_t *from = &blocks->needed, *to = &blocks->all;
    const size_t      size = spmm_type_size(to->type);

    for (int64_t k = first; k < last; k++) {
        to->col_idx[*at + k - first] = gathered_row(blocks, from->col_idx[k]);
    }
    memcpy((char *)to->values + (size_t)*at * size,
           (const char *)from->values + (size_t)first * size, (size_t)(last - first) * size);
    *at += last - first;
}

/* Columns ascend in each row of `needed`, own ones before those of the halo; in `all`, too, where
 * those of lower ranks come first. */
static void renumber(dist_blocks_t *blocks)
{
    const spmm_csr_t *from  = &blocks->needed;
    const int32_t     n_own = blocks->parts.cols.n_local;
    const int32_t     own   = (int32_t)(blocks->parts.env->rank * blocks->stride);
    int64_t           at    = 0;

    memcpy(blocks->all.row_ptr, from->row_ptr, ((size_t)from->n_rows + 1) * sizeof *from->row_ptr);
    for (int32_t i = 0; i < from->n_rows; i++) {
        const int64_t last = from->row_ptr[i + 1];
        int64_t       halo = from->row_ptr[i], higher;

        while (halo < last && from->col_idx[halo] < n_own) {
            halo++;
        }
        for (higher = halo; higher < last; higher++) {
            if (gathered_row(blocks, from->col_idx[higher]) > own) {
                break;
            }
        }
        append(blocks, halo, higher, &at);
        append(blocks, from->row_ptr[i], halo, &at);
        append(blocks, higher, last, &at);
    }
}

/* The map of a plan once more, with the new indices that the plan has dropped.  Collective. */
static void map_again(const dist_bench_t *b, spmm_env_t *env, const spmm_layout_map_t *from,
                      spmm_layout_map_t *map)
{
    int32_t *part;

    if (SPMM_NEW(part, from->n_orig) == NULL) {
        dist_must(b, SPMM_ERR_MEMORY, "the parts of a baseline");
    }
    spmmi_layout_parts(from, env->size, part);
    dist_must(b, spmmi_layout_map_create(env, from->orig_offset, part, from->keep, map),
              "the rows of the baselines");
    spmmi_free(part);
}

void dist_blocks_create(const dist_case_t *c, const spmm_plan_t *plan, dist_blocks_t *blocks)
{
    const dist_bench_t *b      = c->bench;
    spmm_plan_t        *parts  = &blocks->parts;
    spmm_env_t         *env    = plan->env;
    spmm_block_t        merged = {.nnz = 0};

    /* Dealt anew, since the plan keeps no CSR of its blocks. */
    *blocks = (dist_blocks_t){.parts = {.env       = plan->env,
                                        .device    = plan->device,
                                        .shared    = plan->shared,
                                        .A         = plan->A,
                                        .n         = plan->n,
                                        .op        = SPMM_OP_N,
                                        .layout    = SPMM_LAYOUT_ROW,
                                        .ab_type   = plan->ab_type,
                                        .c_type    = plan->c_type,
                                        .halo_type = plan->ab_type,
                                        .compute   = plan->compute,
                                        .partition = plan->partition}};
    map_again(b, env, &plan->rows, &parts->rows);
    if (spmmi_plan_has_one_map(plan)) {
        parts->cols = parts->rows;
    } else {
        map_again(b, env, &plan->cols, &parts->cols);
    }
    dist_must(b, spmmi_plan_make_blocks(parts), "the blocks of the baselines");
    dist_must(b, spmmi_plan_merge_blocks(parts, &merged), "a baseline");
    blocks->needed = merged.csr;
    spmmi_free(merged.source);
    for (int p = 0; p < env->size; p++) {
        const int64_t rows = plan->cols.offset[p + 1] - plan->cols.offset[p];

        blocks->stride = rows > blocks->stride ? rows : blocks->stride;
    }
    if (blocks->stride * env->size > INT32_MAX) {
        dist_must(b, SPMM_ERR_RANGE, "columns of the allgather baseline");
    }
    if (env->size > 1) {
        dist_must(b,
                  spmmi_csr_alloc(env, plan->rows.n_local, (int32_t)(blocks->stride * env->size),
                                  merged.nnz, plan->ab_type, &blocks->all),
                  "a baseline");
        renumber(blocks);
    }
    spmmi_csr_free(&parts->blocks.diagonal.csr);
    spmmi_csr_free(&parts->blocks.off_diagonal.csr);
    spmmi_free(parts->blocks.need);
    parts->blocks.need = NULL;
}

void dist_blocks_free(dist_blocks_t *blocks)
{
    spmmi_csr_free(&blocks->needed);
    spmmi_csr_free(&blocks->all);
    spmmi_free_all(blocks->parts.blocks.diagonal.source, blocks->parts.blocks.off_diagonal.source);
    spmmi_halo_free(&blocks->parts.exchange.halo);
    if (!spmmi_plan_has_one_map(&blocks->parts)) {
        spmmi_layout_map_free(&blocks->parts.cols);
    }
    spmmi_layout_map_free(&blocks->parts.rows);
}
